// A pooling by PyTorch's definitions, as loops.
#pragma once

#include "runtime/cuda/format.h"
#include "tests/unit/runtime/cuda/own_kernel_bench.h"

#include <algorithm>
#include <array>

namespace sheaf::cuda {

/// Sizes along depth, height and width.
using Sizes = std::array<int64_t, 3>;

struct PoolingCase {
  int spatial = 2;
  Sizes x{1, 7, 6}, kernel{1, 3, 2}, stride{1, 2, 2}, padding{0, 1, 1}, dilation{1, 1, 1}, y{1, 1, 1};
  bool ceil_mode = false, count_include_pad = true, adaptive = false;
  int64_t divisor = 0, channels = 3;  // 3 fill no vectors

  /// The sizes of y by PyTorch's rule.
  PoolingCase sized() const {
    PoolingCase made = *this;
    for (int d = 0; d < 3; ++d) {
      const int64_t room = x[d] + 2 * padding[d] - dilation[d] * (kernel[d] - 1) - 1;
      made.y[d] = (room + (ceil_mode ? stride[d] - 1 : 0)) / stride[d] + 1;
      if (ceil_mode && (made.y[d] - 1) * stride[d] >= x[d] + padding[d]) --made.y[d];
    }
    return made;
  }
  std::vector<int64_t> last(const Sizes& sizes) const { return {sizes.end() - spatial, sizes.end()}; }
  Json attributes(bool average) const {
    if (adaptive) return Json::object();
    Json made = {{"kernel_size", last(kernel)}, {"stride", last(stride)}, {"padding", last(padding)}, {"ceil_mode", ceil_mode}};
    if (average) made.update(Json{{"count_include_pad", count_include_pad}, {"divisor_override", divisor}});
    else made["dilation"] = last(dilation);
    return made;
  }
};

inline constexpr int64_t kImages = 2;

inline std::vector<int64_t> dims_of(const PoolingCase& c, const Sizes& sizes) {
  std::vector<int64_t> dims = {kImages, c.channels};
  for (const int64_t size : c.last(sizes)) dims.push_back(size);
  return dims;
}

inline TensorSpec tensor_of(const PoolingCase& c, const Sizes& sizes, DType dtype, bool last) {
  const TensorSpec plain = plain_tensor(dtype, dims_of(c, sizes));
  return last ? channels_last(plain) : plain;
}

/// Calls body(window element's position in the plane, its tap) for the elements of x in an output's window.
template <typename Body>
void window(const PoolingCase& c, const Sizes& o, const Body& body) {
  Sizes begin, count, step;
  for (size_t d = 0; d < 3; ++d) {
    begin[d] = c.adaptive ? o[d] * c.x[d] / c.y[d] : o[d] * c.stride[d] - c.padding[d];
    count[d] = c.adaptive ? ((o[d] + 1) * c.x[d] + c.y[d] - 1) / c.y[d] - begin[d] : c.kernel[d];
    step[d] = c.adaptive ? 1 : c.dilation[d];
  }
  for (int64_t i = 0; i < count[0]; ++i)
    for (int64_t j = 0; j < count[1]; ++j)
      for (int64_t k = 0; k < count[2]; ++k) {
        const int64_t d = begin[0] + i * step[0], h = begin[1] + j * step[1], w = begin[2] + k * step[2];
        if (d >= 0 && d < c.x[0] && h >= 0 && h < c.x[1] && w >= 0 && w < c.x[2]) body((d * c.x[1] + h) * c.x[2] + w);
      }
}

inline double divisor_of(const PoolingCase& c, const Sizes& o) {
  if (c.divisor) return double(c.divisor);
  int64_t inside = 0, reach = 1;
  window(c, o, [&](int64_t) { ++inside; });
  for (size_t d = 0; d < 3; ++d)
    reach *=
        std::min(o[d] * c.stride[d] - c.padding[d] + c.kernel[d], c.x[d] + c.padding[d]) - (o[d] * c.stride[d] - c.padding[d]);
  return double(c.adaptive || !c.count_include_pad ? inside : reach);
}

template <typename Body>
void outputs(const PoolingCase& c, const Body& body) {
  int64_t at = 0;
  for (int64_t d = 0; d < c.y[0]; ++d)
    for (int64_t h = 0; h < c.y[1]; ++h)
      for (int64_t w = 0; w < c.y[2]; ++w) body(Sizes{d, h, w}, at++);
}

inline int64_t volume(const Sizes& sizes) { return sizes[0] * sizes[1] * sizes[2]; }

/// Elements in the order of the dims as the tensor's format stores them, and back.
template <typename T>
Bytes laid(const TensorSpec& tensor, const std::vector<double>& values, bool back = false, const Bytes& from = {}) {
  const auto strides = strides_of(tensor);
  const int64_t channels = tensor.dims[1], plane = element_count(tensor) / (kImages * channels);
  Bytes bytes = back ? Bytes(values.size() * sizeof(double)) : Bytes(tensor.bytes);
  for (int64_t i = 0; i < element_count(tensor); ++i) {
    const int64_t position = i % plane, channel = i / plane % channels, image = i / plane / channels;
    const int64_t at = image * strides[0] + channel * strides[1] + position * strides.back();
    if (back) {
      T value;
      std::memcpy(&value, &from[size_t(at) * sizeof(T)], sizeof(T));
      const double wide = float(value);
      std::memcpy(&bytes[size_t(i) * sizeof(double)], &wide, sizeof wide);
    } else {
      const T value(static_cast<float>(values[size_t(i)]));
      std::memcpy(&bytes[size_t(at) * sizeof(T)], &value, sizeof(T));
    }
  }
  return bytes;
}

template <typename T>
std::vector<double> read(const TensorSpec& tensor, const Bytes& bytes) {
  return values_of<double>(laid<T>(tensor, std::vector<double>(size_t(element_count(tensor))), true, bytes));
}

/// Small whole numbers, so that sums are exact in every type and there are ties.
inline std::vector<double> digits(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> digit(-3, 3);
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(digit(random));
  return values;
}

}  // namespace sheaf::cuda
