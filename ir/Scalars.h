// The arithmetic of activations, batch normalisation, losses and optimisers on f32 scalars, as MLIR ops: definitions of
// torch.nn and torch.optim, accurate to a few units in the last place, with NaN propagated, and correct up to infinite
// arguments (unless PyTorch's own formula gives NaN there: silu).
#pragma once

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"

#include <cstdint>

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

/// gamma / √(var + eps): the factor of a batch normalisation with fixed statistics. gamma may be null.
Value batch_norm_factor(OpBuilder& b, Location loc, Value gamma, Value var, double eps);
/// (x - mean) · gamma / √(var + eps) + beta. gamma and beta may be null.
Value batch_norm(OpBuilder& b, Location loc, Value x, Value mean, Value var, Value gamma, Value beta, double eps);

/// Converts one element from one dtype's scalar (spec.h) to another's, as torch.Tensor.to: floats to integers towards zero;
/// integers among themselves modulo 2^n, with uint8 and bool unsigned; to a bool, whether it isn't 0.
Value cast(OpBuilder& b, Location loc, Value x, bool from_unsigned, mlir::Type to, bool to_unsigned);

// Random numbers.

/// Word 0 of Philox4x32-10 (runtime/base/philox.h) for the counter {position low, position high, step low, stream}
/// under the key `seed`, as an i32. seed, position and step: i64.
Value philox_word(OpBuilder& b, Location loc, Value seed, Value position, Value step, uint32_t stream);
/// philox_word's upper 24 bits · 2^-24: an f32 in [0, 1), exact.
Value philox_uniform(OpBuilder& b, Location loc, Value seed, Value position, Value step, uint32_t stream);

// Gradients of activations: dy · f'(x), from the result y or the argument x as the names say. At kinks as PyTorch: relu'(0) =
// 0, leaky_relu'(0) = negative_slope, hardtanh' = 0 at its limits.

Value relu_gradient(OpBuilder& b, Location loc, Value dy, Value y);
/// y may also be x if negative_slope >= 0.
Value leaky_relu_gradient(OpBuilder& b, Location loc, Value dy, Value y, double negative_slope);
Value elu_gradient(OpBuilder& b, Location loc, Value dy, Value x, double alpha);
Value silu_gradient(OpBuilder& b, Location loc, Value dy, Value x);
Value gelu_gradient(OpBuilder& b, Location loc, Value dy, Value x);
Value gelu_tanh_gradient(OpBuilder& b, Location loc, Value dy, Value x);
Value tanh_gradient(OpBuilder& b, Location loc, Value dy, Value y);
Value sigmoid_gradient(OpBuilder& b, Location loc, Value dy, Value y);
/// y or x.
Value hardtanh_gradient(OpBuilder& b, Location loc, Value dy, Value y, double min, double max);

/// Whether activation_gradient takes the activation's result (relu, leaky_relu, tanh, sigmoid, hardtanh); otherwise it takes
/// its argument (elu, silu, gelu, gelu_tanh).
bool gradient_takes_result(llvm::StringRef kind);
/// dy · f'(x) for an activation attribute of nn ops (docs/steps.md: {kind = "leaky_relu", negative_slope = 0.01}).
/// gradient_takes_result determines `value`.
Value activation_gradient(OpBuilder& b, Location loc, mlir::DictionaryAttr activation, Value dy, Value value);

// Optimisers: torch.optim's single-tensor formulas. Each function computes one new value from the old ones (g: gradient, p:
// parameter). lr and bias corrections are f32 scalars; step is the i64 number, from 1 on.

/// The factor that torch.nn.utils.clip_grad_norm_ multiplies each gradient by: min(1, max_norm / (√s + 1e-6)), with s the sum
/// of the squares of all of them.
Value clip_factor(OpBuilder& b, Location loc, Value sum_of_squares, double max_norm);

/// g + weight_decay · p: the L2 penalty of SGD, Adam and RMSprop.
Value penalised_gradient(OpBuilder& b, Location loc, Value g, Value p, double weight_decay);
/// SGD's new momentum_buffer: g in step 1, then momentum · buffer + (1 - dampening) · g. `step` may be null if dampening is 0:
/// a buffer of zeros then gives the same.
Value sgd_momentum(OpBuilder& b, Location loc, Value buffer, Value g, Value step, double momentum, double dampening);
/// With nesterov, SGD's direction instead of the (new) buffer: g + momentum · buffer.
Value sgd_nesterov(OpBuilder& b, Location loc, Value g, Value buffer, double momentum);
/// p - lr · direction. SGD: along g, the new buffer, or sgd_nesterov. RMSprop: rmsprop_direction or its buffer.
Value descend(OpBuilder& b, Location loc, Value p, Value direction, Value lr);

/// Adam's exp_avg: average + (1 - beta) (g - average), as torch.lerp. Also RMSprop's grad_avg (beta = alpha).
Value running_average(OpBuilder& b, Location loc, Value average, Value g, double beta);
/// Adam's exp_avg_sq, RMSprop's square_avg: beta · average + (1 - beta) g².
Value running_square(OpBuilder& b, Location loc, Value average, Value g, double beta);
/// amsgrad's max_exp_avg_sq: the larger of the two.
Value running_maximum(OpBuilder& b, Location loc, Value maximum, Value square);
/// AdamW's decay, before its update: p · (1 - lr · weight_decay).
Value decoupled_decay(OpBuilder& b, Location loc, Value p, Value lr, double weight_decay);
/// 1 - beta^step: 0 <= beta < 1, step an i64 of at least 0; computed in f64, then rounded to f32.
Value bias_correction(OpBuilder& b, Location loc, Value step, double beta);
/// p - (lr / correction1) · m / (√v / √correction2 + eps), m the new exp_avg, v the new exp_avg_sq (amsgrad:
/// max_exp_avg_sq).
Value adam_update(OpBuilder& b, Location loc, Value p, Value m, Value v, Value lr, Value correction1, Value correction2,
                  double eps);

/// g / (√v + eps), centered: g / (√(v - a²) + eps); v the new square_avg, a the new grad_avg (null: not centered).
Value rmsprop_direction(OpBuilder& b, Location loc, Value g, Value v, Value a, double eps);
/// RMSprop's new momentum_buffer: momentum · buffer + direction.
Value rmsprop_momentum(OpBuilder& b, Location loc, Value buffer, Value direction, double momentum);

// Loss scaling: torch.amp.GradScaler's. `nonfinite` is the number of the gradients' elements that aren't finite, `tracker` the
// number of steps without an overflow since the scale changed; both are f32, like the scale.

/// `then`, to the bit, if any element isn't finite; else `otherwise`.
Value after_overflow(OpBuilder& b, Location loc, Value nonfinite, Value then, Value otherwise);
/// The next step's scale, and tracker.
Value next_loss_scale(OpBuilder& b, Location loc, Value scale, Value tracker, Value nonfinite, double growth, double backoff,
                      int64_t interval);
Value next_growth_tracker(OpBuilder& b, Location loc, Value tracker, Value nonfinite, int64_t interval);

}  // namespace sheaf::ir::scalar
