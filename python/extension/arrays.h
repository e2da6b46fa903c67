// Python arrays as tensors, and tensors as Python arrays, without copies if the layout allows it.
#pragma once

#include "sheaf/model.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <string>
#include <vector>

namespace sheaf::python {

/// A caller's array, kept alive: NumPy's, torch's, or any other with DLPack or the buffer protocol, in host memory.
class GivenArray {
 public:
  /// Reads `object`; `what` names it in messages ("input 'x'"). An array that isn't dense and row-major is copied. `name`
  /// becomes the view's. Raises sheaf.Error: `object` isn't an array, is on a GPU, or has elements of a type that sheaf lacks.
  GivenArray(nanobind::handle object, const std::string& what, std::string name);
  const TensorView& view() const { return view_; }

 private:
  nanobind::ndarray<nanobind::ro> array_;
  std::vector<std::byte, AlignedAllocator<std::byte>> dense_;  ///< the elements in order, if the array's aren't
  TensorView view_;
};

/// A call's arguments: arrays by position, or by name as keywords or as one dict. `what` describes them: "input".
std::vector<GivenArray> given_arrays(const char* what, nanobind::args positional, nanobind::kwargs named);
/// The same from a dict.
std::vector<GivenArray> given_arrays(const char* what, nanobind::dict named);
std::vector<TensorView> views_of(const std::vector<GivenArray>& arrays);

/// The library of result arrays: the caller's.
enum class Library { numpy, torch };
Library library_of(nanobind::args positional, nanobind::kwargs named);

/// A caller's array to write to. Raises sheaf.Error: GivenArray's errors; it is read-only, or not dense and row-major.
class WrittenArray {
 public:
  WrittenArray(nanobind::handle object, const std::string& what, std::string name);
  const MutableTensorView& view() const { return view_; }

 private:
  nanobind::ndarray<> array_;
  MutableTensorView view_;
};

/// A new array, not yet filled, and the address of its elements.
struct NewArray {
  NewArray(Library library, DType dtype, std::vector<int64_t> shape);
  nanobind::object array;
  MutableTensorView view;
};

/// {name: array} of tensors, which the arrays own.
nanobind::dict arrays_of(Library library, std::vector<NamedTensor> tensors);

}  // namespace sheaf::python
