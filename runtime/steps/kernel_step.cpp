#include "runtime/steps/kernel_step.h"

#include "runtime/base/extent_product.h"
#include "runtime/plan/kernel_lookup.h"

namespace sheaf {
namespace {

Result<std::optional<Lookup>> find_lookup(const PrepareRequest& request) {
  const auto found = request.step.attributes.find("status");
  if (found == request.step.attributes.end()) return std::optional<Lookup>();
  const int64_t output = found->is_number_integer() ? found->get<int64_t>() : -1;
  const auto along = request.step.attributes.find("lookup_dim");
  const int64_t dim = along == request.step.attributes.end() ? 0 : along->is_number_integer() ? along->get<int64_t>() : -1;
  if (output < 0 || output >= static_cast<int64_t>(request.outputs.size()) || request.inputs.size() < 2 ||
      request.outputs[static_cast<size_t>(output)].dtype != DType::int64 ||
      element_count(request.outputs[static_cast<size_t>(output)]) != 1 || dim < 0 ||
      dim >= static_cast<int64_t>(request.inputs[1].dims.size()) ||
      (request.inputs[0].dtype != DType::int64 && request.inputs[0].dtype != DType::int32)) {
    return Error("has a 'status' that is not an output of one int64, or no indices and table to go with it");
  }
  return std::optional<Lookup>({request.inputs.size() + static_cast<size_t>(output), request.inputs[0].dtype,
                                request.inputs[1].dims[static_cast<size_t>(dim)]});
}

/// `least`: of the number of elements that the kernel's extents count.
Result<void> check_count(const PrepareRequest& request) {
  const auto least = request.step.attributes.find("least");
  if (least == request.step.attributes.end() || !least->is_number_integer()) return {};
  int64_t count = 1;
  for (const int64_t extent : request.extents) count = saturating_multiply(count, extent);
  if (count >= least->get<int64_t>()) return {};
  return Error("expected at least " + std::to_string(least->get<int64_t>()) +
               " values per channel when training, and the whole batch has " + std::to_string(count));
}

}  // namespace

std::string Lookup::failure(int64_t position, int64_t index) const {
  return "index " + std::to_string(index) + " (element " + std::to_string(position) +
         " of its input) is out of range; the table has entries 0 to " + std::to_string(entries - 1);
}

Result<KernelStep> prepare_kernel_step(const PrepareRequest& request, SameLayout same_layout) {
  KernelStep step;
  step.kernel = find_kernel(request.plan, request.step.kernel);
  if (!step.kernel) return Error("is not in the plan");
  if (static_cast<int>(request.extents.size()) < step.kernel->extents) {
    return Error("reads " + std::to_string(step.kernel->extents) + " extents; the step gives " +
                 std::to_string(request.extents.size()));
  }
  SHEAF_TRY(check_count(request));
  SHEAF_ASSIGN(auto lookup, find_lookup(request));
  step.lookup = lookup;
  Prepared& prepared = step.prepared;
  const TensorSpec* format = step.kernel->elementwise ? shared_format(request, same_layout) : nullptr;
  adopt_format(prepared, request, format, same_layout);
  const auto pairs = request.step.attributes.find("in_place");
  for (size_t i = 0; pairs != request.step.attributes.end() && i < pairs->size(); ++i) {
    const Json& pair = (*pairs)[i];
    if (pair.is_array() && pair.size() == 2 && pair[0].is_number_integer() && pair[1].is_number_integer()) {
      prepared.in_place.emplace_back(pair[0].get<int>(), pair[1].get<int>());
    }
  }
  prepared.can_fail = step.lookup.has_value();
  prepared.implementation = "generated";
  prepared.reason = reason_for_layout(*step.kernel, format);
  return step;
}

}  // namespace sheaf
