#include "tests/ptx/decoding.h"

#include <cstring>

namespace sheaf::ptx {

Result<std::shared_ptr<const Program>> decode(const Text& text) {
  auto program = std::make_shared<Program>();
  program->name = text.name;
  std::map<const Variable*, uint64_t> places;
  size_t bytes = 0;
  for (const Variable& variable : text.variables) {
    if (variable.space == Space::shared) continue;
    const size_t alignment = std::max<size_t>(variable.alignment, 16);
    bytes = (bytes + alignment - 1) / alignment * alignment;
    places[&variable] = bytes;
    bytes += variable.bytes;
  }
  constexpr size_t kAlignment = 256;
  program->memory = std::make_unique<std::byte[]>(bytes + kAlignment);
  program->memory_begin = (reinterpret_cast<uint64_t>(program->memory.get()) + kAlignment - 1) / kAlignment * kAlignment;
  program->memory_end = program->memory_begin + bytes;
  for (auto& [variable, place] : places) place += program->memory_begin;
  for (auto& [variable, place] : places) {
    auto* target = reinterpret_cast<std::byte*>(place);
    if (!variable->initial.empty()) std::memcpy(target, variable->initial.data(), variable->initial.size());
    for (const Variable::Relocation& relocation : variable->relocations) {
      auto found = text.variable_by_name.find(relocation.symbol);
      if (found == text.variable_by_name.end() || !places.contains(found->second))
        return Error({text.name, variable->line, 0},
                     "initial value of '" + variable->name + "': no variable '" + relocation.symbol + "' in global memory");
      const uint64_t value = places.at(found->second) + static_cast<uint64_t>(relocation.addend);
      std::memcpy(target + relocation.offset, &value, sizeof value);
    }
  }
  for (const Function& function : text.functions) {
    if (!function.entry) continue;
    auto kernel = KernelBuilder(text, places).build(function);
    if (!kernel) return kernel.error();
    program->kernels[function.name] = std::move(*kernel);
  }
  return std::shared_ptr<const Program>(std::move(program));
}

}  // namespace sheaf::ptx
