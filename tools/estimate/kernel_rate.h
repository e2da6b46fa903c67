// The rate of generated kernels that aren't bound by memory.
#pragma once

namespace sheaf {

/// Instructions per second of `threads` threads, as the definitions of kernels count them (codegen/kernels/arithmetic.h). Measured on
/// a softmax like the generated one.
double kernel_rate(int threads);

}  // namespace sheaf
