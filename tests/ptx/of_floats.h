// The meaning of opcodes for floats whose names are integers' too, or that have an exact and an approximate form.
#pragma once

#include "tests/ptx/decoding.h"

namespace sheaf::ptx {

// opcodes_float.cpp
void decode_float_add(Decoding& d);
void decode_float_sub(Decoding& d);
void decode_float_mul(Decoding& d);
void decode_float_fma(Decoding& d);
void decode_float_div(Decoding& d);
void decode_float_abs(Decoding& d);
void decode_float_neg(Decoding& d);
void decode_float_min(Decoding& d);
void decode_float_max(Decoding& d);

// opcodes_approximate.cpp
void decode_approximate_div(Decoding& d);
void decode_approximate_sqrt(Decoding& d);
void decode_approximate_rcp(Decoding& d);

// opcodes_narrow.cpp: f16, bf16 and pairs of them.
enum class Narrow { add, sub, mul, fma, min, max, abs, neg };
void decode_narrow(Decoding& d, Type type, Narrow operation);

}  // namespace sheaf::ptx
