// The arithmetic of activations and of batch normalisation on f32 scalars, as MLIR ops: definitions of
// torch.nn, accurate to a few units in the last place, with NaN propagated and right up to infinite
// arguments.
#pragma once

#include "mlir/IR/Builders.h"

namespace sheaf::ir::scalar {

using mlir::Location;
using mlir::OpBuilder;
using mlir::Value;

Value constant(OpBuilder& b, Location loc, double value);  ///< an f32

Value relu(OpBuilder& b, Location loc, Value x);
Value leaky_relu(OpBuilder& b, Location loc, Value x, double negative_slope);
/// x for x > 0, alpha (e^x - 1) otherwise.
Value elu(OpBuilder& b, Location loc, Value x, double alpha);
Value silu(OpBuilder& b, Location loc, Value x);       ///< x σ(x)
Value gelu(OpBuilder& b, Location loc, Value x);       ///< x/2 (1 + erf(x/√2))
Value gelu_tanh(OpBuilder& b, Location loc, Value x);  ///< x/2 (1 + tanh(√(2/π) (x + 0.044715 x³)))
Value tanh(OpBuilder& b, Location loc, Value x);
Value sigmoid(OpBuilder& b, Location loc, Value x);  ///< 1 / (1 + e^-x)
Value hardtanh(OpBuilder& b, Location loc, Value x, double min, double max);

/// gamma / √(var + eps): the factor of a batch normalisation with fixed statistics. No gamma: null.
Value batch_norm_factor(OpBuilder& b, Location loc, Value gamma, Value var, double eps);
/// (x - mean) · gamma / √(var + eps) + beta. No gamma, beta: null.
Value batch_norm(OpBuilder& b, Location loc, Value x, Value mean, Value var, Value gamma, Value beta,
                 double eps);

/// One element from one dtype's scalar (spec.h) to another's, as torch.Tensor.to: floats to integers towards
/// zero, integers among themselves modulo 2^n, uint8 being unsigned.
Value cast(OpBuilder& b, Location loc, Value x, bool from_unsigned, mlir::Type to, bool to_unsigned);

}  // namespace sheaf::ir::scalar
