// Builds nn ops of known shapes, for passes that lower layers.
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
  /// x's dimensions from `kept` on viewed as `apart`, these permuted, and the result viewed in y's shape.
  mlir::Value shuffled(mlir::Value x, int64_t kept, llvm::ArrayRef<int64_t> apart, llvm::ArrayRef<int64_t> order,
                       mlir::Value y) const {
    llvm::SmallVector<int64_t> to(shape(x).take_front(kept)), dims = llvm::to_vector(llvm::seq<int64_t>(0, kept));
    to.append(apart.begin(), apart.end());
    for (int64_t dim : order) dims.push_back(kept + dim);
    return reshape(permute(reshape(x, to), dims), llvm::SmallVector<int64_t>(shape(y)));
  }
  mlir::Value slice(mlir::Value x, int64_t dim, int64_t begin, int64_t size, int64_t step = 1) const {
    llvm::SmallVector<int64_t> to(shape(x));
    to[dim] = size;
    return make<nn::SliceOp>(with_shape(x, to), x, builder.getI64IntegerAttr(dim), builder.getI64IntegerAttr(begin),
                             builder.getI64IntegerAttr(size),
                             step == 1 ? mlir::IntegerAttr() : builder.getI64IntegerAttr(step));
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
  /// x's entries at `places` along `dim`.
  mlir::Value picked(mlir::Value x, int64_t dim, llvm::ArrayRef<int64_t> places) const {
    llvm::SmallVector<int64_t> to(shape(x));
    to[dim] = static_cast<int64_t>(places.size());
    return make<nn::ResampleOp>(with_shape(x, to), x, builder.getI64IntegerAttr(dim), builder.getDenseI64ArrayAttr(places),
                                builder.getDenseF64ArrayAttr(llvm::SmallVector<double>(places.size(), 1.0)));
  }
  mlir::Value linear(mlir::Value x, mlir::Value weight, mlir::Value bias) const {
    llvm::SmallVector<int64_t> to(shape(x));
    to.back() = shape(weight)[0];
    return make<nn::LinearOp>(with_shape(x, to), x, weight, bias, /*residual=*/mlir::Value(), mlir::DictionaryAttr());
  }
  /// With `transpose_b`, b's last two dimensions are swapped first.
  mlir::Value matmul(mlir::Value a, mlir::Value b, bool transpose_b = false) const {
    llvm::SmallVector<int64_t> to(shape(a));
    to.back() = transpose_b ? shape(b)[shape(b).size() - 2] : shape(b).back();
    return make<nn::MatMulOp>(with_shape(a, to), a, b, /*transpose_a=*/false, transpose_b);
  }
  /// x from `begin` on along `dim`, within `size` entries of `value`; zeros if no value is given.
  mlir::Value pad(mlir::Value x, int64_t dim, int64_t begin, int64_t size, mlir::FloatAttr value) const {
    llvm::SmallVector<int64_t> to(shape(x));
    if (begin == 0 && to[dim] == size) return x;
    to[dim] = size;
    return make<nn::PadOp>(with_shape(x, to), x, builder.getI64IntegerAttr(dim), builder.getI64IntegerAttr(begin),
                           builder.getI64IntegerAttr(size), value);
  }
};

/// Whether lower_attention lowers this layer.
bool is_attention(mlir::Operation* op);

/// Keys and values that several heads share are repeated for each, removing `enable_gqa`.
void resolve_groups(nn::AttentionOp op, mlir::RewriterBase& rewriter);

/// Replaces an attention by linear layers, matrix products and a softmax; with an attribute nn.dropout, also a dropout of the
/// attention's weights.
void lower_attention(mlir::Operation* op, mlir::RewriterBase& rewriter);

/// x enlarged along `dim` from its own elements (torch.nn.functional.pad): `mode` is reflect, replicate or circular.
mlir::Value bordered(const NnBuilder& nn, mlir::Value x, int64_t dim, int64_t before, int64_t after, llvm::StringRef mode);

}  // namespace sheaf::passes
