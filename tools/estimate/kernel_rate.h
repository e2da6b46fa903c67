// The rate of generated kernels that aren't bound by memory.
#pragma once

namespace sheaf {

/// Operations per second of `threads` threads, as the definitions of kernels count them (codegen/kernels/arithmetic.h: an
/// exponential is one). Measured on a softmax like the generated one.
double kernel_rate(int threads);

}  // namespace sheaf
