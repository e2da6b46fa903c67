#include "codegen/kernels/arithmetic.h"

#include "codegen/kernels/loops.h"
#include "runtime/plan/kernel_instructions.h"

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

// Roughly what MLIR's polynomials and a vector unit take.
constexpr double kExponential = kExponentialInstructions, kLogarithm = 14, kQuotient = 6;

/// The vector instructions that `op` becomes on one element, relative to an addition in f32.
double instructions_of(Operation& op) {
  if (isa<math::AbsFOp, math::FloorOp, math::CeilOp, math::RoundEvenOp, math::CopySignOp, math::FmaOp>(op)) return 1;
  if (isa<math::SqrtOp, math::RsqrtOp, arith::DivFOp, arith::RemFOp>(op)) return kQuotient;
  if (isa<math::ExpOp, math::Exp2Op, math::ExpM1Op>(op)) return kExponential;
  if (isa<math::LogOp, math::Log2Op, math::Log1pOp>(op)) return kLogarithm;
  if (isa<math::PowFOp>(op)) return kExponential + kLogarithm;
  if (isa<math::MathDialect>(op.getDialect())) return 20;  // tanh, erf, sin …
  if (!isa<arith::ArithDialect>(op.getDialect()) || isa<arith::ConstantOp, arith::IndexCastOp, arith::BitcastOp>(op)) return 0;
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(op)) return 4 * kQuotient;  // one element at a time
  if (isa<FloatType>(op.getResult(0).getType()) || isa<arith::CmpFOp, arith::CmpIOp, arith::MulIOp>(op)) return 1;
  return .5;  // shifts and conversions of integers; many fold into the operation that takes them
}

/// What is done for one element.
struct Work {
  double operations = 0, instructions = 0;

  Work operator+(const Work& other) const { return {operations + other.operations, instructions + other.instructions}; }
  KernelArithmetic of(int operand) const { return {operations, operand, instructions}; }
};

/// So many simple operations.
Work simple(double count) { return {count, count}; }
Work exponentials(double count) { return {count, kExponential * count}; }
Work logarithms(double count) { return {count, kLogarithm * count}; }

/// What `body` does on one element; it is emitted into a block that is thrown away.
Work count(MLIRContext& context, const ScalarBody& body, const std::vector<DType>& scalars, size_t coordinates) {
  if (!body) return {};
  Block block;
  OpBuilder builder(&context);
  mlir::Location loc = builder.getUnknownLoc();
  for (DType dtype : scalars) block.addArgument(scalar_type(builder, dtype), loc);
  for (size_t i = 0; i < coordinates; ++i) block.addArgument(builder.getI64Type(), loc);
  builder.setInsertionPointToEnd(&block);
  body(builder, loc, block.getArguments());
  Work work;
  block.walk([&](Operation* op) { work = work + Work{is_arithmetic(*op) ? 1.0 : 0.0, instructions_of(*op)}; });
  return work;
}

Work count(MLIRContext& context, const Fusion& fusion, DType element) {
  std::vector<DType> scalars = {element};
  for (const Operand& operand : fusion.operands) scalars.push_back(operand.dtype);
  return count(context, fusion.body, scalars, fusion.coordinates.size() + fusion.sizes.size());
}

/// Both sides of a reduction.
template <typename Spec>
Work count_fused(MLIRContext& context, const Spec& spec) {
  return count(context, spec.prologue, spec.x.dtype) + count(context, spec.epilogue, DType::float32);
}

/// Drops the terms that are zero.
std::vector<KernelArithmetic> only(std::vector<KernelArithmetic> terms) {
  llvm::erase_if(terms, [](const KernelArithmetic& term) { return term.each == 0 && term.instructions == 0; });
  return terms;
}

}  // namespace

std::vector<KernelArithmetic> arithmetic_of(MLIRContext& context, const ElementwiseSpec& spec) {
  std::vector<DType> scalars;
  for (const Operand& input : spec.inputs) scalars.push_back(input.dtype);
  return only({count(context, spec.body, scalars, spec.coordinates.size() + spec.sizes.size())
                   .of(static_cast<int>(spec.inputs.size()))});
}

std::vector<KernelArithmetic> arithmetic_of(MLIRContext& context, const SoftmaxSpec& spec) {
  // The maximum, x - max, its exponential, their sum, and the quotient (or the logarithm's subtraction).
  return {(simple(4) + exponentials(1) + count_fused(context, spec)).of(0)};
}

std::vector<KernelArithmetic> arithmetic_of(MLIRContext& context, const NormalizationSpec& spec) {
  // Mean (1), variance (x - mean, its square, the sum), (x - mean) · 1/σ, then weight and bias.
  return {(simple(6 + (spec.weight ? 1 : 0) + (spec.bias ? 1 : 0)) + count_fused(context, spec)).of(0)};
}

std::vector<KernelArithmetic> arithmetic_of(MLIRContext& context, const MeanSpec& spec) {
  const int y = static_cast<int>(1 + spec.prologue.operands.size() + spec.epilogue.operands.size());
  return only({(simple(1) + count(context, spec.prologue, spec.x.dtype)).of(0),
               (simple(spec.take == Reduction::mean ? 1 : 0) + count(context, spec.epilogue, DType::float32)).of(y)});
}

std::vector<KernelArithmetic> arithmetic_of(MLIRContext& context, const LinearSpec& spec) {
  const int y = static_cast<int>(2 + (spec.bias ? 1 : 0) + spec.epilogue.operands.size());
  const auto products = static_cast<double>(spec.in);  // each added in the same instruction
  return {(Work{2 * products, products} + simple(spec.bias ? 1 : 0) + count(context, spec.epilogue, DType::float32)).of(y)};
}

// Long lines are copied at the rate of the memory, others an element or a few at a time.
std::vector<KernelArithmetic> arithmetic_of(MLIRContext&, const CopySpec& spec) {
  constexpr int64_t kLongLine = 64;
  const bool lines =
      !spec.loops.empty() && spec.loops.back().in_stride == Extent(1) && typical_size(spec.loops.back().size) >= kLongLine;
  return only({Work{0, lines ? 0.0 : 12.0}.of(1)});
}

std::vector<KernelArithmetic> arithmetic_of(MLIRContext&, const EmbeddingBackwardSpec&) { return {simple(1).of(1)}; }
std::vector<KernelArithmetic> arithmetic_of(MLIRContext&, const LookupSpec& spec) {
  return only({simple(spec.backward ? 1 : 0).of(1)});
}
std::vector<KernelArithmetic> arithmetic_of(MLIRContext&, const CumSumSpec&) { return {simple(1).of(0)}; }
std::vector<KernelArithmetic> arithmetic_of(MLIRContext&, const ArgExtremumSpec&) { return {simple(1).of(0)}; }
/// Three exponentials, a logarithm and the arithmetic around them for each alpha; backwards also those of the gradient.
std::vector<KernelArithmetic> arithmetic_of(MLIRContext&, const CtcSpec& spec) {
  const Work alpha = exponentials(3) + logarithms(1) + simple(8);
  return {(spec.backward ? alpha + exponentials(1) + simple(5) : alpha).of(5)};
}
// A product; or the maximum, two differences, exponentials and products, the sum, its logarithm and the result.
std::vector<KernelArithmetic> arithmetic_of(MLIRContext&, const ScanSpec& spec) {
  return {(spec.take == Scan::product ? simple(1) : simple(6) + exponentials(2) + logarithms(1)).of(0)};
}
std::vector<KernelArithmetic> arithmetic_of(MLIRContext&, const ScanBackwardSpec& spec) {
  return {(spec.take == Scan::product ? simple(3) : simple(6) + exponentials(1)).of(0)};
}
std::vector<KernelArithmetic> arithmetic_of(MLIRContext&, const ArgScanSpec&) { return {simple(1).of(0)}; }
/// A comparison on each level of the heap, up and down.
std::vector<KernelArithmetic> arithmetic_of(MLIRContext&, const ArgSortSpec& spec) {
  const Extent& n =
      spec.x.shape[static_cast<size_t>(spec.dim < 0 ? spec.dim + static_cast<int64_t>(spec.x.shape.size()) : spec.dim)];
  return {simple(2 * std::log2(static_cast<double>(typical_size(n)) + 1)).of(0)};
}
std::vector<KernelArithmetic> arithmetic_of(MLIRContext&, const ScatterSpec& spec) {
  return only({simple(spec.add ? 1 : 0).of(0)});
}
std::vector<KernelArithmetic> arithmetic_of(MLIRContext&, const ResampleSpec& spec) {
  return {simple(2.0 * static_cast<double>(spec.weights.size()) / static_cast<double>(spec.starts.size())).of(1)};
}

}  // namespace sheaf::kernels
