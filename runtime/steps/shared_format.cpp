#include "runtime/steps/shared_format.h"

#include <algorithm>

namespace sheaf {

namespace {

/// One element has the same layout in any format.
bool single(const TensorSpec& spec) { return element_count(spec) == 1; }

}  // namespace

const TensorSpec* shared_format(const PrepareRequest& request, SameLayout same_layout) {
  const TensorSpec* best = nullptr;
  std::ptrdiff_t best_count = 0;
  const auto alike = [&](const TensorSpec& a, const TensorSpec& b) {
    return single(b) || (a.dims == b.dims && (a.dtype == b.dtype || !same_layout(a, b.dtype).plain()));
  };
  for (const TensorSpec& input : request.inputs) {
    if (single(input)) continue;
    const auto count = std::count_if(request.inputs.begin(), request.inputs.end(), [&](const TensorSpec& other) {
      return !single(other) && (same_format(input, other) || same_format(same_layout(input, other.dtype), other));
    });
    if (count > best_count) best = &input, best_count = count;
  }
  if (!best || best->plain()) return nullptr;
  if (best->bytes != static_cast<size_t>(element_count(*best)) * size_of(best->dtype)) return nullptr;
  for (const TensorSpec& other : request.inputs) {
    if (!alike(*best, other)) return nullptr;
  }
  for (const TensorSpec& other : request.outputs) {
    if (!alike(*best, other)) return nullptr;
  }
  return best;
}

void adopt_format(Prepared& prepared, const PrepareRequest& request, const TensorSpec* format, SameLayout same_layout) {
  const auto adopt = [&](const TensorSpec& spec) {
    if (!format || single(spec)) return plain_tensor(spec.dtype, spec.dims);
    return format->dtype == spec.dtype ? *format : same_layout(*format, spec.dtype);
  };
  for (const TensorSpec& input : request.inputs) prepared.inputs.push_back(adopt(input));
  for (const TensorSpec& output : request.outputs) prepared.outputs.push_back(adopt(output));
}

std::string reason_for_layout(const Kernel& kernel, const TensorSpec* format) {
  const std::string made = "compiled into the plan for this chain of ops";
  if (format) return made + "; element-wise without broadcasting, so it works in its inputs' layout, " + format->format->name();
  if (!kernel.elementwise) return made + "; it finds elements by their indices, so all operands are plain";
  return made + "; its operands don't share another layout, so all are plain";
}

}  // namespace sheaf
