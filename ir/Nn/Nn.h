// C++ declarations of the nn dialect.
#pragma once

#include "ir/Nn/GradientBuilder.h"
#include "ir/Nn/VerifyShapes.h"
#include "ir/Shapes.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace sheaf::nn {
// sheaf has its own Location and Value (runtime/); here the names are MLIR's.
using mlir::Location;
using mlir::Value;
}  // namespace sheaf::nn

#include "ir/Nn/NnDialect.h.inc"
#include "ir/Nn/NnInterfaces.h.inc"

#define GET_OP_CLASSES
#include "ir/Nn/NnOps.h.inc"

namespace sheaf::nn {

/// Names of discardable attributes and argument attributes (see NnDialect.td).
inline constexpr llvm::StringLiteral
    kRole = "nn.role",
    kName = "nn.name", kOutputs = "nn.outputs", kType = "nn.type", kDevice = "nn.device", kReason = "nn.reason",
    kNotes = "nn.notes",
    // On a training program: the names of the parameters whose gradients follow the outputs as results, and of the parameters,
    // buffers and states whose new values follow those.
    kGradients = "nn.gradients", kUpdates = "nn.updates",
    // On a program with a backward pass from given gradients: names of the inputs and parameters where it ends. On an argument:
    // a tensor that no weights file has; an argument's sizes, if they aren't `batch` or fixed.
    kDifferentiate = "nn.differentiate", kConstant = "nn.constant", kExtents = "nn.extents",
    // On a program that accumulates: its second output, the divisor of the sums.
    kDivisor = "divisor",
    // The optimiser's type and arguments; the norm that gradients are clipped to.
    kOptimizer = "nn.optimizer", kClipNorm = "nn.clip_grad_norm",
    // torch.amp.GradScaler's arguments, or {scale = s} for a constant scale; of a state: its initial value, 0 if absent.
    kLossScale = "nn.loss_scale", kInitial = "nn.initial",
    // On a batch norm that will be trained: the share of new running statistics.
    kMomentum = "nn.momentum",
    // On a batch norm: a SyncBatchNorm, whose statistics in a parallel region are those of all replicas' chunks together.
    kSynchronized = "nn.synchronized",
    // On a convolution: what its padding contains, "reflect", "replicate" or "circular"; zeros if absent.
    kPaddingMode = "nn.padding_mode",
    // On a softmax over masked scores: a row that is all -∞ becomes zeros, not NaN.
    kMasked = "nn.masked";
/// Value of nn.device for the host; k ≥ 0 is the k-th entry of the device list.
inline constexpr int64_t kHost = -1;

/// The layer name in an op's location ("" if it has none).
llvm::StringRef layer_of(mlir::Location loc);
inline llvm::StringRef layer_of(mlir::Operation* op) { return layer_of(op->getLoc()); }

/// The `activation` attribute (docs/steps.md) that describes an activation op; null for other ops.
mlir::DictionaryAttr activation_of(mlir::Operation* op);

/// The scalar definition of an `activation` attribute (docs/steps.md): the activation op's own.
Value buildActivation(mlir::OpBuilder& builder, Location loc, mlir::DictionaryAttr activation, Value x);

/// Whether an op computes each row of its first operand separately (softmax, layer norm, group norm): its kernel absorbs
/// element-wise ops before and after it.
bool is_row_op(mlir::Operation* op);

/// The floating-point type of a dtype's name ("bfloat16"); null for other names.
mlir::FloatType float_type(mlir::MLIRContext* context, llvm::StringRef dtype);

/// The element type of a dtype's name ("int64"); null for other names.
mlir::Type element_type(mlir::MLIRContext* context, llvm::StringRef dtype);

/// The dtype's name of an element type, as in a model file.
llvm::StringRef dtype_name(mlir::Type element);

/// The element type of an op whose operands have floating-point types a and b: theirs if they agree, else f32
/// (torch.promote_types). nn-set-precision casts the operands to it.
mlir::Type promoted(mlir::Type a, mlir::Type b);

/// The type in which values of `element` are summed, and their statistics kept: f32 for bf16 and f16.
mlir::Type sum_type(mlir::Type element);

/// x with elements of the floating-point type `element`: x itself if it has them, else an nn.cast.
Value cast_to(mlir::OpBuilder& builder, Location loc, Value x, mlir::Type element);

/// The file position in an op's location, for diagnostics.
mlir::FileLineColLoc position_of(mlir::Location loc);

}  // namespace sheaf::nn
