// The one format of CUDA's tensors besides the plain one: channels last.
#pragma once

#include "runtime/device/operation.h"

#include <vector>

namespace sheaf::cuda {

/// Of a tensor with dims [N, C, s…] (of a weight: [O, I, k…]), which keep that order: in memory C varies fastest, then the
/// last of s…, and N slowest (NHWC, KRSC). Dense, without padding.
class ChannelsLast final : public Format {
 public:
  bool equals(const Format& other) const override;
  std::string name() const override { return "channels last"; }
};

/// The same tensor with channels last. Where that puts every element where the plain format does (one channel, or one
/// position a channel) and where there are no channels (fewer than 3 dims) it stays plain, so that nothing is copied in vain.
TensorSpec channels_last(TensorSpec tensor);

/// Whether the tensor has that format; not where it is plain because both are the same.
bool is_channels_last(const TensorSpec& tensor);

/// Elements between neighbours along each dim, in the order of the dims. Of a plain tensor or one with channels last.
std::vector<int64_t> strides_of(const TensorSpec& tensor);
/// The same as strides_of(): those of channels last, even where the tensor is plain because both are the same.
std::vector<int64_t> channels_last_strides(const std::vector<int64_t>& dims);

/// The spec of a tensor of `dtype` whose elements lie as those of `tensor`; plain if there is no such format.
TensorSpec same_layout_of(const TensorSpec& tensor, DType dtype);

}  // namespace sheaf::cuda
