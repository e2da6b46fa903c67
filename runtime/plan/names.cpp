#include "runtime/plan/names.h"

#include <array>

namespace sheaf {

namespace {
constexpr std::array<std::string_view, 4> kSymbolKinds = {"batch", "chunk", "replicas", "offset"};
constexpr std::array<std::string_view, 7> kValueRoles = {"input",  "target", "setting",  "parameter",
                                                         "buffer", "state",  "temporary"};
static_assert(Symbol::offset == 3 && Value::temporary == 6, "the lists follow the enumerations' order");

template <typename Enumeration, size_t size>
std::optional<Enumeration> find(const std::array<std::string_view, size>& names, std::string_view name) {
  for (size_t i = 0; i < size; ++i)
    if (names[i] == name) return static_cast<Enumeration>(i);
  return std::nullopt;
}
}  // namespace

std::string_view name_of(Symbol::Kind kind) { return kSymbolKinds[kind]; }
std::string_view name_of(Value::Role role) { return kValueRoles[role]; }
std::string_view name_of(const Plan& plan, const Program& program) {
  if (&program == &plan.train || &program == &plan.train_graph) return "train";
  if (&program == &plan.accumulate || &program == &plan.accumulate_graph) return "accumulate";
  if (&program == &plan.update || &program == &plan.update_graph) return "update";
  return "infer";
}

std::optional<Symbol::Kind> symbol_kind_from_name(std::string_view name) { return find<Symbol::Kind>(kSymbolKinds, name); }
std::optional<Value::Role> value_role_from_name(std::string_view name) { return find<Value::Role>(kValueRoles, name); }

}  // namespace sheaf
