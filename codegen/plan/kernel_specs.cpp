#include "codegen/plan/kernel_specs.h"

#include "codegen/plan/program_builder.h"
#include "ir/Nn/Nn.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace sheaf::codegen {
namespace {

using kernels::KernelModule;
using kernels::KernelUse;
using kernels::Operand;
using kernels::ScalarBody;
using kernels::Shape;

Operand operand_of(const ir::TensorShape& shape) {
  return {dtype_of(shape.element), Shape(shape.dims.begin(), shape.dims.end())};
}

/// A fused group's inputs as its kernel sees them: a value with the shape that aligns it with the result. The same
/// value may be aligned in two ways, and is then two operands.
struct FusedInputs {
  std::vector<std::pair<mlir::Value, Shape>> entries;

  size_t index(mlir::Value value, const Shape& aligned) {
    for (size_t i = 0; i < entries.size(); ++i)
      if (entries[i].first == value && entries[i].second == aligned) return i;
    entries.push_back({value, aligned});
    return entries.size() - 1;
  }
};

/// [C] along dimension 1 of [N, C, h, w] → [1, C, 1, 1]: the shape that PyTorch's broadcasting aligns rightly.
Shape aligned_shape(nn::ElementwiseOpInterface op, unsigned operand, const ir::TensorShape& shape, int64_t result_rank) {
  Shape aligned(result_rank, Extent(1));
  SmallVector<int64_t> dims = op.operandDims(operand, shape.rank(), result_rank);
  for (int64_t i = 0; i < shape.rank(); ++i) aligned[dims[i]] = shape.dims[i];
  return aligned;
}

Result<KernelUse> fused_kernel(KernelModule& module, nn::FusedOp fused, const ir::ShapeAnalysis& shapes,
                               std::vector<mlir::Value>& operands) {
  Block& body = fused.getBody().front();
  const ir::TensorShape& result = shapes.of(fused.getResult(0));
  FusedInputs inputs;
  // Which scalar each operand of each op is: an input's, or an earlier op's result.
  DenseMap<OpOperand*, size_t> input_of;
  std::string name;
  for (Operation& op : body.without_terminator()) {
    name += (name.empty() ? "" : "_") + op.getName().stripDialect().str();
    for (OpOperand& operand : op.getOpOperands()) {
      auto argument = dyn_cast<BlockArgument>(operand.get());
      if (!argument) continue;
      Shape aligned = aligned_shape(cast<nn::ElementwiseOpInterface>(op), operand.getOperandNumber(), shapes.of(argument), result.rank());
      input_of[&operand] = inputs.index(argument, aligned);
    }
  }
  kernels::ElementwiseSpec spec;
  spec.name = name.size() > 64 ? name.substr(0, 64) : name;
  spec.description = name;
  spec.shape = Shape(result.dims.begin(), result.dims.end());
  spec.outputs = {dtype_of(result.element)};
  for (auto& [value, aligned] : inputs.entries) {
    spec.inputs.push_back({dtype_of(shapes.of(value).element), aligned});
    operands.push_back(fused.getInputs()[cast<BlockArgument>(value).getArgNumber()]);
  }
  spec.body = [&](OpBuilder& builder, mlir::Location loc, ValueRange scalars) {
    DenseMap<mlir::Value, mlir::Value> results;
    for (Operation& op : body.without_terminator()) {
      SmallVector<mlir::Value> elements;
      for (OpOperand& operand : op.getOpOperands())
        elements.push_back(input_of.count(&operand) ? scalars[input_of[&operand]] : results[operand.get()]);
      results[op.getResult(0)] = cast<nn::ElementwiseOpInterface>(op).buildScalar(builder, loc, elements);
    }
    SmallVector<mlir::Value> outputs;
    for (mlir::Value value : body.getTerminator()->getOperands()) outputs.push_back(results[value]);
    return outputs;
  };
  return module.add_elementwise(spec);
}

Result<KernelUse> norm_kernel(KernelModule& module, kernels::NormalizationSpec spec, Operation& op, bool weight, bool bias,
                              const ir::ShapeAnalysis& shapes) {
  spec.x = operand_of(shapes.of(op.getOperand(0)));
  spec.weight = weight;
  spec.bias = bias;
  spec.description = spec.name;
  return module.add_normalization(spec);
}

Result<KernelUse> linear_kernel(KernelModule& module, nn::LinearOp op, const ir::ShapeAnalysis& shapes) {
  const ir::TensorShape& x = shapes.of(op.getX());
  kernels::LinearSpec spec;
  spec.rows = Extent(1);
  for (const Extent& dim : ArrayRef(x.dims).drop_back())
    spec.rows = spec.rows.is_static() ? dim * spec.rows.constant : spec.rows * dim.constant;
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

Result<KernelUse> softmax_kernel(KernelModule& module, nn::SoftmaxOp op, const ir::ShapeAnalysis& shapes) {
  kernels::SoftmaxSpec spec;
  spec.x = operand_of(shapes.of(op.getX()));
  spec.dim = op.getDim();
  spec.log = op.getLog();
  spec.name = spec.log ? "log_softmax" : "softmax";
  spec.description = spec.name;
  return module.add_softmax(spec);
}

Result<KernelUse> mean_kernel(KernelModule& module, nn::MeanOp op, const ir::ShapeAnalysis& shapes) {
  kernels::MeanSpec spec;
  spec.x = operand_of(shapes.of(op.getX()));
  int64_t rank = shapes.of(op.getX()).rank(), first = rank, last = -1;
  for (int64_t dim : op.getDims()) {
    first = std::min(first, *ir::normalize_dim(dim, rank));
    last = std::max(last, *ir::normalize_dim(dim, rank));
  }
  spec.dim = first;
  spec.dims = last - first + 1;  // nn-lower-layers has split means over dimensions that are not adjacent
  spec.description = "mean";
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

Result<KernelUse> concat_kernel(KernelModule& module, nn::ConcatOp op, const ir::ShapeAnalysis& shapes) {
  kernels::ConcatSpec spec;
  for (mlir::Value input : op.getInputs()) spec.inputs.push_back(operand_of(shapes.of(input)).shape);
  spec.dtype = dtype_of(shapes.of(op.getY()).element);
  spec.dim = *ir::normalize_dim(op.getDim(), shapes.of(op.getY()).rank());
  spec.description = "concat";
  return module.add_concat(spec);
}

}  // namespace

Result<KernelUse> add_kernel_for(KernelModule& module, Operation& op, const ir::ShapeAnalysis& shapes,
                                 std::vector<mlir::Value>& operands) {
  if (auto fused = dyn_cast<nn::FusedOp>(op)) return fused_kernel(module, fused, shapes, operands);
  operands.assign(op.operand_begin(), op.operand_end());
  return llvm::TypeSwitch<Operation*, Result<KernelUse>>(&op)
      .Case([&](nn::LinearOp o) { return linear_kernel(module, o, shapes); })
      .Case([&](nn::SoftmaxOp o) { return softmax_kernel(module, o, shapes); })
      .Case([&](nn::MeanOp o) { return mean_kernel(module, o, shapes); })
      .Case([&](nn::EmbeddingOp o) { return embedding_kernel(module, o, shapes); })
      .Case([&](nn::ConcatOp o) { return concat_kernel(module, o, shapes); })
      .Case([&](nn::LayerNormOp o) {
        kernels::NormalizationSpec spec;
        spec.normalized_dims = static_cast<int64_t>(o.getNormalizedShape().size());
        spec.eps = o.getEps().convertToDouble();
        return norm_kernel(module, spec, op, static_cast<bool>(o.getWeight()), static_cast<bool>(o.getBias()), shapes);
      })
      .Case([&](nn::GroupNormOp o) {
        kernels::NormalizationSpec spec;
        spec.name = "group_norm";
        spec.groups = static_cast<int64_t>(o.getNumGroups());
        spec.eps = o.getEps().convertToDouble();
        return norm_kernel(module, spec, op, static_cast<bool>(o.getWeight()), static_cast<bool>(o.getBias()), shapes);
      })
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
        return copy_kernel(module, kernels::slice_copy(x.dtype, x.shape, dim, Extent(o.getBegin()), Extent(o.getSize())), "slice");
      })
      .Default([&](Operation* o) {
        return Result<KernelUse>(Error("internal error: no kernel for '" + o->getName().getStringRef().str() + "'"));
      });
}

}  // namespace sheaf::codegen
