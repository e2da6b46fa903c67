#include "python/extension/arrays.h"

#include "python/extension/errors.h"

#include <nanobind/stl/string.h>

#include <cstring>
#include <optional>

namespace nb = nanobind;

namespace sheaf::python {
namespace {

/// DLPack's element types, and sheaf's.
constexpr struct {
  nb::dlpack::dtype_code code;
  uint8_t bits;
  DType dtype;
} kTypes[] = {
    {nb::dlpack::dtype_code::Float, 32, DType::float32}, {nb::dlpack::dtype_code::Int, 64, DType::int64},
    {nb::dlpack::dtype_code::Int, 32, DType::int32},     {nb::dlpack::dtype_code::UInt, 8, DType::uint8},
    {nb::dlpack::dtype_code::Float, 16, DType::float16}, {nb::dlpack::dtype_code::Bfloat, 16, DType::bfloat16},
    {nb::dlpack::dtype_code::Bool, 8, DType::boolean},
};

std::optional<DType> dtype_of(nb::dlpack::dtype type) {
  for (const auto& known : kTypes) {
    if (static_cast<uint8_t>(known.code) == type.code && known.bits == type.bits && type.lanes == 1) return known.dtype;
  }
  return {};
}

nb::dlpack::dtype dlpack_of(DType dtype) {
  for (const auto& known : kTypes) {
    if (known.dtype == dtype) return {static_cast<uint8_t>(known.code), known.bits, 1};
  }
  return {};
}

std::string text_of(nb::handle object) { return nb::cast<std::string>(nb::str(object)); }

/// Why `object` can't be read as an array.
[[noreturn]] void refuse(nb::handle object, const std::string& what) {
  const std::string type = text_of(object.type().attr("__name__"));
  if (nb::hasattr(object, "__dlpack__") || nb::hasattr(object, "__array_interface__")) {
    raise(Error(what + ", a " + type + " of " + text_of(nb::getattr(object, "dtype", nb::str("an unknown type"))) +
                ", can't be had by DLPack: expected numbers in strided memory"));
  }
  raise(Error(what + " is a " + type +
              ": expected an array of NumPy's, a tensor of torch's, or anything else with DLPack or the buffer protocol"));
}

template <typename Array>
void check_place(const Array& array, const std::string& what) {
  if (array.device_type() != nb::device::cpu::value)
    raise(Error(what + " is in a GPU's memory; sheaf takes host memory and moves it itself: give it as .cpu()"));
}

template <typename Array>
DType checked_dtype(const Array& array, nb::handle object, const std::string& what) {
  if (const auto dtype = dtype_of(array.dtype())) return *dtype;
  raise(Error(what + " has elements of " + text_of(nb::getattr(object, "dtype", nb::str("another type"))) +
              "; expected float32, int64, int32, uint8, float16 or bfloat16"));
}

template <typename Array>
std::vector<int64_t> shape_of(const Array& array) {
  std::vector<int64_t> shape(array.ndim());
  for (size_t i = 0; i < shape.size(); ++i) shape[i] = static_cast<int64_t>(array.shape(i));
  return shape;
}

template <typename Array>
bool dense(const Array& array) {
  if (array.size() == 0) return true;
  int64_t step = 1;
  for (size_t i = array.ndim(); i-- > 0;) {
    if (array.shape(i) != 1 && array.stride(i) != step) return false;
    step *= static_cast<int64_t>(array.shape(i));
  }
  return true;
}

/// Copies the elements from dimension `dim` on, in order, to `to`.
void copy_dense(const nb::ndarray<nb::ro>& array, size_t dim, const std::byte* from, size_t size, std::byte*& to) {
  if (dim == array.ndim()) {
    std::memcpy(to, from, size);
    to += size;
    return;
  }
  const int64_t step = array.stride(dim) * static_cast<int64_t>(size);
  for (size_t i = 0; i < array.shape(dim); ++i) copy_dense(array, dim + 1, from + static_cast<int64_t>(i) * step, size, to);
}

nb::object owned(Library library, DType dtype, const std::vector<int64_t>& shape, void* data, nb::handle owner) {
  const std::vector<size_t> sizes(shape.begin(), shape.end());
  const auto type = dlpack_of(dtype);
  if (library == Library::torch)
    return nb::cast(nb::ndarray<nb::pytorch>(data, sizes.size(), sizes.data(), owner, nullptr, type));
  if (dtype == DType::bfloat16) raise(Error("NumPy has no bfloat16: give tensors of torch's, and results are such, too"));
  return nb::cast(nb::ndarray<nb::numpy>(data, sizes.size(), sizes.data(), owner, nullptr, type));
}

/// DLPack's tensor with an owner, and the table of C functions to make one: DLManagedTensorVersioned and DLPackExchangeAPI of
/// dlpack.h, with its names.
struct ManagedTensor {
  uint32_t major, minor;
  void* manager_ctx;
  void (*deleter)(ManagedTensor*);
  uint64_t flags;
  nb::dlpack::dltensor dl_tensor;
};
struct ExchangeApi {
  uint32_t major, minor;
  const ExchangeApi* prev_api;
  void* managed_tensor_allocator;
  int (*managed_tensor_from_py_object_no_sync)(void* object, ManagedTensor** made);
};
constexpr const char* kVersioned = "dltensor_versioned";

/// The source of an imported array: a capsule from the table of its type, in a third of the time of __dlpack__(); otherwise
/// `object`.
nb::object exported(nb::handle object) {
  const nb::handle type = object.type();
  if (PyObject_CheckBuffer(object.ptr()) || !nb::hasattr(type, "__dlpack_c_exchange_api__")) return nb::borrow(object);
  const auto* api = static_cast<const ExchangeApi*>(
      PyCapsule_GetPointer(nb::object(type.attr("__dlpack_c_exchange_api__")).ptr(), "dlpack_exchange_api"));
  while (api && api->major > 1) api = api->prev_api;
  ManagedTensor* made = nullptr;
  if (!api || api->managed_tensor_from_py_object_no_sync(object.ptr(), &made) != 0) {
    PyErr_Clear();
    return nb::borrow(object);
  }
  return nb::steal(PyCapsule_New(made, kVersioned, [](PyObject* capsule) {
    if (!PyCapsule_IsValid(capsule, kVersioned)) return;  // taken
    auto* tensor = static_cast<ManagedTensor*>(PyCapsule_GetPointer(capsule, kVersioned));
    if (tensor->deleter) tensor->deleter(tensor);
  }));
}

bool is_torch(nb::handle object) {
  PyObject* module = PyDict_GetItemString(PyImport_GetModuleDict(), "torch");
  return module && nb::hasattr(module, "Tensor") && nb::isinstance(object, nb::handle(module).attr("Tensor"));
}

}  // namespace

GivenArray::GivenArray(nb::handle object, const std::string& what, std::string name) {
  if (!nb::try_cast(exported(object), array_, false) || !array_.is_valid()) {
    PyErr_Clear();
    refuse(object, what);
  }
  check_place(array_, what);
  view_ = {std::move(name), checked_dtype(array_, object, what), shape_of(array_), array_.data()};
  if (dense(array_)) return;
  dense_.resize(array_.size() * size_of(view_.dtype));
  std::byte* to = dense_.data();
  copy_dense(array_, 0, static_cast<const std::byte*>(array_.data()), size_of(view_.dtype), to);
  view_.data = dense_.data();
}

WrittenArray::WrittenArray(nb::handle object, const std::string& what, std::string name) {
  if (!nb::try_cast(exported(object), array_, false) || !array_.is_valid()) {
    PyErr_Clear();
    nb::ndarray<nb::ro> readable;
    if (nb::try_cast(object, readable, false) && readable.is_valid()) raise(Error(what + " is read-only"));
    PyErr_Clear();
    refuse(object, what);
  }
  check_place(array_, what);
  if (!dense(array_)) raise(Error(what + " isn't dense and row-major, and so can't be written in place"));
  view_ = {std::move(name), checked_dtype(array_, object, what), shape_of(array_), array_.data()};
}

std::vector<GivenArray> given_arrays(const char* what, nb::dict named) {
  std::vector<GivenArray> arrays;
  arrays.reserve(named.size());
  for (const auto [key, value] : named) {
    std::string name = text_of(key);
    const std::string place = std::string(what) + " '" + name + "'";
    arrays.emplace_back(value, place, std::move(name));
  }
  return arrays;
}

std::vector<GivenArray> given_arrays(const char* what, nb::args positional, nb::kwargs named) {
  if (positional.size() == 0) return given_arrays(what, nb::dict(named));
  if (positional.size() == 1 && nb::isinstance<nb::dict>(positional[0]) && named.size() == 0)
    return given_arrays(what, nb::borrow<nb::dict>(positional[0]));
  std::vector<GivenArray> arrays = given_arrays(what, nb::dict(named));
  arrays.reserve(positional.size() + named.size());
  for (size_t i = 0; i < positional.size(); ++i) {
    arrays.emplace_back(positional[i], std::string(what) + " number " + std::to_string(i), std::string());
  }
  return arrays;
}

std::vector<TensorView> views_of(const std::vector<GivenArray>& arrays) {
  std::vector<TensorView> views;
  views.reserve(arrays.size());
  for (const GivenArray& array : arrays) views.push_back(array.view());
  return views;
}

Library library_of(nb::args positional, nb::kwargs named) {
  const auto any = [](nb::dict values) {
    for (const auto [key, value] : values)
      if (is_torch(value)) return true;
    return false;
  };
  for (const nb::handle value : positional) {
    if (nb::isinstance<nb::dict>(value) ? any(nb::borrow<nb::dict>(value)) : is_torch(value)) return Library::torch;
  }
  return any(nb::dict(named)) ? Library::torch : Library::numpy;
}

NewArray::NewArray(Library library, DType dtype, std::vector<int64_t> shape) {
  size_t bytes = size_of(dtype);
  for (const int64_t size : shape) bytes *= static_cast<size_t>(size);
  AlignedAllocator<std::byte> allocator;
  std::byte* data = allocator.allocate(bytes == 0 ? 1 : bytes);
  const nb::capsule owner(data,
                          [](void* at) noexcept { AlignedAllocator<std::byte>().deallocate(static_cast<std::byte*>(at), 0); });
  array = owned(library, dtype, shape, data, owner);
  view = {std::string(), dtype, std::move(shape), data};
}

nb::dict arrays_of(Library library, std::vector<NamedTensor> tensors) {
  nb::dict made;
  for (NamedTensor& one : tensors) {
    auto* kept = new HostTensor(std::move(one.tensor));
    const nb::capsule owner(kept, [](void* at) noexcept { delete static_cast<HostTensor*>(at); });
    made[nb::str(one.name.c_str(), one.name.size())] = owned(library, kept->dtype, kept->shape, kept->bytes.data(), owner);
  }
  return made;
}

}  // namespace sheaf::python
