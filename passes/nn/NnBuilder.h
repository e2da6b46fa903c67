// Building nn ops whose shapes are known, for passes that take layers apart.
#pragma once

#include "passes/Passes.h"

#include "mlir/IR/PatternMatch.h"

namespace sheaf::passes {

/// Builds nn ops at one location; result types come from the ops' shape functions.
struct NnBuilder {
  mlir::OpBuilder& builder;
  mlir::Location loc;

  template <typename Op, typename... Args>
  mlir::Value make(mlir::RankedTensorType type, Args&&... args) const {
    return builder.create<Op>(loc, type, std::forward<Args>(args)...);
  }
  static mlir::RankedTensorType with_shape(mlir::Value value, llvm::ArrayRef<int64_t> shape) {
    return mlir::RankedTensorType::get(shape, mlir::cast<mlir::RankedTensorType>(value.getType()).getElementType());
  }
  static llvm::ArrayRef<int64_t> shape(mlir::Value value) {
    return mlir::cast<mlir::RankedTensorType>(value.getType()).getShape();
  }

  mlir::Value reshape(mlir::Value x, llvm::SmallVector<int64_t> to) const {
    llvm::SmallVector<int64_t> sizes = to;
    for (int64_t& size : sizes)
      if (mlir::ShapedType::isDynamic(size)) size = -1;
    return make<nn::ReshapeOp>(with_shape(x, to), x, builder.getDenseI64ArrayAttr(sizes));
  }
  mlir::Value permute(mlir::Value x, llvm::ArrayRef<int64_t> dims) const {
    llvm::SmallVector<int64_t> to;
    for (int64_t dim : dims) to.push_back(shape(x)[dim]);
    return make<nn::PermuteOp>(with_shape(x, to), x, builder.getDenseI64ArrayAttr(dims));
  }
  mlir::Value slice(mlir::Value x, int64_t dim, int64_t begin, int64_t size) const {
    llvm::SmallVector<int64_t> to(shape(x));
    to[dim] = size;
    return make<nn::SliceOp>(with_shape(x, to), x, builder.getI64IntegerAttr(dim), builder.getI64IntegerAttr(begin),
                             builder.getI64IntegerAttr(size));
  }
  mlir::Value concat(llvm::ArrayRef<mlir::Value> inputs, int64_t dim) const {
    llvm::SmallVector<int64_t> to(shape(inputs[0]));
    for (mlir::Value input : inputs.drop_front()) {
      int64_t size = shape(input)[dim];
      bool known = !mlir::ShapedType::isDynamic(to[dim]) && !mlir::ShapedType::isDynamic(size);
      to[dim] = known ? to[dim] + size : mlir::ShapedType::kDynamic;
    }
    return make<nn::ConcatOp>(with_shape(inputs[0], to), mlir::ValueRange(inputs), builder.getI64IntegerAttr(dim));
  }
  mlir::Value linear(mlir::Value x, mlir::Value weight, mlir::Value bias) const {
    llvm::SmallVector<int64_t> to(shape(x));
    to.back() = shape(weight)[0];
    return make<nn::LinearOp>(with_shape(x, to), x, weight, bias, /*residual=*/mlir::Value(), mlir::DictionaryAttr());
  }
  mlir::Value matmul(mlir::Value a, mlir::Value b) const {
    llvm::SmallVector<int64_t> to(shape(a));
    to.back() = shape(b).back();
    return make<nn::MatMulOp>(with_shape(a, to), a, b);
  }
};

/// Puts linear layers, matrix products and a softmax in place of an attention; with an attribute nn.dropout, a dropout of
/// the attention's weights too.
void lower_attention(nn::MultiheadAttentionOp op, mlir::RewriterBase& rewriter);

}  // namespace sheaf::passes
