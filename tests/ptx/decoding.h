// Turns statements into instructions. KernelBuilder assigns registers, constants and variables their places and takes
// instructions; Decoding reads one statement's modifiers and operands; decode_*.cpp know the opcodes.
#pragma once

#include "tests/ptx/program.h"
#include "tests/ptx/types.h"

#include <initializer_list>
#include <optional>

namespace sheaf::ptx {

/// Where a variable is in its space. A function's .param variables are with its .local ones.
struct Placed {
  Space space = Space::generic;
  uint64_t address = 0;
};

class KernelBuilder {
 public:
  /// `globals`: host addresses of the module's variables.
  KernelBuilder(const Text& text, const std::map<const Variable*, uint64_t>& globals) : text_(text), globals_(globals) {}
  Result<Kernel> build(const Function& entry);

  uint32_t place(const Register& reg);
  uint32_t temporary(int bytes);
  uint32_t constant(int bytes, uint64_t bits);
  std::optional<uint32_t> special(const std::string& name);
  /// A variable of the function, or of the module by its name.
  std::optional<Placed> variable(const Operand& operand);
  void emit(const Instruction& instruction) { kernel_.code.push_back(instruction); }

  void branch(const Statement& statement, Instruction instruction);
  void indexed_branch(const Statement& statement, Instruction instruction);
  void call(const Statement& statement);
  void leave(const Statement& statement, Instruction instruction);
  void fail(int line, const std::string& what);

 private:
  /// A function's body at one place where it is called.
  struct Frame {
    const Function* function = nullptr;
    std::map<const Register*, uint32_t> registers;
    std::map<const Variable*, Placed> variables;
    std::vector<uint32_t> starts;  ///< code index of each statement
    std::vector<std::pair<uint32_t, std::string>> branches;
    std::vector<std::pair<uint32_t, std::string>> table;  ///< entries of Kernel::targets
    std::vector<uint32_t> returns;
  };
  void expand(Frame& frame);
  void entry_parameters(const Function& entry, Frame& frame);
  bool failed() const { return !error_.diagnostics.empty(); }

  const Text& text_;
  const std::map<const Variable*, uint64_t>& globals_;
  Kernel kernel_;
  Error error_;
  std::vector<Frame*> frames_;
  std::map<std::pair<int, uint64_t>, uint32_t> constants_;
  std::map<const Variable*, Placed> shared_;
};

class Decoding {
 public:
  Decoding(KernelBuilder& builder, const Statement& statement);

  // Modifiers. Every one has to be taken.
  bool take(std::string_view modifier);
  /// The position in `names` of the one that is present (none: -1).
  int one_of(std::initializer_list<std::string_view> names);
  /// The next modifier must be a type.
  Type type();
  Rounding rounding();

  // Operands: `index` in the statement, `slot` in the instruction.
  size_t operands() const { return statement_.operands.size(); }
  const Operand& operand(size_t index);
  void destination(size_t index, int slot, int bytes) { destination(operand(index), slot, bytes); }
  void destination(const Operand& operand, int slot, int bytes);
  /// d, or d|p: the predicate goes to `predicate_slot`.
  void destination_pair(size_t index, int slot, int bytes, int predicate_slot);
  void source(size_t index, int slot, Type type) { source(operand(index), slot, type); }
  void source(const Operand& operand, int slot, Type type);
  /// For a register that may be wider than the type: its bytes (0: the operand isn't one).
  int register_bytes(const Operand& operand) const { return operand.reg ? operand.reg->bytes : 0; }
  /// [register + offset] or [variable + offset]; returns the space that the address means.
  Space address(size_t index, int slot, Space space);

  void fail(const std::string& what);
  /// Nothing may be left over; null: no such combination of types.
  void emit(Handler handler, size_t operand_count);

  KernelBuilder& builder() { return builder_; }
  const Statement& statement() const { return statement_; }
  Instruction out;

 private:
  KernelBuilder& builder_;
  const Statement& statement_;
  std::vector<bool> taken_;
};

/// .global, .shared, …; without one: generic.
Space take_space(Decoding& d);

using DecodeFunction = void (*)(Decoding&);
using OpcodeTable = std::unordered_map<std::string_view, DecodeFunction>;
const OpcodeTable& integer_opcodes();
const OpcodeTable& bit_opcodes();
const OpcodeTable& field_opcodes();
const OpcodeTable& float_opcodes();
const OpcodeTable& approximate_opcodes();
const OpcodeTable& compare_opcodes();
const OpcodeTable& convert_opcodes();
const OpcodeTable& move_opcodes();
const OpcodeTable& memory_opcodes();
const OpcodeTable& atomic_opcodes();
const OpcodeTable& exchange_opcodes();
const OpcodeTable& control_opcodes();

}  // namespace sheaf::ptx
