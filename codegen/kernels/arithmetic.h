// How much arithmetic a kernel's definition contains, for cost estimates.
#pragma once

#include "codegen/kernels/spec.h"
#include "runtime/plan/plan.h"

#include "mlir/IR/MLIRContext.h"

namespace sheaf::kernels {

/// Floating-point operations of a kernel by its definition, not by the emitted code: a softmax that goes over its input twice
/// counts each exponential once. A fused body counts its arith and math ops on floats (a comparison, a square root and an
/// exponential are one each; conversions, selections and integer arithmetic don't count). Beside it stands how many vector instructions
/// it takes, roughly: there those count too, and an exponential counts for all that its polynomial has.
std::vector<KernelArithmetic> arithmetic_of(mlir::MLIRContext& context, const ElementwiseSpec& spec);
std::vector<KernelArithmetic> arithmetic_of(mlir::MLIRContext& context, const SoftmaxSpec& spec);
std::vector<KernelArithmetic> arithmetic_of(mlir::MLIRContext& context, const NormalizationSpec& spec);
std::vector<KernelArithmetic> arithmetic_of(mlir::MLIRContext& context, const MeanSpec& spec);
std::vector<KernelArithmetic> arithmetic_of(mlir::MLIRContext& context, const LinearSpec& spec);
std::vector<KernelArithmetic> arithmetic_of(mlir::MLIRContext& context, const CopySpec& spec);
std::vector<KernelArithmetic> arithmetic_of(mlir::MLIRContext& context, const EmbeddingBackwardSpec& spec);
std::vector<KernelArithmetic> arithmetic_of(mlir::MLIRContext& context, const LookupSpec& spec);
std::vector<KernelArithmetic> arithmetic_of(mlir::MLIRContext& context, const CumSumSpec& spec);
std::vector<KernelArithmetic> arithmetic_of(mlir::MLIRContext& context, const ArgExtremumSpec& spec);
std::vector<KernelArithmetic> arithmetic_of(mlir::MLIRContext& context, const CtcSpec& spec);
std::vector<KernelArithmetic> arithmetic_of(mlir::MLIRContext& context, const ScanSpec& spec);
std::vector<KernelArithmetic> arithmetic_of(mlir::MLIRContext& context, const ScanBackwardSpec& spec);
std::vector<KernelArithmetic> arithmetic_of(mlir::MLIRContext& context, const ArgScanSpec& spec);
std::vector<KernelArithmetic> arithmetic_of(mlir::MLIRContext& context, const ArgSortSpec& spec);
std::vector<KernelArithmetic> arithmetic_of(mlir::MLIRContext& context, const ScatterSpec& spec);
std::vector<KernelArithmetic> arithmetic_of(mlir::MLIRContext& context, const ResampleSpec& spec);

/// All other kernels move data.
template <typename Spec>
std::vector<KernelArithmetic> arithmetic_of(mlir::MLIRContext&, const Spec&) {
  return {};
}

}  // namespace sheaf::kernels
