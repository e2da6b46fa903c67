#include "passes/nn/LossBuilder.h"

#include "llvm/ADT/Sequence.h"

namespace sheaf::passes {

using namespace mlir;

LossBuilder::LossBuilder(nn::LossOp op, bool undivided) : op_(op), with_(op), undivided_(undivided) {
  for (mlir::Value input : op.getInputs()) inputs_.push_back(wide(input));
  x_ = inputs_[0], target_ = inputs_[1];
  auto reduction = op.getArguments().getAs<StringAttr>("reduction");
  by_batch_ = reduction && reduction.getValue() == "batchmean";
  mean_ = !reduction || reduction.getValue() == "mean" || by_batch_;
}

mlir::Value LossBuilder::wide(mlir::Value value) {
  Builder& b = with_.builder;
  RankedTensorType type = type_of(value);
  if (!isa<FloatType>(type.getElementType()) || type.getElementType().isF32()) return value;
  return with_.make<nn::CastOp>(RankedTensorType::get(type.getShape(), b.getF32Type()), value, b.getStringAttr("float32"))
      ->getResult(0);
}

SmallVector<int64_t> LossBuilder::all_dims(mlir::Value value) {
  return llvm::to_vector(llvm::seq<int64_t>(0, type_of(value).getRank()));
}

mlir::Value LossBuilder::sum(mlir::Value x) {
  Builder& b = with_.builder;
  return with_.make<nn::SumOp>(with_.scalar(), x, b.getDenseI64ArrayAttr(all_dims(x)), b.getBoolAttr(false))->getResult(0);
}

mlir::Value LossBuilder::sum_of_vectors(mlir::Value x, bool keepdim) {
  Builder& b = with_.builder;
  RankedTensorType type = type_of(x);
  SmallVector<int64_t> shape(type.getShape().drop_back());
  if (keepdim) shape.push_back(1);
  return with_
      .make<nn::SumOp>(RankedTensorType::get(shape, type.getElementType()), x, b.getDenseI64ArrayAttr({type.getRank() - 1}),
                       b.getBoolAttr(keepdim))
      ->getResult(0);
}

mlir::Value LossBuilder::average(mlir::Value x) {
  Builder& b = with_.builder;
  if (type_of(x).getRank() == 0) return x;
  return with_.make<nn::MeanOp>(with_.scalar(), x, b.getDenseI64ArrayAttr(all_dims(x)), b.getBoolAttr(false))->getResult(0);
}

mlir::Value LossBuilder::product(mlir::Value x, mlir::Value y) {
  return with_.make<nn::MulOp>(x.getType(), x, y)->getResult(0);
}

mlir::Value LossBuilder::quotient(mlir::Value x, mlir::Value y) {
  return with_.make<nn::DivOp>(with_.scalar(), x, y)->getResult(0);
}

mlir::Value LossBuilder::map(StringRef function, ArrayRef<mlir::Value> operands, ArrayRef<double> numbers) {
  return with_
      .make<nn::MapOp>(operands[0].getType(), operands, with_.builder.getStringAttr(function),
                       with_.builder.getDenseF64ArrayAttr(numbers))
      ->getResult(0);
}

mlir::Value LossBuilder::constant(double value) {
  Builder& b = with_.builder;
  return with_
      .make<nn::ConstantOp>(with_.scalar(), op_.getInputs()[1], b.getDenseF64ArrayAttr({value}), b.getDenseI64ArrayAttr({}))
      ->getResult(0);
}

mlir::Value LossBuilder::inverse_count(mlir::Value like, ArrayRef<int64_t> dims) {
  return with_.make<nn::InverseCountOp>(with_.scalar(), like, with_.builder.getDenseI64ArrayAttr(dims), /*whole=*/false)
      ->getResult(0);
}

double LossBuilder::number(StringRef name) { return op_.getArguments().getAs<FloatAttr>(name).getValueAsDouble(); }

mlir::Value LossBuilder::numbers(StringRef name, int64_t rank, int64_t dim) {
  auto list = op_.getArguments().getAs<ArrayAttr>(name);
  if (!list) return {};
  SmallVector<double> values;
  for (mlir::Attribute number : list) values.push_back(cast<FloatAttr>(number).getValueAsDouble());
  // Leading dimensions are left out: broadcasting aligns at the end.
  SmallVector<int64_t> shape(rank - dim, 1);
  if (rank > 0) shape[0] = static_cast<int64_t>(values.size());
  Builder& b = with_.builder;
  return with_
      .make<nn::ConstantOp>(RankedTensorType::get(shape, b.getF32Type()), op_.getInputs()[1], b.getDenseF64ArrayAttr(values),
                            b.getDenseI64ArrayAttr(shape))
      ->getResult(0);
}

LossParts LossBuilder::over_vectors(mlir::Value each) {
  if (!mean_) return {sum(each), {}};
  if (!undivided_) return {average(each), {}};
  // As many as x has vectors; the count has no gradient.
  SmallVector<int64_t> counted = all_dims(x_);
  counted.pop_back();
  return {sum(each), quotient(constant(1), inverse_count(x_, counted))};
}

}  // namespace sheaf::passes
