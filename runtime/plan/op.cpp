#include "runtime/plan/op_list.h"
#include "runtime/plan/plan.h"

#include <algorithm>
#include <array>

namespace sheaf {
namespace {

#define SHEAF_OP(name) #name,
constexpr std::array<std::string_view, kOps> kNames = {SHEAF_OPS(SHEAF_OP)};
#undef SHEAF_OP

}  // namespace

std::string to_string(Op op) { return std::string(kNames[static_cast<size_t>(op)]); }

std::string op_name(const Step& step) { return step.op == Op::layer ? step.type : to_string(step.op); }

std::optional<Op> op_from_name(std::string_view name) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Op>(found - kNames.begin());
}

}  // namespace sheaf
