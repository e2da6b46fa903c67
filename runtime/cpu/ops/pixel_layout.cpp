#include "runtime/cpu/ops/pixel_layout.h"

#include "runtime/machine/isa.h"

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

TensorSpec panels_tensor(const DnnlDims& weight, dnnl::memory::data_type type, bool gradient, int64_t panel, int64_t pair) {
  const int across = gradient ? 1 : 0, along = 1 - across;  // the dims of a tap's matrix
  DnnlDesc desc = taps_desc(weight, type);
  dnnl_memory_desc_t& md = desc.data;
  const auto whole = [](int64_t count, int64_t unit) { return (count + unit - 1) / unit * unit; };
  md.padded_dims[across] = whole(weight[size_t(across)], panel);
  md.padded_dims[along] = whole(weight[size_t(along)], pair);
  dnnl_blocking_desc_t& blocking = md.format_desc.blocking;
  const int64_t matrix = md.padded_dims[across] * md.padded_dims[along];
  blocking.strides[across] = panel * md.padded_dims[along];
  blocking.strides[along] = panel * pair;
  blocking.strides[2] = weight[3] * matrix;
  blocking.strides[3] = matrix;
  blocking.inner_nblks = pair > 1 ? 2 : 1;
  blocking.inner_blks[0] = panel;
  blocking.inner_idxs[0] = across;
  if (pair > 1) {
    blocking.inner_blks[1] = pair;
    blocking.inner_idxs[1] = along;
  }
  return dnnl_tensor(weight, desc, plain_desc(weight, type), "oihw");
}

DnnlDesc wide_desc(const DnnlDims& dims, dnnl::memory::data_type type) {
  using tag = dnnl::memory::format_tag;
  const bool image = dims.size() == 4;
  if (dims[1] % (has_avx512() ? 16 : 8) != 0) return channels_last_desc(dims, type);
  if (has_avx512()) return DnnlDesc(dims, type, image ? tag::nChw16c : tag::nCdhw16c);
  return DnnlDesc(dims, type, image ? tag::nChw8c : tag::nCdhw8c);
}

bool in_blocks_of_4(const DnnlDesc& desc) {
  const dnnl_blocking_desc_t& blocking = desc.data.format_desc.blocking;
  return desc.data.format_kind == dnnl_blocked && blocking.inner_nblks == 1 && blocking.inner_blks[0] == 4;
}

DnnlDesc library_desc_at_hand(const TensorSpec& spec, const DnnlDesc& plain) {
  const DnnlDesc at_hand = desc_at_hand(spec, plain);
  if (in_blocks_of_4(at_hand)) return wide_desc(plain.dims(), at_hand.data_type());
  if (spec.dims.size() != 4 || plain.dims() != spec.dims || !same_layout(at_hand, pixels_desc(spec.dims, at_hand.data_type())))
    return at_hand;
  return DnnlDesc(spec.dims, at_hand.data_type(), dnnl::memory::format_tag::nhwc);
}

}  // namespace sheaf
