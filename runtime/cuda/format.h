// The only format of CUDA's tensors besides the plain one: channels last.
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

/// The same tensor with channels last. If that equals the plain format (one channel, or one
/// position a channel) or there are no channels (fewer than 3 dims) it stays plain, so that nothing is copied needlessly.
TensorSpec channels_last(TensorSpec tensor);

/// Whether the tensor has that format; false if it is plain because both are equal.
bool is_channels_last(const TensorSpec& tensor);

/// Elements between neighbours along each dim, in the order of the dims. Of a plain tensor or one with channels last.
std::vector<int64_t> strides_of(const TensorSpec& tensor);
/// As strides_of(), but those of channels last even if the tensor is plain because both are equal.
std::vector<int64_t> channels_last_strides(const std::vector<int64_t>& dims);

/// The spec of a tensor of `dtype` with the same element layout as `tensor`; plain if there is no such format.
TensorSpec same_layout_of(const TensorSpec& tensor, DType dtype);

}  // namespace sheaf::cuda
