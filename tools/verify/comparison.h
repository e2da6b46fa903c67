// Two tensors, element by element.
#pragma once

#include "sheaf/tensor.h"

namespace sheaf {

/// Differences between tensors of one dtype and shape, or of several such pairs.
struct Difference {
  int64_t elements = 0;
  int64_t differing = 0;        ///< elements whose bits differ
  double largest_absolute = 0;  ///< infinite if only one of the two is not a number, or infinite
  double largest_relative = 0;  ///< of largest_absolute to the largest magnitude of the expected tensor
  double largest_ulps = 0;      ///< representable numbers from one to the other
  int64_t first_beyond = -1;    ///< element: the first that is off by more than allowed

  bool bitwise() const { return differing == 0; }
  void merge(const Difference& other);
};

/// Compares bits first. Elements that are NaN in both are equal.
Difference compare(const HostTensor& expected, const HostTensor& found, double tolerance);

/// The position of an element in a tensor of this shape, each dimension counted from 0.
std::vector<int64_t> position_of(int64_t element, const std::vector<int64_t>& shape);

}  // namespace sheaf
