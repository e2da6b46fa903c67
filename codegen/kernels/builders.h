// One function per kind of kernel: it emits the body and returns the range it works on. The caller (KernelModule) names and
// registers the function.
#pragma once

#include "codegen/kernels/emitter.h"

namespace sheaf::kernels {

using mlir::Location;  // not those of namespace sheaf
using mlir::Value;

/// Fill work, grain, elementwise and in_place. Errors: shapes that do not fit each other, or whose products
/// are not linear in the symbols.
Result<KernelUse> build(Emitter& emitter, const ElementwiseSpec& spec);
Result<KernelUse> build(Emitter& emitter, const SoftmaxSpec& spec);
Result<KernelUse> build(Emitter& emitter, const NormalizationSpec& spec);
Result<KernelUse> build(Emitter& emitter, const EmbeddingSpec& spec);
Result<KernelUse> build(Emitter& emitter, const CopySpec& spec);
Result<KernelUse> build(Emitter& emitter, const ConcatSpec& spec);
Result<KernelUse> build(Emitter& emitter, const MeanSpec& spec);
Result<KernelUse> build(Emitter& emitter, const LinearSpec& spec);
Result<KernelUse> build(Emitter& emitter, const PadSpec& spec);
Result<KernelUse> build(Emitter& emitter, const EmbeddingBackwardSpec& spec);
Result<KernelUse> build(Emitter& emitter, const InverseCountSpec& spec);
Result<KernelUse> build(Emitter& emitter, const ConstantSpec& spec);
Result<KernelUse> build(Emitter& emitter, const LookupSpec& spec);
Result<KernelUse> build(Emitter& emitter, const CumSumSpec& spec);
Result<KernelUse> build(Emitter& emitter, const ArgExtremumSpec& spec);
Result<KernelUse> build(Emitter& emitter, const CtcSpec& spec);
Result<KernelUse> build(Emitter& emitter, const ScanSpec& spec);
Result<KernelUse> build(Emitter& emitter, const ScanBackwardSpec& spec);
Result<KernelUse> build(Emitter& emitter, const ArgScanSpec& spec);
Result<KernelUse> build(Emitter& emitter, const ArgSortSpec& spec);
Result<KernelUse> build(Emitter& emitter, const ScatterSpec& spec);
Result<KernelUse> build(Emitter& emitter, const ResampleSpec& spec);

/// For kernels that move bits: one dtype that represents all of the same width.
DType dtype_of_width(DType dtype);

/// Buffers and arithmetic of a Fusion within a kernel.
class FusedBody {
 public:
  FusedBody(Emitter& emitter, const Fusion& fusion) : emitter_(emitter), fusion_(fusion) {}
  /// Declares the operands' buffers.
  void add_buffers();
  /// `value` after the fused arithmetic. `offset_of(i)` gives the offset of operand i at the current position; coordinates are
  /// taken from `indices`.
  mlir::Value apply(mlir::Value value, llvm::function_ref<mlir::Value(size_t)> offset_of,
                    llvm::ArrayRef<mlir::Value> indices = {}) const;

 private:
  Emitter& emitter_;
  const Fusion& fusion_;
  std::vector<int> buffers_;
};

/// One loop for each dimension in [first, last), at least one loop: for kernels that know their position.
Result<std::vector<Loop>> separate(const Shape& shape, const std::vector<Shape>& operands, size_t first, size_t last);
/// indices[d] + coordinates[d] as an i64, for each d; then each of `sizes`.
Emitter::Values located(Emitter& emitter, llvm::ArrayRef<mlir::Value> indices, const std::vector<Extent>& coordinates,
                        const std::vector<Extent>& sizes);

/// An error unless every operand of `fusion` has exactly `shape`, and it has no coordinates.
Result<void> check_same_shape(const std::string& kernel, const Fusion& fusion, const Shape& shape);

}  // namespace sheaf::kernels
