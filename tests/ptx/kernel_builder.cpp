#include "tests/ptx/decoding.h"

#include <algorithm>

namespace sheaf::ptx {
namespace {

uint64_t align(uint64_t offset, uint64_t alignment) { return (offset + alignment - 1) / alignment * alignment; }

DecodeFunction opcode(std::string_view name) {
  for (auto* table : {&integer_opcodes, &bit_opcodes, &field_opcodes, &float_opcodes, &approximate_opcodes, &compare_opcodes,
                      &convert_opcodes, &move_opcodes, &memory_opcodes, &atomic_opcodes, &exchange_opcodes, &control_opcodes})
    if (auto found = table().find(name); found != table().end()) return found->second;
  return nullptr;
}

}  // namespace

void KernelBuilder::fail(int line, const std::string& what) {
  if (!failed()) error_.add(what, {text_.name, line, 0});
}

uint32_t KernelBuilder::temporary(int bytes) {
  const size_t size = bytes ? kWarpSize * static_cast<size_t>(bytes) : sizeof(uint32_t);
  kernel_.register_bytes = align(kernel_.register_bytes, bytes ? 32 : 4);
  const auto place = static_cast<uint32_t>(kernel_.register_bytes);
  kernel_.register_bytes += size;
  return place;
}

uint32_t KernelBuilder::place(const Register& reg) {
  auto [entry, made] = frames_.back()->registers.try_emplace(&reg, 0);
  if (made) entry->second = temporary(reg.bytes);
  return entry->second;
}

uint32_t KernelBuilder::constant(int bytes, uint64_t bits) {
  if (bytes < 8) bits &= (1ull << (bytes ? bytes * 8 : 32)) - 1;
  auto [entry, made] = constants_.try_emplace({bytes, bits}, 0);
  if (made) {
    entry->second = temporary(bytes);
    kernel_.constants.push_back({entry->second, bytes, bits});
  }
  return entry->second;
}

std::optional<uint32_t> KernelBuilder::special(const std::string& name) {
  static const std::unordered_map<std::string_view, Special> specials = {{"%tid.x", Special::tid_x},
                                                                         {"%tid.y", Special::tid_y},
                                                                         {"%tid.z", Special::tid_z},
                                                                         {"%ntid.x", Special::ntid_x},
                                                                         {"%ntid.y", Special::ntid_y},
                                                                         {"%ntid.z", Special::ntid_z},
                                                                         {"%ctaid.x", Special::ctaid_x},
                                                                         {"%ctaid.y", Special::ctaid_y},
                                                                         {"%ctaid.z", Special::ctaid_z},
                                                                         {"%nctaid.x", Special::nctaid_x},
                                                                         {"%nctaid.y", Special::nctaid_y},
                                                                         {"%nctaid.z", Special::nctaid_z},
                                                                         {"%laneid", Special::laneid},
                                                                         {"%warpid", Special::warpid},
                                                                         {"%nwarpid", Special::nwarpid},
                                                                         {"%lanemask_eq", Special::lanemask_eq},
                                                                         {"%lanemask_le", Special::lanemask_le},
                                                                         {"%lanemask_lt", Special::lanemask_lt},
                                                                         {"%lanemask_ge", Special::lanemask_ge},
                                                                         {"%lanemask_gt", Special::lanemask_gt},
                                                                         {"%dynamic_smem_size", Special::dynamic_smem_size}};
  auto found = specials.find(name);
  if (found == specials.end()) return std::nullopt;
  auto [entry, made] = kernel_.specials.try_emplace(found->second, 0);
  if (made) entry->second = temporary(4);
  return entry->second;
}

std::optional<Placed> KernelBuilder::variable(const Operand& operand) {
  const Variable* variable = operand.variable;
  if (!variable) {
    auto found = text_.variable_by_name.find(operand.text);
    if (found == text_.variable_by_name.end()) return std::nullopt;
    variable = found->second;
  }
  switch (variable->space) {
    case Space::global:
    case Space::constant: return Placed{variable->space, globals_.at(variable)};
    case Space::shared: {
      auto [entry, made] = shared_.try_emplace(variable, Placed{Space::shared, 0});
      if (made && variable->bytes == 0) {
        entry->second.address = kDynamicShared;
      } else if (made) {
        entry->second.address = align(kernel_.shared_bytes, variable->alignment);
        kernel_.shared_bytes = entry->second.address + variable->bytes;
      }
      return entry->second;
    }
    default: break;
  }
  auto [entry, made] = frames_.back()->variables.try_emplace(variable, Placed{Space::local, 0});
  if (made) {
    entry->second.address = align(kernel_.local_bytes, std::max<size_t>(variable->alignment, 8));
    kernel_.local_bytes = entry->second.address + variable->bytes;
  }
  return entry->second;
}

void KernelBuilder::entry_parameters(const Function& entry, Frame& frame) {
  for (const Variable* parameter : entry.parameters) {
    const size_t offset = align(kernel_.parameter_bytes, parameter->alignment);
    kernel_.parameters.push_back({parameter->name, parameter->bytes, parameter->alignment});
    kernel_.parameter_offsets.push_back(offset);
    kernel_.parameter_bytes = offset + parameter->bytes;
    frame.variables[parameter] = {Space::param, offset};
  }
}

Result<Kernel> KernelBuilder::build(const Function& entry) {
  kernel_.name = entry.name;
  kernel_.max_threads = entry.max_threads;
  kernel_.required_threads = entry.required_threads;
  Frame frame;
  frame.function = &entry;
  entry_parameters(entry, frame);
  expand(frame);
  if (failed()) return error_;
  // The end of the body is a return.
  Instruction end;
  end.kind = Instruction::exit;
  end.line = static_cast<uint32_t>(entry.line);
  emit(end);
  if (kernel_.shared_bytes > kDynamicShared) fail(entry.line, "'" + entry.name + "' has more than 48 KiB of shared variables");
  if (failed()) return error_;
  kernel_.register_bytes = align(kernel_.register_bytes, 64);
  kernel_.local_bytes = align(kernel_.local_bytes, 16);
  return std::move(kernel_);
}

void KernelBuilder::expand(Frame& frame) {
  for (const Frame* outer : frames_)
    if (outer->function == frame.function) return fail(frame.function->line, "'" + frame.function->name + "' calls itself");
  frames_.push_back(&frame);
  for (const Statement& statement : frame.function->statements) {
    frame.starts.push_back(static_cast<uint32_t>(kernel_.code.size()));
    DecodeFunction decode = opcode(statement.opcode);
    if (!decode) return fail(statement.line, "instruction '" + statement.opcode + "' is not known to the emulator");
    Decoding decoding(*this, statement);
    decode(decoding);
    if (failed()) return;
  }
  const auto end = static_cast<uint32_t>(kernel_.code.size());
  frame.starts.push_back(end);
  auto target = [&](const std::string& label) {
    auto found = frame.function->labels.find(label);
    if (found == frame.function->labels.end()) {
      fail(frame.function->line, "label '" + label + "' does not stand in '" + frame.function->name + "'");
      return end;
    }
    return frame.starts[found->second];
  };
  for (auto& [at, label] : frame.branches) kernel_.code[at].target = target(label);
  for (auto& [at, label] : frame.table) kernel_.targets[at] = target(label);
  for (uint32_t at : frame.returns) kernel_.code[at].target = end;
  frames_.pop_back();
}

void KernelBuilder::branch(const Statement& statement, Instruction instruction) {
  instruction.kind = Instruction::branch;
  frames_.back()->branches.emplace_back(kernel_.code.size(), statement.operands[0].text);
  emit(instruction);
}

void KernelBuilder::indexed_branch(const Statement& statement, Instruction instruction) {
  const auto& lists = frames_.back()->function->branch_targets;
  auto list = lists.find(statement.operands[1].text);
  if (list == lists.end()) return fail(statement.line, "no .branchtargets '" + statement.operands[1].text + "'");
  instruction.kind = Instruction::indexed;
  instruction.target = static_cast<uint32_t>(kernel_.targets.size());
  instruction.immediate = static_cast<int64_t>(list->second.size());
  for (const std::string& label : list->second) {
    frames_.back()->table.emplace_back(kernel_.targets.size(), label);
    kernel_.targets.push_back(0);
  }
  emit(instruction);
}

void KernelBuilder::leave(const Statement& statement, Instruction instruction) {
  if (frames_.size() == 1 || statement.opcode == "exit") {
    instruction.kind = Instruction::exit;
  } else {
    instruction.kind = Instruction::branch;
    frames_.back()->returns.push_back(static_cast<uint32_t>(kernel_.code.size()));
  }
  emit(instruction);
}

void KernelBuilder::call(const Statement& statement) {
  std::vector<Operand> results, arguments;
  const std::vector<Operand>& operands = statement.operands;
  size_t callee = 0;
  if (!operands.empty() && operands[0].kind == Operand::vector) {
    results = operands[0].elements;
    callee = 1;
  }
  if (callee >= operands.size()) return fail(statement.line, "a call without a function");
  if (callee + 1 < operands.size()) arguments = operands[callee + 1].elements;
  auto function = text_.function_by_name.find(operands[callee].text);
  if (function == text_.function_by_name.end() || operands.size() > callee + 2)
    return fail(statement.line, "a call of '" + operands[callee].text + "', which is no function of this module");
  if (statement.guard) return fail(statement.line, "a guarded call is not known to the emulator");
  Frame frame;
  frame.function = function->second;
  auto bind = [&](const std::vector<Operand>& given, const std::vector<const Variable*>& formal) {
    if (given.size() != formal.size()) return fail(statement.line, "a call with another number of arguments");
    for (size_t i = 0; i < given.size(); ++i) {
      if (!given[i].variable || given[i].variable->space != Space::param || given[i].variable->bytes != formal[i]->bytes)
        return fail(statement.line, "an argument of a call must be a .param variable of the parameter's size");
      frame.variables[formal[i]] = *variable(given[i]);
    }
  };
  bind(results, frame.function->results);
  bind(arguments, frame.function->parameters);
  if (!failed()) expand(frame);
}

}  // namespace sheaf::ptx
