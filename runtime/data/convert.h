// Conversions between element types.
#pragma once

#include "runtime/data/file_tensor.h"

namespace sheaf {

bool is_floating(DType dtype);

/// Element `i` as a number, exact except for integers beyond 2^53; the second is for integer tensors.
double number_at(const HostTensor& tensor, size_t i);
int64_t integer_at(const HostTensor& tensor, size_t i);

/// IEEE half and bfloat16, to and from float32; to nearest, ties to even. NaN stays NaN.
float float_from_half(uint16_t bits);
uint16_t half_from_float(float value);
float float_from_bfloat16(uint16_t bits);
uint16_t bfloat16_from_float(float value);

/// The tensor with elements of another type. Between floating-point types values are rounded; between integer
/// types, and from integers to floating point, each must be represented exactly. Errors: a value that isn't;
/// from floating point to integers.
Result<HostTensor> convert(HostTensor tensor, DType to);

}  // namespace sheaf
