// What lowers losses builds on: their inputs in f32, sums and averages, arguments as tensors.
#pragma once

#include "passes/nn/Replacement.h"

namespace sheaf::passes {

class LossBuilder {
 public:
  LossBuilder(nn::LossOp op, bool undivided);

 protected:
  llvm::SmallVector<int64_t> all_dims(mlir::Value value);
  mlir::Value sum(mlir::Value x);
  /// Over the last dimension.
  mlir::Value sum_of_vectors(mlir::Value x, bool keepdim = false);
  mlir::Value average(mlir::Value x);
  mlir::Value product(mlir::Value x, mlir::Value y);
  mlir::Value quotient(mlir::Value x, mlir::Value y);
  /// A function of ir/ElementFunctions.h; the result has the first operand's type.
  mlir::Value map(llvm::StringRef function, llvm::ArrayRef<mlir::Value> operands, llvm::ArrayRef<double> numbers);
  mlir::Value constant(double value);
  /// 1 / the product of `like`'s sizes in `dims`.
  mlir::Value inverse_count(mlir::Value like, llvm::ArrayRef<int64_t> dims);

  /// The argument `name`.
  double number(llvm::StringRef name);
  /// The numbers of argument `name`, as a tensor of `rank` dimensions that runs along dimension `dim`; null if there are none.
  mlir::Value numbers(llvm::StringRef name, int64_t rank, int64_t dim);

  /// The loss whose terms are `each`, one number for each vector along x's last dimension, summed or averaged.
  LossParts over_vectors(mlir::Value each);

  nn::LossOp op_;
  Replacement with_;
  llvm::SmallVector<mlir::Value> inputs_;  ///< in f32, as are
  mlir::Value x_, target_;                 ///< the first two
  bool undivided_, mean_ = true;
  bool by_batch_ = false;  ///< the mean is over the first dimension only

 private:
  /// A loss is computed in f32, whatever the model's outputs and targets are.
  mlir::Value wide(mlir::Value value);
};

/// Whether it is a loss of margins between classes, and its parts if so.
bool is_margin_loss(llvm::StringRef kind);
LossParts take_margins_apart(nn::LossOp op, bool undivided);

}  // namespace sheaf::passes
