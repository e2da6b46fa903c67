// The unit of KernelArithmetic::instructions, for what counts them and for what measures their rate.
#pragma once

namespace sheaf {

/// The vector instructions of an exponential, relative to an addition: roughly those of MLIR's polynomial.
inline constexpr double kExponentialInstructions = 12;

}  // namespace sheaf
