// oneDNN memory descriptors as tensor formats.
#pragma once

#include "runtime/device/operation.h"
#include "runtime/cpu/dnnl/dnnl_engine.h"

#include <memory>
#include <string>
#include <vector>

namespace sheaf {

using DnnlDesc = dnnl::memory::desc;
using DnnlDims = dnnl::memory::dims;

/// A layout that oneDNN chose. The dims of `desc` may differ from the tensor's: a grouped convolution's
/// weight [O, I/g, k…] is [g, O/g, I/g, k…] to oneDNN, a transposed one's has its channels exchanged. `plain`
/// says how the plain (dense, row-major) tensor is laid out in those dims, so that reordering needs nothing else.
class DnnlFormat final : public Format {
 public:
  /// `letters` names the dims for people: "nchw", "goihw". `block_order`: the plain tensor's dim 0, cut into
  /// block_order.size() equal blocks, has block block_order[i] at position i before `plain` applies (a GRU's
  /// gates are in another order in oneDNN); empty: unchanged.
  DnnlFormat(DnnlDesc desc, DnnlDesc plain, std::string letters, std::vector<int> block_order = {});
  bool equals(const Format& other) const override;
  std::string name() const override;

  const DnnlDesc& desc() const { return desc_; }
  const DnnlDesc& plain() const { return plain_; }
  const std::vector<int>& block_order() const { return block_order_; }
  const std::string& letters() const { return letters_; }

 private:
  DnnlDesc desc_;
  DnnlDesc plain_;
  std::string letters_;
  std::vector<int> block_order_;
};

/// The descriptor of a dense row-major tensor.
DnnlDesc plain_desc(const DnnlDims& dims, dnnl::memory::data_type type = dnnl::memory::data_type::f32);

/// Of activations, 3 to 5 dims: channels last.
DnnlDesc channels_last_desc(const DnnlDims& dims, dnnl::memory::data_type type);

/// The same dims, layout left to the primitive.
DnnlDesc any_desc(const DnnlDims& dims, dnnl::memory::data_type type = dnnl::memory::data_type::f32);

/// oneDNN's name of a floating-point dtype, and the reverse.
dnnl::memory::data_type dnnl_type(DType dtype);
DType dtype_of(const DnnlDesc& desc);

/// True if both put every element, padding included, at the same byte: 1x1 nchw and nhwc are the same.
bool same_layout(const DnnlDesc& a, const DnnlDesc& b);

/// The spec of a tensor of shape `dims` and of desc's type laid out as `desc`; plain if `desc` amounts to that.
TensorSpec dnnl_tensor(const std::vector<int64_t>& dims, const DnnlDesc& desc, const DnnlDesc& plain,
                       const std::string& letters, std::vector<int> block_order = {});

/// The layout of `spec`, in the dims of `plain`; `plain` itself if it is plain, or in another backend's format,
/// or in one with other dims (the operation then states its format, and binding reorders).
DnnlDesc desc_at_hand(const TensorSpec& spec, const DnnlDesc& plain);

/// The spec of a tensor of `dtype` with the same element layout as `spec`, a tensor of another type; plain if there is
/// no such layout.
TensorSpec same_layout_of(const TensorSpec& spec, DType dtype);

}  // namespace sheaf
