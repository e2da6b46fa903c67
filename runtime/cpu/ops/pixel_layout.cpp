#include "runtime/cpu/ops/pixel_layout.h"

namespace sheaf {

DnnlDesc pixels_desc(const DnnlDims& dims, dnnl::memory::data_type type) {
  const int64_t pixel = dims[0] * dims[1];
  return DnnlDesc(dims, type, DnnlDims{dims[1], 1, dims[3] * pixel, pixel});
}

TensorSpec pixels_tensor(const DnnlDims& dims, dnnl::memory::data_type type) {
  return dnnl_tensor(dims, pixels_desc(dims, type), plain_desc(dims, type), "nchw");
}

DnnlDesc taps_desc(const DnnlDims& weight, dnnl::memory::data_type type) {
  return DnnlDesc(weight, type, dnnl::memory::format_tag::hwio);
}

TensorSpec taps_tensor(const DnnlDims& weight, dnnl::memory::data_type type) {
  return dnnl_tensor(weight, taps_desc(weight, type), plain_desc(weight, type), "oihw");
}

DnnlDesc library_desc_at_hand(const TensorSpec& spec, const DnnlDesc& plain) {
  const DnnlDesc at_hand = desc_at_hand(spec, plain);
  if (spec.dims.size() != 4 || plain.dims() != spec.dims || !same_layout(at_hand, pixels_desc(spec.dims, at_hand.data_type())))
    return at_hand;
  return DnnlDesc(spec.dims, at_hand.data_type(), dnnl::memory::format_tag::nhwc);
}

}  // namespace sheaf
