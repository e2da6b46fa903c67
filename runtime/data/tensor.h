// Tensors in host memory: what files are read into and written from.
#pragma once

#include "runtime/base/dtype.h"
#include "runtime/base/error.h"

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <string>
#include <vector>

namespace sheaf {

/// Gives 64-byte aligned storage, what vector instructions and oneDNN like best.
template <typename T>
struct AlignedAllocator {
  using value_type = T;
  static constexpr std::align_val_t kAlignment{64};

  AlignedAllocator() = default;
  template <typename U>
  AlignedAllocator(const AlignedAllocator<U>&) {}
  T* allocate(size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), kAlignment)); }
  void deallocate(T* at, size_t) { ::operator delete(at, kAlignment); }
  bool operator==(const AlignedAllocator&) const { return true; }
};

/// A dense tensor, row-major. `bytes` has exactly the product of `shape` times the element's size.
struct HostTensor {
  DType dtype = DType::float32;
  std::vector<int64_t> shape;
  std::vector<std::byte, AlignedAllocator<std::byte>> bytes;

  /// The elements as T, which must be of the dtype's size.
  template <typename T>
  std::span<T> as() {
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  template <typename T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
};

/// "[30, 5]"; a dimension of -1 reads "batch".
std::string shape_text(std::span<const int64_t> shape);

/// The number of elements of `shape`, or an error where a dimension is negative or they would take 2^60
/// bytes.
Result<uint64_t> count_elements(std::span<const int64_t> shape, size_t element_bytes);

/// A tensor of zeros. Errors: sizes as of count_elements; more bytes than the machine has memory.
Result<HostTensor> make_tensor(DType dtype, std::vector<int64_t> shape);

}  // namespace sheaf
