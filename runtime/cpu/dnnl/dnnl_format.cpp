#include "runtime/cpu/dnnl/dnnl_format.h"

#include <algorithm>
#include <cctype>

namespace sheaf {
namespace {

/// One loop of a layout: `size` steps of `stride` elements over dim `dim`.
struct Factor {
  int dim;
  int64_t size;
  int64_t stride;
  bool operator==(const Factor&) const = default;
};

/// The loops of a blocked layout by dim, outer to inner, without those of size 1, and with two joined where
/// they make one. Equal lists: equal addresses.
std::vector<Factor> factors_of(const dnnl_memory_desc_t& md) {
  const dnnl_blocking_desc_t& blocking = md.format_desc.blocking;
  std::vector<int64_t> inner_stride(blocking.inner_nblks);
  int64_t stride = 1;
  for (int i = blocking.inner_nblks - 1; i >= 0; --i) {
    inner_stride[i] = stride;
    stride *= blocking.inner_blks[i];
  }
  std::vector<Factor> factors;
  auto add = [&](Factor factor) {
    if (factor.size == 1) return;
    if (!factors.empty() && factors.back().dim == factor.dim && factors.back().stride == factor.size * factor.stride) {
      factors.back() = {factor.dim, factors.back().size * factor.size, factor.stride};
    } else {
      factors.push_back(factor);
    }
  };
  for (int d = 0; d < md.ndims; ++d) {
    int64_t block = 1;
    for (int i = 0; i < blocking.inner_nblks; ++i)
      if (blocking.inner_idxs[i] == d) block *= blocking.inner_blks[i];
    add({d, md.padded_dims[d] / block, blocking.strides[d]});
    for (int i = 0; i < blocking.inner_nblks; ++i)
      if (blocking.inner_idxs[i] == d) add({d, blocking.inner_blks[i], inner_stride[i]});
  }
  return factors;
}

}  // namespace

bool same_layout(const DnnlDesc& a, const DnnlDesc& b) {
  const dnnl_memory_desc_t &x = a.data, &y = b.data;
  if (x.format_kind != dnnl_blocked || y.format_kind != dnnl_blocked) return a == b;
  return x.ndims == y.ndims && x.data_type == y.data_type && x.offset0 == y.offset0 && x.extra.flags == y.extra.flags &&
         std::equal(x.dims, x.dims + x.ndims, y.dims) && std::equal(x.padded_dims, x.padded_dims + x.ndims, y.padded_dims) &&
         factors_of(x) == factors_of(y);
}

DnnlFormat::DnnlFormat(DnnlDesc desc, DnnlDesc plain, std::string letters, std::vector<int> block_order)
    : desc_(std::move(desc)), plain_(std::move(plain)), letters_(std::move(letters)), block_order_(std::move(block_order)) {}

bool DnnlFormat::equals(const Format& other) const {
  const auto* that = dynamic_cast<const DnnlFormat*>(&other);
  return that && block_order_ == that->block_order_ && same_layout(plain_, that->plain_) && same_layout(desc_, that->desc_);
}

std::string DnnlFormat::name() const {
  const dnnl_memory_desc_t& md = desc_.data;
  if (md.format_kind == dnnl_format_kind_rnn_packed) return "rnn_packed";
  if (md.format_kind != dnnl_blocked) return "opaque";
  const dnnl_blocking_desc_t& blocking = md.format_desc.blocking;
  auto letter = [&](int64_t d) { return d < int64_t(letters_.size()) ? letters_[d] : char('a' + d); };
  std::vector<int> order(md.ndims);
  for (int d = 0; d < md.ndims; ++d) order[d] = d;
  std::sort(order.begin(), order.end(), [&](int i, int j) {
    return blocking.strides[i] != blocking.strides[j] ? blocking.strides[i] > blocking.strides[j] : i < j;
  });
  std::string text;
  for (int d : order) {
    bool blocked = std::find(blocking.inner_idxs, blocking.inner_idxs + blocking.inner_nblks, d) !=
                   blocking.inner_idxs + blocking.inner_nblks;
    text += blocked ? char(std::toupper(letter(d))) : letter(d);
  }
  for (int i = 0; i < blocking.inner_nblks; ++i)
    text += std::to_string(blocking.inner_blks[i]) + letter(blocking.inner_idxs[i]);
  return text;
}

DnnlDesc plain_desc(const DnnlDims& dims, dnnl::memory::data_type type) {
  DnnlDims strides(dims.size());
  int64_t stride = 1;
  for (size_t d = dims.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= dims[d];
  }
  return DnnlDesc(dims, type, strides);
}

DnnlDesc any_desc(const DnnlDims& dims, dnnl::memory::data_type type) {
  return DnnlDesc(dims, type, dnnl::memory::format_tag::any);
}

DnnlDesc channels_last_desc(const DnnlDims& dims, dnnl::memory::data_type type) {
  using tag = dnnl::memory::format_tag;
  return DnnlDesc(dims, type, dims.size() == 3 ? tag::nwc : dims.size() == 4 ? tag::nhwc : tag::ndhwc);
}

dnnl::memory::data_type dnnl_type(DType dtype) {
  return dtype == DType::bfloat16  ? dnnl::memory::data_type::bf16
         : dtype == DType::float16 ? dnnl::memory::data_type::f16
                                   : dnnl::memory::data_type::f32;
}

DType dtype_of(const DnnlDesc& desc) {
  return desc.data.data_type == dnnl_bf16 ? DType::bfloat16 : desc.data.data_type == dnnl_f16 ? DType::float16 : DType::float32;
}

TensorSpec dnnl_tensor(const std::vector<int64_t>& dims, const DnnlDesc& desc, const DnnlDesc& plain,
                       const std::string& letters, std::vector<int> block_order) {
  TensorSpec spec = plain_tensor(dtype_of(plain), dims);
  if (block_order.empty() && same_layout(desc, plain)) return spec;
  spec.bytes = desc.get_size();
  spec.format = std::make_shared<DnnlFormat>(desc, plain, letters, std::move(block_order));
  return spec;
}

DnnlDesc desc_at_hand(const TensorSpec& spec, const DnnlDesc& plain) {
  const auto* format = dynamic_cast<const DnnlFormat*>(spec.format.get());
  if (!format || !format->block_order().empty() || !same_layout(format->plain(), plain)) return plain;
  return format->desc();
}

TensorSpec same_layout_of(const TensorSpec& spec, DType dtype) {
  TensorSpec made = plain_tensor(dtype, spec.dims);
  const auto* format = dynamic_cast<const DnnlFormat*>(spec.format.get());
  const bool real = dtype == DType::float32 || dtype == DType::bfloat16 || dtype == DType::float16;
  if (!real || !format || !format->block_order().empty() || format->desc().data.extra.flags) return made;
  DnnlDesc desc = format->desc(), plain = format->plain();
  desc.data.data_type = plain.data.data_type = dnnl::memory::convert_to_c(dnnl_type(dtype));
  made.bytes = desc.get_size();
  made.format = std::make_shared<DnnlFormat>(desc, plain, format->letters());
  return made;
}

}  // namespace sheaf
