#include "codegen/kernels/emitter.h"

#include "codegen/kernels/passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"

#include <limits>

namespace sheaf::kernels {

using namespace mlir;

Emitter::Emitter(MLIRContext* context, Target target, std::vector<Extent> extents)
    : builder(context), loc(UnknownLoc::get(context)), target_(target), extents_(std::move(extents)) {
  function_ = func::FuncOp::create(loc, "kernel", builder.getFunctionType({}, {}));
  function_->setAttr(kernel_attribute, builder.getUnitAttr());
  builder.setInsertionPointToStart(function_.addEntryBlock());
}

Emitter::~Emitter() {
  if (function_) function_->erase();
}

Type Emitter::storage_type(DType dtype) {
  switch (dtype) {
    case DType::float32: return builder.getF32Type();
    case DType::float16: return builder.getF16Type();
    case DType::bfloat16: return builder.getI16Type();  // arithmetic on its bits: no target supports all of bf16
    case DType::int64: return builder.getI64Type();
    case DType::int32: return builder.getI32Type();
    case DType::uint8:
    case DType::boolean: return builder.getI8Type();
  }
  return {};
}

int Emitter::add_buffer(DType dtype) {
  function_.front().addArgument(MemRefType::get({ShapedType::kDynamic}, storage_type(dtype)), loc);
  buffers_.push_back(dtype);
  return static_cast<int>(buffers_.size()) - 1;
}

void Emitter::start() {
  begin_ = function_.front().addArgument(builder.getIndexType(), loc);
  end_ = function_.front().addArgument(builder.getIndexType(), loc);
  for (size_t i = 0; i < extents_.size(); ++i) function_.front().addArgument(builder.getIndexType(), loc);
}

func::FuncOp Emitter::take() {
  builder.create<func::ReturnOp>(loc);
  Block& entry = function_.front();
  // Set only now, because arguments were added to the block as they were needed.
  function_.setFunctionType(builder.getFunctionType(entry.getArgumentTypes(), {}));
  return std::exchange(function_, {});
}

int64_t Emitter::cost() const {
  int64_t cost = 1;
  func::FuncOp function = function_;
  function.walk([&](Operation* op) { cost += isa<math::MathDialect>(op->getDialect()) ? 8 : 0; });
  return cost;
}

void Emitter::allow_in_place(int input, int output) {
  llvm::SmallVector<int64_t> buffers;
  if (auto known = function_->getAttrOfType<DenseI64ArrayAttr>(in_place_attribute))
    buffers.assign(known.asArrayRef().begin(), known.asArrayRef().end());
  for (int64_t buffer : {input, output})
    if (!llvm::is_contained(buffers, buffer)) buffers.push_back(buffer);
  function_->setAttr(in_place_attribute, builder.getDenseI64ArrayAttr(buffers));
}

Value Emitter::constant(int64_t value) { return builder.create<arith::ConstantIndexOp>(loc, value); }

Value Emitter::f32(double value) {
  return builder.create<arith::ConstantOp>(loc, builder.getF32FloatAttr(static_cast<float>(value)));
}

Value Emitter::size(const Extent& extent) {
  if (extent.is_static()) return constant(extent.constant);
  auto found = llvm::find(extents_, extent);
  size_t position = found - extents_.begin();
  if (found == extents_.end()) {
    extents_.push_back(extent);
    function_.front().addArgument(builder.getIndexType(), loc);
  }
  return function_.front().getArgument(buffers_.size() + 2 + position);
}

Value Emitter::add(Value a, Value b) { return builder.createOrFold<arith::AddIOp>(loc, a, b); }
Value Emitter::multiply(Value a, Value b) { return builder.createOrFold<arith::MulIOp>(loc, a, b); }

Value Emitter::buffer(int buffer) { return function_.front().getArgument(buffer); }

Value Emitter::load(int buffer, Value offset) {
  Value value = builder.create<memref::LoadOp>(loc, this->buffer(buffer), offset);
  if (buffers_[buffer] == DType::float16) return builder.create<arith::ExtFOp>(loc, builder.getF32Type(), value);
  if (buffers_[buffer] == DType::boolean) {
    Value zero = builder.create<arith::ConstantIntOp>(loc, 0, 8);
    return builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, value, zero);
  }
  if (buffers_[buffer] != DType::bfloat16) return value;
  Value wide = builder.create<arith::ExtUIOp>(loc, builder.getI32Type(), value);
  Value sixteen = builder.create<arith::ConstantIntOp>(loc, 16, 32);
  return builder.create<arith::BitcastOp>(loc, builder.getF32Type(), builder.create<arith::ShLIOp>(loc, wide, sixteen));
}

void Emitter::store(int buffer, Value offset, Value value) {
  if (buffers_[buffer] == DType::boolean) {
    value = builder.create<arith::ExtUIOp>(loc, builder.getI8Type(), value);
  } else if (buffers_[buffer] == DType::float16) {
    value = builder.create<arith::TruncFOp>(loc, builder.getF16Type(), value);
  } else if (buffers_[buffer] == DType::bfloat16) {
    // Round to nearest even on the bits. A NaN becomes a fixed one, since rounding its payload could give infinity.
    auto i32 = [&](int64_t c) -> Value { return builder.create<arith::ConstantIntOp>(loc, c, 32); };
    Value bits = builder.create<arith::BitcastOp>(loc, builder.getI32Type(), value);
    Value high = builder.create<arith::ShRUIOp>(loc, bits, i32(16));
    Value bias = builder.create<arith::AddIOp>(loc, builder.create<arith::AndIOp>(loc, high, i32(1)), i32(0x7fff));
    Value rounded = builder.create<arith::ShRUIOp>(loc, builder.create<arith::AddIOp>(loc, bits, bias), i32(16));
    Value nan = builder.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNO, value, value);
    value = builder.create<arith::TruncIOp>(loc, builder.getI16Type(),
                                            builder.create<arith::SelectOp>(loc, nan, i32(0x7fc0), rounded));
  }
  builder.create<memref::StoreOp>(loc, value, this->buffer(buffer), offset);
}

Value Emitter::scratch(int64_t count, Type element) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&function_.front());  // once per call, not once per iteration
  return builder.create<memref::AllocaOp>(loc, MemRefType::get({count}, element), builder.getI64IntegerAttr(64));
}

Value Emitter::table(llvm::ArrayRef<int64_t> values) {
  auto type = RankedTensorType::get({static_cast<int64_t>(values.size())}, builder.getI64Type());
  return table(DenseElementsAttr::get(type, values),
               llvm::StringRef(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(int64_t)));
}
Value Emitter::table(llvm::ArrayRef<float> values) {
  auto type = RankedTensorType::get({static_cast<int64_t>(values.size())}, builder.getF32Type());
  return table(DenseElementsAttr::get(type, values),
               llvm::StringRef(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)));
}
Value Emitter::table(DenseElementsAttr values, llvm::StringRef bytes) {
  std::string name = "table_" + llvm::utohexstr(llvm::xxh3_64bits(bytes)) + "_" + std::to_string(bytes.size());
  auto type = MemRefType::get(values.getType().getShape(), values.getElementType());
  tables_.push_back({name, values});
  return builder.create<memref::GetGlobalOp>(loc, type, name);
}

Value Emitter::read(Value scratch, Value index) { return builder.create<memref::LoadOp>(loc, scratch, index); }

void Emitter::write(Value scratch, Value index, Value value) { builder.create<memref::StoreOp>(loc, value, scratch, index); }

void Emitter::parallel(Value low, Value high, llvm::function_ref<void(Value)> body) {
  Value step = constant(1);
  auto loop = builder.create<scf::ParallelOp>(loc, low, high, step);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(loop.getBody()->getTerminator());
  body(loop.getInductionVars()[0]);
}

void Emitter::sequential(Value low, Value high, int64_t step, llvm::function_ref<void(Value)> body) {
  auto loop = builder.create<scf::ForOp>(loc, low, high, constant(step));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(loop.getBody()->getTerminator());
  body(loop.getInductionVar());
}

Emitter::Values Emitter::reduce(Combine combine, Value low, Value high, llvm::ArrayRef<Type> types,
                                llvm::function_ref<Values(Value)> body) {
  Values neutral;
  for (Type type : types)
    neutral.push_back(builder.create<arith::ConstantOp>(
        loc, combine == Combine::maximum ? builder.getFloatAttr(type, -std::numeric_limits<double>::infinity())
                                         : builder.getZeroAttr(type)));
  auto loop = builder.create<scf::ParallelOp>(loc, ValueRange(low), ValueRange(high), ValueRange(constant(1)), neutral);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(loop.getBody());
  Values parts = body(loop.getInductionVars()[0]);
  auto reduce = builder.create<scf::ReduceOp>(loc, parts);
  for (size_t i = 0; i < types.size(); ++i) {
    Block& block = reduce.getReductions()[i].front();
    builder.setInsertionPointToEnd(&block);
    Value a = block.getArgument(0), b = block.getArgument(1), both;
    if (combine == Combine::sum) both = builder.create<arith::AddFOp>(loc, a, b);
    else if (combine == Combine::maximum) both = builder.create<arith::MaximumFOp>(loc, a, b);
    else both = builder.create<arith::OrIOp>(loc, a, b);
    builder.create<scf::ReduceReturnOp>(loc, both);
  }
  return Values(loop.getResults());
}

Emitter::Values Emitter::accurate_sums(const Extent& count, size_t sums, llvm::function_ref<Values(Value)> body) {
  // 64 or more partial sums (vector lanes) of at most 64 terms each: the error stays at a few ulp.
  constexpr int64_t block = 4096;
  llvm::SmallVector<Type> f32(sums, builder.getF32Type()), f64(sums, builder.getF64Type());
  auto block_sums = [&](Value low, Value high) { return reduce(Combine::sum, low, high, f32, body); };
  if (count.is_static() && count.constant <= block) return block_sums(constant(0), size(count));
  Value total = size(count);
  auto widened = [&](Values parts) {
    for (Value& part : parts) part = builder.create<arith::ExtFOp>(loc, f64[0], part);
    return parts;
  };
  auto narrowed = [&](Values totals) {
    for (Value& sum : totals) sum = builder.create<arith::TruncFOp>(loc, f32[0], sum);
    return totals;
  };
  // On a GPU, threads would have to combine blocks one after another; adding in f64 costs less.
  if (for_gpu()) return narrowed(reduce(Combine::sum, constant(0), total, f64, [&](Value i) { return widened(body(i)); }));
  Value blocks = builder.create<arith::CeilDivUIOp>(loc, total, constant(block));
  return narrowed(reduce(Combine::sum, constant(0), blocks, f64, [&](Value i) {
    Value low = multiply(i, constant(block));
    Value high = builder.create<arith::MinUIOp>(loc, add(low, constant(block)), total);
    return widened(block_sums(low, high));
  }));
}

Value Emitter::to_f32(Value index) {
  Value integer = builder.create<arith::IndexCastOp>(loc, builder.getI64Type(), index);
  return builder.create<arith::UIToFPOp>(loc, builder.getF32Type(), integer);
}

Emitter::Values Emitter::decompose(Value flat, const std::vector<Loop>& loops, size_t count) {
  Values indices(count);
  for (size_t i = count; i-- > 0;) {
    if (loops[i].size == Extent(1)) {
      indices[i] = constant(0);
    } else if (i == 0) {
      indices[i] = flat;
    } else {
      Value extent = size(loops[i].size);
      indices[i] = builder.create<arith::RemUIOp>(loc, flat, extent);
      flat = builder.create<arith::DivUIOp>(loc, flat, extent);
    }
  }
  return indices;
}

Value Emitter::offset(size_t operand, const std::vector<Loop>& loops, llvm::ArrayRef<Value> indices, Value flat,
                      size_t flattened) {
  Value result;
  size_t first = 0;
  auto moves = [&](const Loop& loop) { return loop.moves[operand]; };
  if (flat && llvm::all_of(llvm::ArrayRef(loops).take_front(flattened), moves)) {
    result = flat;
    first = flattened;
  }
  for (size_t i = first; i < loops.size(); ++i) {
    if (!moves(loops[i])) continue;
    result = result ? add(multiply(result, size(loops[i].size)), indices[i]) : indices[i];
  }
  return result ? result : constant(0);
}

}  // namespace sheaf::kernels
