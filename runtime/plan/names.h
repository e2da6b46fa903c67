// The names that enumerations of the plan have in a .plan file.
#pragma once

#include "runtime/plan/plan.h"

#include <optional>
#include <string_view>

namespace sheaf {

std::string_view name_of(Symbol::Kind kind);
std::string_view name_of(Value::Role role);
std::string_view name_of(Value::Purpose purpose);
std::optional<Symbol::Kind> symbol_kind_from_name(std::string_view name);
std::optional<Value::Role> value_role_from_name(std::string_view name);
std::optional<Value::Purpose> purpose_from_name(std::string_view name);

/// The name of `program` (or of the program whose logical form it is) in the plan: "infer", "train", "accumulate", …
std::string_view name_of(const Plan& plan, const Program& program);

}  // namespace sheaf
