#include "runtime/cpu/ops/pixel_layout.h"

namespace sheaf {

DnnlDesc pixels_desc(const DnnlDims& dims) {
  const int64_t pixel = dims[0] * dims[1];
  return DnnlDesc(dims, dnnl::memory::data_type::f32, DnnlDims{dims[1], 1, dims[3] * pixel, pixel});
}

DnnlDesc library_desc_at_hand(const TensorSpec& spec, const DnnlDesc& plain) {
  const DnnlDesc at_hand = desc_at_hand(spec, plain);
  if (spec.dims.size() != 4 || plain.dims() != spec.dims || !same_layout(at_hand, pixels_desc(spec.dims))) return at_hand;
  return DnnlDesc(spec.dims, at_hand.data_type(), dnnl::memory::format_tag::nhwc);
}

}  // namespace sheaf
