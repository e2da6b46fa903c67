// What a generated kernel's step is by its attribute `pattern`, which tells rewrites and devices that they may do it otherwise (docs/steps.md).
#pragma once

#include "runtime/plan/op_list.h"
#include "runtime/plan/plan.h"

#include <string_view>

namespace sheaf {

inline bool has_pattern(const Step& step, std::string_view pattern) {
  const auto found = step.attributes.find("pattern");
  return step.op == Op::kernel && found != step.attributes.end() && found->is_string() &&
         found->get_ref<const std::string&>() == pattern;
}

}  // namespace sheaf
