#include "tools/verify/slices.h"

#include "runtime/base/index.h"

#include <cstring>

namespace sheaf {
namespace {

/// Elements before a dimension, and the bytes after it.
struct Strides {
  size_t outer = 1, inner_bytes = 1;
};

Strides strides(const HostTensor& tensor, int dim) {
  Strides result{1, size_of(tensor.dtype)};
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    if (i < index_of(dim)) result.outer *= index_of(tensor.shape[i]);
    if (i > index_of(dim)) result.inner_bytes *= index_of(tensor.shape[i]);
  }
  return result;
}

/// Copies rows between a part and its position in the whole.
void copy_rows(std::byte* to, size_t to_pitch, const std::byte* from, size_t from_pitch, size_t bytes, size_t rows) {
  for (size_t row = 0; row < rows && bytes > 0; ++row) std::memcpy(to + row * to_pitch, from + row * from_pitch, bytes);
}

template <typename T>
T& at(HostTensor& tensor, int64_t index) {
  return tensor.as<T>()[index_of(index)];
}

}  // namespace

int64_t element_count(const HostTensor& tensor) { return static_cast<int64_t>(tensor.bytes.size() / size_of(tensor.dtype)); }

Result<HostTensor> slice(const HostTensor& whole, int dim, int64_t begin, int64_t end) {
  std::vector<int64_t> shape = whole.shape;
  shape[index_of(dim)] = end - begin;
  auto part = make_tensor(whole.dtype, std::move(shape));
  if (!part) return part;
  const auto [outer, inner] = strides(whole, dim);
  const size_t bytes = index_of(end - begin) * inner, pitch = index_of(whole.shape[index_of(dim)]) * inner;
  copy_rows(part->bytes.data(), bytes, whole.bytes.data() + index_of(begin) * inner, pitch, bytes, outer);
  return part;
}

Result<HostTensor> concatenate(const std::vector<HostTensor>& parts, int dim) {
  std::vector<int64_t> shape = parts.front().shape;
  shape[index_of(dim)] = 0;
  for (const HostTensor& part : parts) shape[index_of(dim)] += part.shape[index_of(dim)];
  auto whole = make_tensor(parts.front().dtype, shape);
  if (!whole) return whole;
  const auto [outer, inner] = strides(*whole, dim);
  const size_t pitch = index_of(shape[index_of(dim)]) * inner;
  size_t begin = 0;
  for (const HostTensor& part : parts) {
    const size_t bytes = index_of(part.shape[index_of(dim)]) * inner;
    copy_rows(whole->bytes.data() + begin, pitch, part.bytes.data(), bytes, bytes, outer);
    begin += bytes;
  }
  return whole;
}

Result<HostTensor> stack(const std::vector<HostTensor>& parts) {
  auto vector = make_tensor(parts.front().dtype, {static_cast<int64_t>(parts.size())});
  if (!vector) return vector;
  const size_t size = size_of(parts.front().dtype);
  for (size_t i = 0; i < parts.size(); ++i) std::memcpy(vector->bytes.data() + i * size, parts[i].bytes.data(), size);
  return vector;
}

HostTensor flattened(HostTensor tensor) {
  tensor.shape = {element_count(tensor)};
  return tensor;
}

Result<HostTensor> element(const HostTensor& vector, int64_t index) {
  auto scalar = make_tensor(vector.dtype, {});
  if (!scalar) return scalar;
  const size_t size = size_of(vector.dtype);
  std::memcpy(scalar->bytes.data(), vector.bytes.data() + index_of(index) * size, size);
  return scalar;
}

Result<HostTensor> sum(const std::vector<HostTensor>& parts) {
  auto total = make_tensor(parts.front().dtype, parts.front().shape);
  if (!total) return total;
  for (int64_t i = 0; i < element_count(*total); ++i) {
    double number = 0;
    for (const HostTensor& part : parts) number += number_at(part, index_of(i));
    set_number(*total, i, number);
  }
  return total;
}

void set_number(HostTensor& tensor, int64_t index, double number) {
  switch (tensor.dtype) {
    case DType::float32: at<float>(tensor, index) = static_cast<float>(number); return;
    case DType::int64: at<int64_t>(tensor, index) = static_cast<int64_t>(number); return;
    case DType::int32: at<int32_t>(tensor, index) = static_cast<int32_t>(number); return;
    case DType::uint8: at<uint8_t>(tensor, index) = static_cast<uint8_t>(number); return;
    case DType::boolean: at<uint8_t>(tensor, index) = number != 0; return;
    case DType::float16: at<uint16_t>(tensor, index) = half_from_float(static_cast<float>(number)); return;
    case DType::bfloat16: at<uint16_t>(tensor, index) = bfloat16_from_float(static_cast<float>(number)); return;
  }
}

}  // namespace sheaf
