#include "runtime/cuda/format.h"

namespace sheaf::cuda {
namespace {

/// Of all tensors: a format without parameters needs but one object.
const std::shared_ptr<const Format>& channels_last_format() {
  static const std::shared_ptr<const Format> format = std::make_shared<const ChannelsLast>();
  return format;
}

}  // namespace

bool ChannelsLast::equals(const Format& other) const { return dynamic_cast<const ChannelsLast*>(&other) != nullptr; }

TensorSpec channels_last(TensorSpec tensor) {
  tensor = plain_tensor(tensor.dtype, std::move(tensor.dims));
  if (tensor.dims.size() < 3) return tensor;
  int64_t positions = 1;
  for (size_t i = 2; i < tensor.dims.size(); ++i) positions *= tensor.dims[i];
  if (tensor.dims[1] > 1 && positions > 1) tensor.format = channels_last_format();
  return tensor;
}

bool is_channels_last(const TensorSpec& tensor) {
  return tensor.format && dynamic_cast<const ChannelsLast*>(tensor.format.get());
}

std::vector<int64_t> channels_last_strides(const std::vector<int64_t>& dims) {
  std::vector<int64_t> strides(dims.size(), 1);
  if (dims.size() < 2) return strides;
  int64_t next = dims[1];
  for (size_t i = dims.size() - 1; i >= 2; --i) {
    strides[i] = next;
    next *= dims[i];
  }
  strides[0] = next;
  return strides;
}

std::vector<int64_t> strides_of(const TensorSpec& tensor) {
  if (is_channels_last(tensor)) return channels_last_strides(tensor.dims);
  std::vector<int64_t> strides(tensor.dims.size(), 1);
  for (size_t i = tensor.dims.size(); i-- > 1;) strides[i - 1] = strides[i] * tensor.dims[i];
  return strides;
}

TensorSpec same_layout_of(const TensorSpec& tensor, DType dtype) {
  return is_channels_last(tensor) ? channels_last(plain_tensor(dtype, tensor.dims)) : plain_tensor(dtype, tensor.dims);
}

}  // namespace sheaf::cuda
