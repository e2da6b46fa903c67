// Counts over any number of tensors.
#include "runtime/ops/traits.h"
#include "runtime/plan/op_list.h"

namespace sheaf {
namespace {

Result<ResultShapes> nonfinite(const OpShapes&) { return ResultShapes{{{}, ResultShape::sums}}; }

/// One comparison for each element.
double nonfinite_flops(const SizedOp& op) {
  double elements = 0;
  for (const auto& input : op.inputs) elements += product(input);
  return elements;
}

constexpr RoleRow kTensors[] = {{.name = "x", .many = true}};

constexpr OpTraits kRows[] = {
    {.op = Op::nonfinite,
     .source = Source::library,
     .roles = kTensors,
     .shapes = nonfinite,
     .flops = nonfinite_flops,
     .adds_parts = true},
};

}  // namespace

std::span<const OpTraits> counts() { return kRows; }

}  // namespace sheaf
