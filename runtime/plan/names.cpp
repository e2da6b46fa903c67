#include "runtime/plan/names.h"

#include <array>

namespace sheaf {

namespace {
constexpr std::array<std::string_view, 5> kSymbolKinds = {"batch", "chunk", "replicas", "offset", "length"};
constexpr std::array<std::string_view, 7> kValueRoles = {"input",  "target", "setting",  "parameter",
                                                         "buffer", "state",  "temporary"};
constexpr std::array<std::string_view, kPurposes> kPurposeNames = {"parameters",  "derived",   "gradients",    "optimizer",
                                                                   "activations", "workspace", "communication"};
constexpr std::array<std::string_view, 3> kPhases = {"forward", "backward", "update"};
static_assert(Symbol::length == 4 && Value::temporary == 6 && size_t(Value::Purpose::communication) + 1 == kPurposes &&
                  size_t(Phase::update) == 2,
              "the lists follow the enumerations' order");

template <typename Enumeration, size_t size>
std::optional<Enumeration> find(const std::array<std::string_view, size>& names, std::string_view name) {
  for (size_t i = 0; i < size; ++i)
    if (names[i] == name) return static_cast<Enumeration>(i);
  return std::nullopt;
}
}  // namespace

std::string_view name_of(Symbol::Kind kind) { return kSymbolKinds[kind]; }
std::string_view name_of(Value::Role role) { return kValueRoles[role]; }
std::string_view name_of(Value::Purpose purpose) { return kPurposeNames[static_cast<size_t>(purpose)]; }
std::string_view name_of(Phase phase) { return kPhases[static_cast<size_t>(phase)]; }

std::string_view name_of(const Plan& plan, const Program& program) {
  if (&program == &plan.train || &program == &plan.train_graph) return "train";
  if (&program == &plan.accumulate || &program == &plan.accumulate_graph) return "accumulate";
  if (&program == &plan.update || &program == &plan.update_graph) return "update";
  if (&program == &plan.forward || &program == &plan.forward_graph) return "forward";
  if (&program == &plan.backward || &program == &plan.backward_graph) return "backward";
  return "infer";
}

std::optional<Symbol::Kind> symbol_kind_from_name(std::string_view name) { return find<Symbol::Kind>(kSymbolKinds, name); }
std::optional<Value::Role> value_role_from_name(std::string_view name) { return find<Value::Role>(kValueRoles, name); }
std::optional<Value::Purpose> purpose_from_name(std::string_view name) { return find<Value::Purpose>(kPurposeNames, name); }
std::optional<Phase> phase_from_name(std::string_view name) { return find<Phase>(kPhases, name); }

}  // namespace sheaf
