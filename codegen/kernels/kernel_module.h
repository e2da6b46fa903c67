// All generated kernels of a plan: added one by one, then compiled together to one shared object per instruction-set level and
// one PTX module.
#pragma once

#include "codegen/kernels/spec.h"
#include "runtime/plan/plan.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <map>

namespace sheaf::kernels {

class Emitter;

class KernelModule {
 public:
  /// Loads the dialects that kernels use into `context`, which must outlive this object.
  explicit KernelModule(mlir::MLIRContext& context);

  /// Each adds a kernel, or finds the one with the same structure (spec.h describes what they compute and their buffers).
  /// Errors name the kernel: shapes that do not fit, or sizes that are not linear in the symbols.
  Result<KernelUse> add_elementwise(const ElementwiseSpec& spec) { return add(spec); }
  Result<KernelUse> add_softmax(const SoftmaxSpec& spec) { return add(spec); }
  Result<KernelUse> add_normalization(const NormalizationSpec& spec) { return add(spec); }
  Result<KernelUse> add_embedding(const EmbeddingSpec& spec) { return add(spec); }
  Result<KernelUse> add_copy(const CopySpec& spec) { return add(spec); }
  Result<KernelUse> add_concat(const ConcatSpec& spec) { return add(spec); }
  Result<KernelUse> add_mean(const MeanSpec& spec) { return add(spec); }
  Result<KernelUse> add_pad(const PadSpec& spec) { return add(spec); }
  Result<KernelUse> add_embedding_backward(const EmbeddingBackwardSpec& spec) { return add(spec); }
  Result<KernelUse> add_inverse_count(const InverseCountSpec& spec) { return add(spec); }
  Result<KernelUse> add_constant(const ConstantSpec& spec) { return add(spec); }
  Result<KernelUse> add_lookup(const LookupSpec& spec) { return add(spec); }
  Result<KernelUse> add_cum_sum(const CumSumSpec& spec) { return add(spec); }
  Result<KernelUse> add_arg_extremum(const ArgExtremumSpec& spec) { return add(spec); }
  Result<KernelUse> add_ctc(const CtcSpec& spec) { return add(spec); }
  Result<KernelUse> add_scan(const ScanSpec& spec) { return add(spec); }
  Result<KernelUse> add_scan_backward(const ScanBackwardSpec& spec) { return add(spec); }
  Result<KernelUse> add_arg_scan(const ArgScanSpec& spec) { return add(spec); }
  Result<KernelUse> add_arg_sort(const ArgSortSpec& spec) { return add(spec); }
  Result<KernelUse> add_scatter(const ScatterSpec& spec) { return add(spec); }
  Result<KernelUse> add_resample(const ResampleSpec& spec) { return add(spec); }
  Result<KernelUse> add_linear(const LinearSpec& spec) { return add(spec); }

  /// The plan's table of kernels, in the order they were first added.
  const std::vector<Kernel>& kernels() const { return kernels_; }

  /// The kernels as MLIR text, before lowering.
  std::string text() const;

  /// Compiles and links. Pairs of level ("x86-64-v3", "x86-64-v4") and the bytes of a shared object without undefined symbols,
  /// and "ptx" with PTX text; nothing if there are no kernels. The module stays as it was. Errors: only those of the compiler
  /// or linker themselves, such as no room for the linker's temporary file.
  Result<std::vector<std::pair<std::string, std::string>>> compile() const;

 private:
  template <typename Spec>
  Result<KernelUse> add(const Spec& spec);
  /// `on_gpu`: its form for GPUs, if that is a separate function.
  Result<KernelUse> enter(Emitter& emitter, Emitter* on_gpu, KernelUse use, const std::string& name,
                          const std::string& description, std::vector<KernelArithmetic> arithmetic);
  Result<void> lower(mlir::ModuleOp module, void (*pipeline)(mlir::OpPassManager&)) const;

  mlir::MLIRContext& context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_, gpu_module_;
  std::vector<Kernel> kernels_;
  std::map<std::string, size_t> by_text_;  ///< a kernel's text without its name → index
};

/// Loops for add_copy: y = x.permute(dims), all of x's dimensions. Errors: dims is not a permutation.
Result<CopySpec> permute_copy(DType dtype, const Shape& x, const std::vector<int64_t>& dims);
/// y = x[..., start:stop:step, ...] along `dim`, with 0 <= start; `count` elements are taken. A negative step goes backwards.
Result<CopySpec> slice_copy(DType dtype, const Shape& x, int64_t dim, const Extent& start, const Extent& count,
                            int64_t step = 1);
/// y = x.select(dim, index), dim removed; index may be negative if that dimension is static.
Result<CopySpec> select_copy(DType dtype, const Shape& x, int64_t dim, int64_t index);

}  // namespace sheaf::kernels
