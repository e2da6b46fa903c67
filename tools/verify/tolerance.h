// How much of a difference between two computations of the same operation on the same operands is rounding.
#pragma once

#include "sheaf/tensor.h"

namespace sheaf {

/// The relative error of rounding to a dtype: 2^-24 for float32, 2^-8 for bfloat16; 0 for integers.
double rounding_error(DType dtype);

/// Operands that reveal an operation's roundings: how many numbers are added, and how large they are. Integers stay as they
/// are.
HostTensor magnitudes_of(const HostTensor& tensor);
HostTensor ones_like(const HostTensor& tensor);
/// Each element, moved towards zero by `relative` of itself or three times that, as `seed` decides. Nothing grows, so an
/// operand stays in the domain of its reader (log(1 - y) of a sigmoid's y, say).
HostTensor perturbed(const HostTensor& tensor, double relative, uint64_t seed);

/// The largest absolute difference between elements; elements that aren't finite in both don't count.
double largest_difference(const HostTensor& a, const HostTensor& b);
double largest_magnitude(const HostTensor& tensor);

/// How far elements of a sum of products may be off. `sums`: the same sums of the products' magnitudes; `terms`: how many there
/// are; `products`: the relative error of a product before it is added (0: none, all its bits are kept). docs/verify.md derives
/// it.
double tolerance_of_sums(const HostTensor& result, const HostTensor& sums, const HostTensor& terms, double products);

/// The same for any other operation. Operands off by four roundings moved the result by at most `moved`; `terms` numbers
/// go into an element, and `longest` into the longest sum on the way.
double tolerance_of(const HostTensor& result, double moved, double terms, double longest, DType operands);

/// How far, relative to its terms, a mean of `terms` similar numbers may be off: their sums are all rounded the same way.
double error_of_mean(double terms);

}  // namespace sheaf
