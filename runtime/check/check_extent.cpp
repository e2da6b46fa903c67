#include "runtime/base/extent_product.h"
#include "runtime/check/step_check.h"

namespace sheaf {

CheckScope::CheckScope(const Plan& plan, const Program& program) : plan(plan), program(program) {
  for (const Symbol& symbol : program.symbols) symbols.emplace(symbol.name, &symbol);
  for (const Kernel& kernel : plan.kernels) kernels.emplace(kernel.name, &kernel);
  for (const Parameter& parameter : plan.parameters) parameters.emplace(parameter.name, &parameter);
  for (const Parameter& entry : plan.state) state.emplace(entry.name, &entry);
}

std::optional<std::string> problem_of(const Extent& extent, const CheckScope& scope, const Place& place) {
  const auto beyond = [](int64_t number) { return number > kLargestDim || number < -kLargestDim; };
  bool large = beyond(extent.constant);
  for (const auto& [term, coefficient] : extent.terms) large |= beyond(coefficient);
  for (const std::string& name : symbols_in(extent)) {
    const auto found = scope.symbols.find(name);
    if (found == scope.symbols.end()) return "the size " + to_string(extent) + " uses the unknown symbol '" + name + "'";
    const Symbol* symbol = found->second;
    const bool of_replica = symbol->kind == Symbol::chunk || symbol->kind == Symbol::offset;
    if (of_replica && (place.kind != Place::region || place.index != symbol->region))
      return "the size " + to_string(extent) + " uses '" + name + "', " +
             (symbol->kind == Symbol::chunk ? "a chunk" : "an offset") + " of region " + std::to_string(symbol->region) +
             ", at " + to_string(place);
  }
  if (large || (extent.is_static() && extent.constant < 0))
    return "the size " + to_string(extent) + " is out of bounds; sizes are from 0 to 2^40";
  return std::nullopt;
}

}  // namespace sheaf
