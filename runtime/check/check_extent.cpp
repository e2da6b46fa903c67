#include "runtime/check/step_check.h"

namespace sheaf {

namespace {

int64_t floor_divide(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

}  // namespace

CheckScope::CheckScope(const Plan& plan, const Program& program) : plan(plan), program(program) {
  for (const Symbol& symbol : program.symbols) symbols.emplace(symbol.name, &symbol);
  for (const Kernel& kernel : plan.kernels) kernels.emplace(kernel.name, &kernel);
  for (const Parameter& parameter : plan.parameters) parameters.emplace(parameter.name, &parameter);
  for (const Parameter& entry : plan.state) state.emplace(entry.name, &entry);
}

std::optional<std::string> problem_of(const Extent& extent, const CheckScope& scope, const Place& place) {
  const auto beyond = [](int64_t number) { return number > kLargestDim || number < -kLargestDim; };
  bool large = beyond(extent.constant);
  for (const auto& [name, coefficient] : extent.terms) {
    large |= beyond(coefficient);
    const auto found = scope.symbols.find(name);
    if (found == scope.symbols.end())
      return "the size " + to_string(extent) + " uses the unknown symbol '" + name + "'";
    const Symbol* symbol = found->second;
    const bool of_replica = symbol->kind == Symbol::chunk || symbol->kind == Symbol::offset;
    if (of_replica && (place.kind != Place::region || place.index != symbol->region))
      return "the size " + to_string(extent) + " uses '" + name + "', " +
             (symbol->kind == Symbol::chunk ? "a chunk" : "an offset") + " of region " +
             std::to_string(symbol->region) + ", at " + to_string(place);
  }
  if (large || (extent.is_static() && extent.constant < 0))
    return "the size " + to_string(extent) + " is out of bounds; sizes are from 0 to 2^40";
  return std::nullopt;
}

std::optional<Extent> window_count(const Extent& size, int64_t padding_begin, int64_t padding_end,
                                   int64_t span, int64_t stride, bool ceil_mode) {
  const Extent room = size + Extent(padding_begin + padding_end - span);
  if (room.is_static() && room.constant < 0) return std::nullopt;
  Extent count;
  for (const auto& [name, coefficient] : room.terms) {
    if (coefficient % stride != 0) return std::nullopt;
    count.terms[name] = coefficient / stride;
  }
  count.constant = floor_divide(room.constant + (ceil_mode ? stride - 1 : 0), stride) + 1;
  if (ceil_mode) {
    // The symbols' share of the last window's start equals their share of the size: only constants remain.
    const int64_t last_start = (count.constant - 1) * stride;
    if (last_start >= size.constant + padding_begin) count.constant -= 1;
  }
  return count;
}

}  // namespace sheaf
