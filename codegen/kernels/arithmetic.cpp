#include "codegen/kernels/arithmetic.h"

#include "codegen/kernels/loops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

namespace sheaf::kernels {

using namespace mlir;

namespace {

/// The type in which a body gets an element (spec.h).
Type scalar_type(OpBuilder& builder, DType dtype) {
  switch (dtype) {
    case DType::int64: return builder.getI64Type();
    case DType::int32: return builder.getI32Type();
    case DType::uint8: return builder.getI8Type();
    case DType::boolean: return builder.getI1Type();
    default: return builder.getF32Type();
  }
}

bool is_arithmetic(Operation& op) {
  if (isa<math::MathDialect>(op.getDialect())) return true;
  if (isa<arith::CmpFOp>(op)) return true;
  if (!isa<arith::ArithDialect>(op.getDialect()) || op.getNumResults() != 1 || !isa<FloatType>(op.getResult(0).getType()))
    return false;
  return !isa<arith::ConstantOp, arith::SelectOp, arith::ExtFOp, arith::TruncFOp, arith::SIToFPOp, arith::UIToFPOp,
              arith::BitcastOp>(op);
}

/// The operations that `body` does on one element; it is emitted into a block that is thrown away.
double count(MLIRContext& context, const ScalarBody& body, const std::vector<DType>& scalars, size_t coordinates) {
  if (!body) return 0;
  Block block;
  OpBuilder builder(&context);
  mlir::Location loc = builder.getUnknownLoc();
  for (DType dtype : scalars) block.addArgument(scalar_type(builder, dtype), loc);
  for (size_t i = 0; i < coordinates; ++i) block.addArgument(builder.getI64Type(), loc);
  builder.setInsertionPointToEnd(&block);
  body(builder, loc, block.getArguments());
  double operations = 0;
  block.walk([&](Operation* op) { operations += is_arithmetic(*op) ? 1 : 0; });
  return operations;
}

double count(MLIRContext& context, const Fusion& fusion, DType element) {
  std::vector<DType> scalars = {element};
  for (const Operand& operand : fusion.operands) scalars.push_back(operand.dtype);
  return count(context, fusion.body, scalars, fusion.coordinates.size() + fusion.sizes.size());
}

/// Drops the terms that are zero.
std::vector<KernelArithmetic> only(std::vector<KernelArithmetic> terms) {
  llvm::erase_if(terms, [](const KernelArithmetic& term) { return term.each == 0; });
  return terms;
}

}  // namespace

std::vector<KernelArithmetic> arithmetic_of(MLIRContext& context, const ElementwiseSpec& spec) {
  std::vector<DType> scalars;
  for (const Operand& input : spec.inputs) scalars.push_back(input.dtype);
  return only({{count(context, spec.body, scalars, spec.coordinates.size() + spec.sizes.size()),
                static_cast<int>(spec.inputs.size())}});
}

std::vector<KernelArithmetic> arithmetic_of(MLIRContext& context, const SoftmaxSpec& spec) {
  // The maximum, x - max, its exponential, their sum, and the quotient (or the logarithm's subtraction).
  return {{5 + count(context, spec.prologue, spec.x.dtype) + count(context, spec.epilogue, DType::float32), 0}};
}

std::vector<KernelArithmetic> arithmetic_of(MLIRContext& context, const NormalizationSpec& spec) {
  // Mean (1), variance (x - mean, its square, the sum), (x - mean) · 1/σ, then weight and bias.
  const double own = 6 + (spec.weight ? 1 : 0) + (spec.bias ? 1 : 0);
  return {{own + count(context, spec.prologue, spec.x.dtype) + count(context, spec.epilogue, DType::float32), 0}};
}

std::vector<KernelArithmetic> arithmetic_of(MLIRContext& context, const MeanSpec& spec) {
  const int y = static_cast<int>(1 + spec.prologue.operands.size() + spec.epilogue.operands.size());
  return only({{1 + count(context, spec.prologue, spec.x.dtype), 0},
               {(spec.take == Reduction::mean ? 1 : 0) + count(context, spec.epilogue, DType::float32), y}});
}

std::vector<KernelArithmetic> arithmetic_of(MLIRContext& context, const LinearSpec& spec) {
  const int y = static_cast<int>(2 + (spec.bias ? 1 : 0) + spec.epilogue.operands.size());
  return {{2.0 * static_cast<double>(spec.in) + (spec.bias ? 1 : 0) + count(context, spec.epilogue, DType::float32), y}};
}

std::vector<KernelArithmetic> arithmetic_of(MLIRContext&, const EmbeddingBackwardSpec&) { return {{1, 1}}; }
std::vector<KernelArithmetic> arithmetic_of(MLIRContext&, const LookupSpec& spec) {
  return only({{spec.backward ? 1.0 : 0.0, 1}});
}
std::vector<KernelArithmetic> arithmetic_of(MLIRContext&, const CumSumSpec&) { return {{1, 0}}; }
std::vector<KernelArithmetic> arithmetic_of(MLIRContext&, const ArgExtremumSpec&) { return {{1, 0}}; }
/// Three exponentials, a logarithm and the arithmetic around them for each alpha; backwards also those of the gradient.
std::vector<KernelArithmetic> arithmetic_of(MLIRContext&, const CtcSpec& spec) {
  return {{spec.backward ? 18.0 : 12.0, spec.backward ? 5 : 5}};
}
// A product; or the maximum, two differences, exponentials and products, the sum, its logarithm and the result.
std::vector<KernelArithmetic> arithmetic_of(MLIRContext&, const ScanSpec& spec) {
  return {{spec.take == Scan::product ? 1.0 : 9.0, 0}};
}
std::vector<KernelArithmetic> arithmetic_of(MLIRContext&, const ScanBackwardSpec& spec) {
  return {{spec.take == Scan::product ? 3.0 : 7.0, 0}};
}
std::vector<KernelArithmetic> arithmetic_of(MLIRContext&, const ArgScanSpec&) { return {{1, 0}}; }
/// A comparison on each level of the heap, up and down.
std::vector<KernelArithmetic> arithmetic_of(MLIRContext&, const ArgSortSpec& spec) {
  const Extent& n =
      spec.x.shape[static_cast<size_t>(spec.dim < 0 ? spec.dim + static_cast<int64_t>(spec.x.shape.size()) : spec.dim)];
  return {{2 * std::log2(static_cast<double>(typical_size(n)) + 1), 0}};
}
std::vector<KernelArithmetic> arithmetic_of(MLIRContext&, const ScatterSpec& spec) { return only({{spec.add ? 1.0 : 0.0, 0}}); }
std::vector<KernelArithmetic> arithmetic_of(MLIRContext&, const ResampleSpec& spec) {
  return {{2.0 * static_cast<double>(spec.weights.size()) / static_cast<double>(spec.starts.size()), 1}};
}

}  // namespace sheaf::kernels
