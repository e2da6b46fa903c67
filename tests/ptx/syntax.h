// PTX text as statements with their names resolved: what parse_text() makes and decode() reads.
#pragma once

#include "runtime/base/error.h"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sheaf::ptx {

enum class Space { generic, global, constant, shared, local, param };

/// A variable of the module or of a function.
struct Variable {
  std::string name;
  Space space = Space::global;
  size_t alignment = 1;
  size_t bytes = 0;  ///< 0: of dynamic shared memory
  std::vector<uint8_t> initial;
  struct Relocation {
    size_t offset;
    std::string symbol;
    int64_t addend;
    bool generic;
  };
  std::vector<Relocation> relocations;
  int line = 0;
};

/// A virtual register: bits of one size, whatever they stand for. Predicates: 0 bytes.
struct Register {
  std::string name;
  int bytes = 0;
};

struct Operand {
  enum Kind { name, integer, float32, float64, address, vector, pair, sink } kind = name;
  std::string text;                    ///< name, or base of an address: label, variable, function, special register
  const Register* reg = nullptr;       ///< name, address: if it is a register
  const Variable* variable = nullptr;  ///< name, address: if it is a variable of the function
  bool negated = false;                ///< !p
  uint64_t bits = 0;                   ///< integer (two's complement), float32, float64
  int64_t offset = 0;                  ///< address
  std::vector<Operand> elements;       ///< vector {a, b}, pair p|q; of a call: (a, b)
};

struct Statement {
  int line = 0;
  const Register* guard = nullptr;
  bool guard_negated = false;
  std::string opcode;
  std::vector<std::string> modifiers;  ///< in order, without dots
  std::vector<Operand> operands;
};

struct Function {
  std::string name;
  bool entry = false;
  int line = 0;
  std::vector<const Variable*> results, parameters;
  std::vector<Statement> statements;
  std::unordered_map<std::string, size_t> labels;                            ///< → index of the statement that follows
  std::unordered_map<std::string, std::vector<std::string>> branch_targets;  ///< of brx.idx
  std::vector<uint32_t> max_threads, required_threads;                       ///< .maxntid, .reqntid
  std::deque<Register> registers;
  std::deque<Variable> variables;  ///< .param, .local and .shared ones declared in it
};

struct Text {
  std::string name;  ///< of the file, for messages
  std::deque<Variable> variables;
  std::deque<Function> functions;
  std::unordered_map<std::string, const Variable*> variable_by_name;
  std::unordered_map<std::string, const Function*> function_by_name;
};

Result<Text> parse_text(std::string_view text, const std::string& name);

}  // namespace sheaf::ptx
