#include "codegen/plan/kernel_specs.h"

#include "codegen/kernels/loops.h"
#include "codegen/plan/element_chain.h"
#include "codegen/plan/fused_kernel.h"
#include "codegen/plan/program_builder.h"
#include "codegen/plan/reduction.h"
#include "ir/Dist/Dist.h"
#include "ir/Nn/Nn.h"
#include "runtime/base/extent_product.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace sheaf::codegen {
namespace {

using kernels::KernelModule;
using kernels::KernelUse;
using kernels::Operand;
using kernels::Shape;

Result<KernelUse> linear_kernel(KernelModule& module, nn::LinearOp op, const ir::ShapeAnalysis& shapes) {
  const ir::TensorShape& x = shapes.of(op.getX());
  kernels::LinearSpec spec;
  spec.rows = Extent(1);
  for (const Extent& dim : ArrayRef(x.dims).drop_back()) spec.rows = multiplied(spec.rows, dim);
  spec.in = shapes.of(op.getWeight()).dims[1].constant;
  spec.out = shapes.of(op.getWeight()).dims[0].constant;
  spec.bias = static_cast<bool>(op.getBias());
  spec.description = "linear, weight [" + std::to_string(spec.out) + ", " + std::to_string(spec.in) + "]";
  if (op.getResidual()) {
    spec.name += "_add";
    spec.epilogue.operands.push_back(Operand{DType::float32, Shape{spec.rows, Extent(spec.out)}});
  }
  DictionaryAttr activation = op.getActivationAttr();
  if (activation) spec.name += "_" + cast<StringAttr>(activation.get("kind")).str();
  if (activation || op.getResidual())
    spec.epilogue.body = [=](OpBuilder& builder, mlir::Location loc, ValueRange scalars) {
      mlir::Value y = scalars[0];
      if (scalars.size() > 1) y = builder.create<arith::AddFOp>(loc, y, scalars[1]);
      if (activation) y = nn::buildActivation(builder, loc, activation, y);
      return SmallVector<mlir::Value>{y};
    };
  return module.add_linear(spec);
}

/// The element itself, as a sum over no dimensions gives it.
Result<KernelUse> identity_kernel(KernelModule& module, const Operand& x, DType output) {
  kernels::ElementwiseSpec spec;
  spec.name = spec.description = "copy";
  spec.inputs = {x};
  spec.shape = x.shape;
  spec.outputs = {output};
  spec.body = [](OpBuilder&, mlir::Location, ValueRange scalars) { return SmallVector<mlir::Value>{scalars[0]}; };
  return module.add_elementwise(spec);
}

Result<KernelUse> reduction_kernel(KernelModule& module, Operation& op, const ir::ShapeAnalysis& shapes) {
  if (reduced_dims(op).empty()) {
    DType output = dtype_of(shapes.of(op.getResult(0)).element);
    return identity_kernel(module, operand_of(shapes.of(op.getOperand(0))), output);
  }
  SHEAF_ASSIGN(auto spec, reduction_spec(op, shapes));
  spec.description = spec.name;
  return module.add_mean(spec);
}

Result<KernelUse> copy_kernel(KernelModule& module, Result<kernels::CopySpec> spec, const char* name) {
  if (!spec) return spec.error();
  spec->name = spec->description = name;
  return module.add_copy(*spec);
}

Result<KernelUse> embedding_kernel(KernelModule& module, nn::EmbeddingOp op, const ir::ShapeAnalysis& shapes) {
  const ir::TensorShape &x = shapes.of(op.getX()), &weight = shapes.of(op.getWeight());
  kernels::EmbeddingSpec spec;
  spec.index = dtype_of(x.element);
  spec.index_shape = Shape(x.dims.begin(), x.dims.end());
  spec.weight = dtype_of(weight.element);
  spec.entries = weight.dims[0].constant;
  spec.width = weight.dims[1].constant;
  spec.description = "embedding";
  return module.add_embedding(spec);
}

Result<KernelUse> embedding_backward_kernel(KernelModule& module, nn::EmbeddingBackwardOp op, const ir::ShapeAnalysis& shapes) {
  Operand x = operand_of(shapes.of(op.getX()));
  kernels::EmbeddingBackwardSpec spec;
  spec.index = x.dtype;
  spec.index_shape = x.shape;
  spec.entries = shapes.of(op.getDweight()).dims[0].constant;
  spec.width = shapes.of(op.getDweight()).dims[1].constant;
  if (auto padding = static_cast<int64_t>(op.getPaddingIdx()); padding >= 0) spec.padding_idx = padding;
  spec.description = spec.name;
  return module.add_embedding_backward(spec);
}

Result<KernelUse> pad_kernel(KernelModule& module, nn::PadOp op, const ir::ShapeAnalysis& shapes) {
  Operand x = operand_of(shapes.of(op.getOperand())), y = operand_of(shapes.of(op->getResult(0)));
  kernels::PadSpec spec;
  spec.dtype = y.dtype;
  spec.shape = y.shape;
  spec.dim = *ir::normalize_dim(op.getDim(), static_cast<int64_t>(y.shape.size()));
  spec.begin = static_cast<int64_t>(op.getBegin());
  if (static_cast<int64_t>(op.getBegin()) < 0) spec.begin = spec.begin + y.shape[static_cast<size_t>(spec.dim)];
  spec.size = x.shape[static_cast<size_t>(spec.dim)];
  spec.value = op.getValue().convertToDouble();
  spec.description = spec.name;
  return module.add_pad(spec);
}

/// Reads nothing: the sizes of `like` are extents.
Result<KernelUse> inverse_count_kernel(KernelModule& module, nn::InverseCountOp op, const ir::ShapeAnalysis& shapes,
                                       std::vector<mlir::Value>& operands) {
  operands.clear();
  const ir::TensorShape& like = shapes.of(op.getLike());
  kernels::InverseCountSpec spec;
  if (op.getWhole() && op->getParentOfType<dist::ParallelApplyOp>()) {
    spec.shape = {shapes.whole_count(op.getY())};
    // Where rows are counted, binding knows how many there are.
    if (spec.shape[0] == Extent(1))
      return Error("expected at least 2 values per channel when training, and the whole batch has 1");
  } else {
    for (int64_t dim : op.getDims()) spec.shape.push_back(like.dims[*ir::normalize_dim(dim, like.rank())]);
  }
  spec.description = spec.name;
  return module.add_inverse_count(spec);
}

/// Reads nothing.
Result<KernelUse> constant_kernel(KernelModule& module, nn::ConstantOp op, std::vector<mlir::Value>& operands) {
  operands.clear();
  kernels::ConstantSpec spec;
  spec.values.assign(op.getValues().begin(), op.getValues().end());
  spec.description = spec.name;
  return module.add_constant(spec);
}

Result<KernelUse> concat_kernel(KernelModule& module, nn::ConcatOp op, const ir::ShapeAnalysis& shapes) {
  kernels::ConcatSpec spec;
  for (mlir::Value input : op.getInputs()) spec.inputs.push_back(operand_of(shapes.of(input)).shape);
  spec.dtype = dtype_of(shapes.of(op.getY()).element);
  spec.dim = *ir::normalize_dim(op.getDim(), shapes.of(op.getY()).rank());
  spec.description = "concat";
  return module.add_concat(spec);
}

/// For x or, in a dual, dx: the sizes before, along and after the dimension.
Result<KernelUse> lookup_kernel(KernelModule& module, Operation& op, const ir::ShapeAnalysis& shapes) {
  kernels::LookupSpec spec;
  spec.backward = isa<nn::IndexSelectBackwardOp, nn::GatherElementsBackwardOp>(op);
  auto values = dyn_cast<nn::TargetValuesOp>(op);  // one entry for each target, along the classes
  spec.elementwise = isa<nn::GatherElementsOp, nn::GatherElementsBackwardOp, nn::TargetValuesOp>(op);
  if (values) spec.ignored = static_cast<int64_t>(values.getIgnoreIndex());
  spec.name = spec.description = op.getName().stripDialect().str();
  const ir::TensorShape &index = shapes.of(op.getOperand(0)),
                        &table = shapes.of(spec.backward ? op.getResult(0) : op.getOperand(1));
  spec.index = dtype_of(index.element);
  spec.dtype = dtype_of(table.element);
  const int64_t along = values ? values.dimOfClasses(table.rank())
                               : *ir::normalize_dim(op.getAttrOfType<IntegerAttr>("dim").getInt(), table.rank());
  const auto dim = static_cast<size_t>(along);
  const Operand whole = operand_of(table), numbers = operand_of(index);
  auto outer = kernels::product(whole.shape, 0, dim), inner = kernels::product(whole.shape, dim + 1, whole.shape.size());
  auto count = values             ? Extent(1)
               : spec.elementwise ? numbers.shape[dim]
                                  : kernels::product(numbers.shape, 0, numbers.shape.size());
  if (!outer || !inner || !count) return Error(spec.name + ": sizes around the dimension have no linear product");
  spec.outer = *outer;
  spec.inner = *inner;
  spec.count = *count;
  spec.entries = whole.shape[dim].constant;
  return module.add_lookup(spec);
}

Result<KernelUse> cum_sum_kernel(KernelModule& module, nn::CumSumOp op, const ir::ShapeAnalysis& shapes) {
  kernels::CumSumSpec spec;
  spec.description = spec.name;
  spec.x = operand_of(shapes.of(op.getX()));
  spec.dim = op.getDim();
  spec.reverse = op.getReverse();
  return module.add_cum_sum(spec);
}

Result<KernelUse> arg_extremum_kernel(KernelModule& module, nn::ArgExtremumOp op, const ir::ShapeAnalysis& shapes) {
  kernels::ArgExtremumSpec spec;
  spec.minimum = op.getMinimum();
  if (spec.minimum) spec.name = "arg_min";
  spec.description = spec.name;
  spec.x = operand_of(shapes.of(op.getX()));
  spec.dim = op.getDim();
  return module.add_arg_extremum(spec);
}

template <typename Op>
Result<KernelUse> ctc_kernel(KernelModule& module, Op op, const ir::ShapeAnalysis& shapes) {
  kernels::CtcSpec spec;
  spec.backward = std::is_same_v<Op, nn::CtcLossBackwardOp>;
  if (spec.backward) spec.name = "ctc_loss_backward";
  spec.description = spec.name;
  const Operand targets = operand_of(shapes.of(op.getTargets()));
  spec.x = operand_of(shapes.of(op.getX()));
  spec.target = targets.dtype;
  spec.input_length = dtype_of(shapes.of(op.getInputLengths()).element);
  spec.target_length = dtype_of(shapes.of(op.getTargetLengths()).element);
  spec.labels = targets.shape[1].constant;
  spec.blank = static_cast<int64_t>(op.getBlank());
  spec.zero_infinity = op.getZeroInfinity();
  spec.by_length = op.getByLength();
  return module.add_ctc(spec);
}

kernels::Scan scan_of(StringRef take) { return take == "product" ? kernels::Scan::product : kernels::Scan::log_sum_exp; }

Result<KernelUse> scan_kernel(KernelModule& module, nn::ScanOp op, const ir::ShapeAnalysis& shapes) {
  kernels::ScanSpec spec;
  spec.take = scan_of(op.getTake());
  if (spec.take == kernels::Scan::log_sum_exp) spec.name = "log_cum_sum_exp";
  spec.description = spec.name;
  spec.x = operand_of(shapes.of(op.getX()));
  spec.dim = op.getDim();
  return module.add_scan(spec);
}

Result<KernelUse> scan_backward_kernel(KernelModule& module, nn::ScanBackwardOp op, const ir::ShapeAnalysis& shapes) {
  kernels::ScanBackwardSpec spec;
  spec.take = scan_of(op.getTake());
  if (spec.take == kernels::Scan::log_sum_exp) spec.name = "log_cum_sum_exp_backward";
  spec.description = spec.name;
  spec.shape = operand_of(shapes.of(op.getX())).shape;
  spec.dim = op.getDim();
  return module.add_scan_backward(spec);
}

Result<KernelUse> arg_scan_kernel(KernelModule& module, nn::ArgScanOp op, const ir::ShapeAnalysis& shapes) {
  kernels::ArgScanSpec spec;
  spec.minimum = op.getMinimum();
  if (spec.minimum) spec.name = "arg_cum_min";
  spec.description = spec.name;
  spec.x = operand_of(shapes.of(op.getX()));
  spec.dim = op.getDim();
  return module.add_arg_scan(spec);
}

Result<KernelUse> arg_sort_kernel(KernelModule& module, nn::ArgSortOp op, const ir::ShapeAnalysis& shapes) {
  kernels::ArgSortSpec spec;
  spec.description = spec.name;
  spec.x = operand_of(shapes.of(op.getX()));
  spec.dim = op.getDim();
  spec.descending = op.getDescending();
  return module.add_arg_sort(spec);
}

Result<KernelUse> scatter_kernel(KernelModule& module, nn::ScatterElementsOp op, const ir::ShapeAnalysis& shapes) {
  kernels::ScatterSpec spec;
  if (op.getAdd()) spec.name = "scatter_add";
  spec.description = spec.name;
  const Operand index = operand_of(shapes.of(op.getIndex())), x = operand_of(shapes.of(op.getX()));
  const auto dim = static_cast<size_t>(*ir::normalize_dim(op.getDim(), static_cast<int64_t>(x.shape.size())));
  auto outer = kernels::product(x.shape, 0, dim), inner = kernels::product(x.shape, dim + 1, x.shape.size());
  if (!outer || !inner) return Error(spec.name + ": sizes around the dimension have no linear product");
  spec.index = index.dtype;
  spec.dtype = x.dtype;
  spec.outer = *outer;
  spec.count = index.shape[dim];
  spec.inner = *inner;
  spec.entries = x.shape[dim].constant;
  spec.add = op.getAdd();
  if (!op.getSource()) spec.value = op.getValue().convertToDouble();
  return module.add_scatter(spec);
}

Result<KernelUse> resample_kernel(KernelModule& module, nn::ResampleOp op, const ir::ShapeAnalysis& shapes) {
  kernels::ResampleSpec spec;
  spec.description = spec.name;
  spec.x = operand_of(shapes.of(op.getX()));
  spec.dim = op.getDim();
  spec.starts.assign(op.getStarts().begin(), op.getStarts().end());
  for (double weight : op.getWeights()) spec.weights.push_back(static_cast<float>(weight));
  return module.add_resample(spec);
}

}  // namespace

Result<KernelUse> add_kernel_for(KernelModule& module, Operation& op, const ir::ShapeAnalysis& shapes,
                                 std::vector<mlir::Value>& operands) {
  if (auto fused = dyn_cast<nn::FusedOp>(op)) return fused_kernel(module, fused, shapes, operands);
  operands.assign(op.operand_begin(), op.operand_end());
  return llvm::TypeSwitch<Operation*, Result<KernelUse>>(&op)
      .Case([&](nn::LinearOp o) { return linear_kernel(module, o, shapes); })
      .Case<nn::MeanOp, nn::SumOp, nn::ExtremumOp>([&](auto o) { return reduction_kernel(module, *o, shapes); })
      .Case([&](nn::EmbeddingOp o) { return embedding_kernel(module, o, shapes); })
      .Case([&](nn::EmbeddingBackwardOp o) { return embedding_backward_kernel(module, o, shapes); })
      .Case([&](nn::PadOp o) { return pad_kernel(module, o, shapes); })
      .Case([&](nn::InverseCountOp o) { return inverse_count_kernel(module, o, shapes, operands); })
      .Case([&](nn::ConstantOp o) { return constant_kernel(module, o, operands); })
      .Case<nn::IndexSelectOp, nn::GatherElementsOp, nn::IndexSelectBackwardOp, nn::GatherElementsBackwardOp,
            nn::TargetValuesOp>([&](auto o) { return lookup_kernel(module, *o, shapes); })
      .Case([&](nn::CumSumOp o) { return cum_sum_kernel(module, o, shapes); })
      .Case([&](nn::ArgExtremumOp o) { return arg_extremum_kernel(module, o, shapes); })
      .Case<nn::CtcLossOp, nn::CtcLossBackwardOp>([&](auto o) { return ctc_kernel(module, o, shapes); })
      .Case([&](nn::ScanOp o) { return scan_kernel(module, o, shapes); })
      .Case([&](nn::ScanBackwardOp o) { return scan_backward_kernel(module, o, shapes); })
      .Case([&](nn::ArgScanOp o) { return arg_scan_kernel(module, o, shapes); })
      .Case([&](nn::ArgSortOp o) { return arg_sort_kernel(module, o, shapes); })
      .Case([&](nn::ScatterElementsOp o) { return scatter_kernel(module, o, shapes); })
      .Case([&](nn::ResampleOp o) { return resample_kernel(module, o, shapes); })
      .Case([&](nn::ConcatOp o) { return concat_kernel(module, o, shapes); })
      .Case([&](nn::PermuteOp o) {
        Operand x = operand_of(shapes.of(o.getX()));
        return copy_kernel(module, kernels::permute_copy(x.dtype, x.shape, o.getDims().vec()), "permute");
      })
      .Case([&](nn::SelectOp o) {
        Operand x = operand_of(shapes.of(o.getX()));
        int64_t dim = *ir::normalize_dim(o.getDim(), static_cast<int64_t>(x.shape.size()));
        return copy_kernel(module, kernels::select_copy(x.dtype, x.shape, dim, o.getIndex()), "select");
      })
      .Case([&](nn::SliceOp o) {
        Operand x = operand_of(shapes.of(o.getX()));
        int64_t dim = *ir::normalize_dim(o.getDim(), static_cast<int64_t>(x.shape.size()));
        const Extent& size = shapes.of(o.getResult()).dims[dim];
        return copy_kernel(
            module, kernels::slice_copy(x.dtype, x.shape, dim, Extent(o.getBegin()), size, static_cast<int64_t>(o.getStep())),
            "slice");
      })
      .Default([&](Operation* o) {
        return Result<KernelUse>(Error("internal error: no kernel for '" + o->getName().getStringRef().str() + "'"));
      });
}

}  // namespace sheaf::codegen
