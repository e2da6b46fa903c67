// The builder for an op's dual (GradientOpInterface).
#pragma once

#include "ir/Shapes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

#include <functional>

namespace sheaf::nn {

/// Builds the backward ops of one forward op. Ops are created at the end of the backward body, at the forward op's
/// location; result types come from shape functions.
class GradientBuilder {
 public:
  GradientBuilder(mlir::OpBuilder& builder, mlir::Operation* op, std::function<mlir::Value(mlir::Value)> forward,
                  std::function<bool(unsigned)> needed, std::function<ir::TensorShape(mlir::Value)> shape = {})
      : builder(builder),
        loc(op->getLoc()),
        op_(op),
        forward_(std::move(forward)),
        needed_(std::move(needed)),
        shape_(std::move(shape)) {}

  mlir::OpBuilder& builder;
  mlir::Location loc;

  /// A value of the forward pass (an operand or result of the op) as the backward pass sees it. Asking for it keeps it alive
  /// until then, so ask only for what is used.
  mlir::Value forward(mlir::Value value) const { return forward_(value); }
  /// Whether the gradient of operand number `operand` is wanted. Always false for integers.
  bool needed(unsigned operand) const { return needed_(operand); }
  /// The same for an optional operand, which must be one of the op's.
  bool needed(mlir::Value operand) const {
    if (!operand) return false;
    for (mlir::OpOperand& use : op_->getOpOperands())
      if (use.get() == operand && needed_(use.getOperandNumber())) return true;
    return false;
  }

  template <typename Op, typename... Args>
  mlir::Value make(mlir::Type type, Args&&... args) const {
    return builder.create<Op>(loc, type, std::forward<Args>(args)...)->getResult(0);
  }
  static mlir::RankedTensorType type(mlir::Value value) { return mlir::cast<mlir::RankedTensorType>(value.getType()); }
  static mlir::RankedTensorType type(mlir::Value like, llvm::ArrayRef<int64_t> shape) {
    return mlir::RankedTensorType::get(shape, type(like).getElementType());
  }

  // ir/Nn/GradientBuilder.cpp
  // Arithmetic, broadcast as in PyTorch. The result has a's element type.
  mlir::Value add(mlir::Value a, mlir::Value b) const;
  mlir::Value sub(mlir::Value a, mlir::Value b) const;
  mlir::Value mul(mlir::Value a, mlir::Value b) const;
  mlir::Value div(mlir::Value a, mlir::Value b) const;
  mlir::Value scale(mlir::Value x, double factor) const;
  /// Σ over `dims` of x (several sums if they aren't adjacent); f32 for bf16 and f16.
  mlir::Value sum(mlir::Value x, llvm::ArrayRef<int64_t> dims, bool keepdim) const;
  mlir::Value mean(mlir::Value x, llvm::ArrayRef<int64_t> dims, bool keepdim) const;
  /// torch.matmul of operands with at least two dimensions; swaps the last two dimensions of a, b first if asked to.
  mlir::Value matmul(mlir::Value a, mlir::Value b, bool transpose_a, bool transpose_b) const;
  /// `gradient`, of the shape that an operand was broadcast to, summed to the shape of `operand` (a forward value, used only
  /// for its type).
  mlir::Value sum_to(mlir::Value gradient, mlir::Value operand) const;
  /// The same if the operand's dimension i runs along dims[i] of the gradient, ascending.
  mlir::Value sum_to(mlir::Value gradient, mlir::Value operand, llvm::ArrayRef<int64_t> dims) const;
  /// The elements in row-major order under `shape`. Several sizes that are kDynamic are x's own, in order; emits an error if x
  /// hasn't as many.
  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<int64_t> shape) const;
  /// The same under the shape of an operand of the op, whatever sizes x has.
  mlir::Value reshape_to(mlir::Value x, mlir::Value operand) const;
  /// The size of an operand of the op in the program's symbols, such as "seq", if it is open and depends on lengths alone; else null.
  mlir::StringAttr length_of(mlir::Value operand, int64_t dim) const;
  /// What keeps the size of an operand of the op from being a number: "the batch" or "the length 'seq'".
  std::string opened_by(mlir::Value operand, int64_t dim) const;
  /// x broadcast to the shape of `like`; x's dimension i runs along dims[i].
  mlir::Value broadcast(mlir::Value x, mlir::Value like, llvm::ArrayRef<int64_t> dims) const;
  /// `size` entries of x from `begin` along `dim`.
  mlir::Value slice(mlir::Value x, int64_t dim, int64_t begin, int64_t size) const;

 private:
  mlir::Operation* op_;
  std::function<mlir::Value(mlir::Value)> forward_;
  std::function<bool(unsigned)> needed_;
  std::function<ir::TensorShape(mlir::Value)> shape_;  ///< of an operand, in a program with lengths; else empty
};

}  // namespace sheaf::nn
