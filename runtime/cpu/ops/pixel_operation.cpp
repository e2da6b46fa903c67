#include "runtime/cpu/ops/pixel_operation.h"

#include "runtime/cpu/ops/activation.h"

namespace sheaf {

const winograd::KernelTable* pixel_kernels(const Operation& operation, bool narrow, Operands operands) {
  if (operands == Operands::split) return winograd::split_kernels();
  const bool bf16 = operation.dtype() == DType::bfloat16;
  return winograd::kernels_of(bf16 ? winograd::Element::bf16 : winograd::Element::f32, narrow);
}

bool pixels_fit(const Operation& operation, const ConvShape& g) {
  if (g.x.size() != 4 || g.groups != 1 || g.dilation != Dims{1, 1}) return false;
  const winograd::KernelTable* kernels = pixel_kernels(operation, /*narrow=*/true);
  if (!kernels || size_t(kernels->pair) * dnnl::memory::data_type_size(operation.data_type()) != sizeof(float)) return false;
  if (g.x[1] % kernels->lanes != 0 || g.y[1] % kernels->lanes != 0) return false;
  const auto activation = activation_of(operation);
  return !activation || activation->algorithm == dnnl::algorithm::eltwise_relu;
}

bool split_fits(const Operation& operation, const ConvShape& g) {
  const winograd::KernelTable* kernels = winograd::split_kernels();
  return kernels && operation.request.fast_numerics && operation.dtype() == DType::float32 &&
         g.x[1] % kernels->depth_unit == 0 && g.y[1] % kernels->depth_unit == 0;
}

winograd::Finish pixel_finish(const Operation& operation) {
  winograd::Finish finish;
  finish.add = operation.has("residual");
  if (const auto activation = activation_of(operation)) {
    finish.relu = true;
    finish.negative_slope = activation->alpha;
  }
  return finish;
}

const char* pixels_reason() {
  return "products over the batch, pixel by pixel: images are small, and what falls into the padding or between strides is "
         "left out";
}

std::string reason_of(const char* reason, Operands operands) {
  if (operands == Operands::whole) return reason;
  return reason +
         std::string("; f32 values are split into two parts of bf16, whose products AMX makes, which --numerics fast allows");
}

}  // namespace sheaf
