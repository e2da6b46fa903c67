// How much of a difference between two computations of the same operation on the same operands is rounding.
#pragma once

#include "runtime/data/tensor.h"

namespace sheaf {

/// The relative error of rounding to a dtype: 2^-24 for float32, 2^-8 for bfloat16; 0 for integers.
double rounding_error(DType dtype);

/// `tensor` with each element off by a rounding error or two, up or down as `seed` says. Integers stay.
Result<HostTensor> perturbed(const HostTensor& tensor, uint64_t seed);

/// The largest absolute difference between elements; of elements that aren't finite in both, none.
double largest_difference(const HostTensor& a, const HostTensor& b);
double largest_magnitude(const HostTensor& tensor);

/// What an element of `result` may be off by: `terms` numbers went into it, and errors of one rounding in the operands moved
/// the result by `moved`. docs/verify.md derives it.
double tolerance_of(const HostTensor& result, double terms, double moved);

}  // namespace sheaf
