// Tensors in host memory: views of the caller's, and sheaf's own.
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

/// A caller's dense, row-major tensor, read in place. `data` holds the product of `shape` times size_of(dtype) bytes,
/// aligned to the element's size, for as long as the call it is given to; it may be null if the tensor has no elements.
struct TensorView {
  std::string name;
  DType dtype = DType::float32;
  std::vector<int64_t> shape;
  const void* data = nullptr;
};

/// The same for a tensor to be written.
struct MutableTensorView {
  std::string name;
  DType dtype = DType::float32;
  std::vector<int64_t> shape;
  void* data = nullptr;
};

/// Allocates 64-byte aligned storage, which vector instructions and oneDNN prefer.
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

  /// The elements as T, which must have the dtype's size.
  template <typename T>
  std::span<T> as() {
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  template <typename T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
};

struct NamedTensor {
  std::string name;
  HostTensor tensor;
};

/// Views of tensors, valid as long as the tensors are.
TensorView view_of(const NamedTensor& tensor);
std::vector<TensorView> views_of(std::span<const NamedTensor> tensors);

/// "[30, 5]"; a dimension of -1 is shown as "batch".
std::string shape_text(std::span<const int64_t> shape);

/// A tensor of zeros. Errors: a dimension below 0, 2^60 bytes or more, more bytes than the machine has memory.
Result<HostTensor> make_tensor(DType dtype, std::vector<int64_t> shape);

}  // namespace sheaf
