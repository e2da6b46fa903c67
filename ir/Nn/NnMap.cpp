// nn.map and its dual: shapes, splitting, scalar definitions and gradients of the functions in ir/ElementFunctions.cpp.
#include "ir/ElementFunctions.h"
#include "ir/Nn/ShapeRules.h"

#include "llvm/Support/Format.h"

#include <cmath>

using namespace mlir;
using sheaf::Extent;
namespace ir = sheaf::ir;
using namespace sheaf::nn;
using ir::ElementFunction;
using ir::TensorShape;
using Element = ir::scalar::Expression;

static SmallVector<int64_t> dims_of_operand(StringRef name, unsigned operand, int64_t operand_rank, int64_t result_rank) {
  const ElementFunction* function = ir::find_element_function(name);
  if (function && function->by_channel && operand == 1 && operand_rank == 1 && result_rank > 0)
    return {std::min<int64_t>(1, result_rank - 1)};
  return llvm::to_vector(llvm::seq<int64_t>(result_rank - operand_rank, result_rank));
}

/// "-0.5", as a model file writes it.
static std::string text_of(double number) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.6g", number);
  return text;
}

LogicalResult MapOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  const ElementFunction* function = ir::find_element_function(getFunction());
  if (!function) return emitError("has no function '") << getFunction() << "'";
  const unsigned more = operands.size() + 1 == function->operands ? 1 : 0;
  if (operands.empty() || operands.size() + more != function->operands || getNumbers().size() != function->numbers + more)
    return emitError("expects ") << function->operands << " inputs and " << function->numbers
                                 << " numbers; if there is one input too few, one more number replaces the last";
  const unsigned first = function->choice ? 1 : 0;
  if (first && !operands[0].element.isInteger(1))
    return emitError("expects a condition of bool, but it is ") << dtype_name(operands[0].element);
  if (failed(function->takes == ElementFunction::floats
                 ? require_float(*this, operands)
                 : require_one_kind(*this, operands.drop_front(first), function->takes == ElementFunction::any)))
    return failure();
  TensorShape y = operands[first];
  if (isa<IntegerType>(y.element) && more && getNumbers().back() != std::nearbyint(getNumbers().back()))
    return emitError("has the number ") << text_of(getNumbers().back()) << " beside an input of " << dtype_name(y.element)
                                        << "; cast the input to float32 first";
  for (auto [i, operand] : llvm::enumerate(operands)) {
    if (function->by_channel && i == 1) {
      Extent channels = y.rank() == 0 ? Extent(1) : y.dims[std::min<int64_t>(1, y.rank() - 1)];
      if (operand.rank() != 1 || !(operand.dims[0] == Extent(1) || ir::may_be_equal(operand.dims[0], channels)) ||
          y.rank() == 0)
        return emitError("expects one number, or one for each of ")
               << sheaf::to_string(channels) << " channels, but got " << ir::to_string(operand);
    } else if (failed(broadcast_dims(*this, y, operand))) {
      return failure();
    }
    if (i >= first) y.element = promoted(y.element, operand.element);
  }
  if (function->boolean) y.element = IntegerType::get(getContext(), 1);
  results.push_back(y);
  return success();
}

SmallVector<int64_t> MapOp::operandDims(unsigned operand, int64_t operandRank, int64_t resultRank) {
  return dims_of_operand(getFunction(), operand, operandRank, resultRank);
}

std::optional<int64_t> MapOp::splitDim(unsigned operand, int64_t rank, int64_t dim) {
  return aligned_split(*this, operand, rank, dim);
}

Value MapOp::buildScalar(OpBuilder& b, Location loc, ValueRange in) {
  const ElementFunction& function = *ir::find_element_function(getFunction());
  SmallVector<Element> x;
  for (Value value : in) x.push_back(Element{&b, loc, value});
  if (x.size() < function.operands) x.push_back(x.back().number(getNumbers().back()));
  return function.of(x, getNumbers().take_front(function.numbers)).value;
}

void MapOp::buildGradient(GradientBuilder& gradients, ValueRange results, MutableArrayRef<Value> operands) {
  const ElementFunction& function = *ir::find_element_function(getFunction());
  if (!function.slope) return;
  for (unsigned i = 0; i < operands.size(); ++i) {
    if (!gradients.needed(i)) continue;
    SmallVector<Value> values;
    SmallVector<int64_t> reads;
    for (int64_t read : ir::read_by_slope(getContext(), function, i, getNumbers().take_front(function.numbers))) {
      const bool result = read == static_cast<int64_t>(function.operands);
      if (!result && read == static_cast<int64_t>(getInputs().size())) continue;  // a number
      reads.push_back(read);
      values.push_back(gradients.forward(result ? getY() : getInputs()[read]));
    }
    OpBuilder& b = gradients.builder;
    Value dx = gradients.make<MapBackwardOp>(results[0].getType(), results[0], values, getFunctionAttr(), getNumbersAttr(),
                                             b.getI64IntegerAttr(i), b.getDenseI64ArrayAttr(reads));
    Value x = getInputs()[i];
    operands[i] = gradients.sum_to(dx, x, operandDims(i, gradients.type(x).getRank(), gradients.type(getY()).getRank()));
  }
}

LogicalResult MapBackwardOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  const ElementFunction* function = ir::find_element_function(getFunction());
  if (!function || !function->slope || getAlong() >= function->operands)
    return emitError("has no derivative of '") << getFunction() << "'";
  if (getReads().size() + 1 != operands.size() ||
      llvm::any_of(getReads(), [&](int64_t read) { return read < 0 || read > static_cast<int64_t>(function->operands); }))
    return emitError("expects as many values as it says to read");
  if (failed(require_float(*this, operands.take_front()))) return failure();
  results.push_back(operands[0]);
  return success();
}

SmallVector<int64_t> MapBackwardOp::operandDims(unsigned operand, int64_t operandRank, int64_t resultRank) {
  const auto of = operand == 0 ? 0U : static_cast<unsigned>(getReads()[operand - 1]);
  return dims_of_operand(getFunction(), of, operandRank, resultRank);
}

std::optional<int64_t> MapBackwardOp::splitDim(unsigned operand, int64_t rank, int64_t dim) {
  return aligned_split(*this, operand, rank, dim);
}

Value MapBackwardOp::buildScalar(OpBuilder& b, Location loc, ValueRange in) {
  const ElementFunction& function = *ir::find_element_function(getFunction());
  const Element dy{&b, loc, in[0]};
  SmallVector<Element> x(function.operands + 1, dy);  // operands that aren't read may be anything; the last one is the result
  if (getNumbers().size() > function.numbers) x[function.operands - 1] = dy.number(getNumbers().back());
  for (auto [i, read] : llvm::enumerate(getReads())) x[read].value = in[i + 1];
  return function.slope(getAlong(), dy, ArrayRef(x).drop_back(), x.back(), getNumbers().take_front(function.numbers)).value;
}
