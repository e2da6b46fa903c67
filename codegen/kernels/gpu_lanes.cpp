#include "codegen/kernels/gpu_lanes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace sheaf::kernels {

using namespace mlir;
using mlir::Value;  // not that of namespace sheaf

namespace {
constexpr int warp = 32;
constexpr int64_t shared_space = 3;  // NVPTX's number
}  // namespace

Lanes::Lanes(OpBuilder& builder, func::FuncOp function, const GpuSchedule& schedule, Value thread)
    : builder_(builder), function_(function), loc_(function.getLoc()), schedule_(schedule), thread_(thread) {
  const int64_t items = schedule.block / schedule.lanes;
  Value inner = builder_.create<arith::RemUIOp>(loc_, thread, constant(schedule.columns ? items : schedule.lanes));
  Value outer = builder_.create<arith::DivUIOp>(loc_, thread, constant(schedule.columns ? items : schedule.lanes));
  lane_ = schedule.columns ? outer : inner;
  item_ = schedule.columns ? inner : outer;
  if (schedule.columns || schedule.lanes >= warp) {
    members_ = i32(-1);
  } else {
    // Threads of other items in the same warp may be elsewhere; this doesn't wait for them.
    Value in_warp = builder_.create<arith::IndexCastUIOp>(loc_, builder_.getI32Type(), thread);
    Value first = builder_.create<arith::AndIOp>(loc_, in_warp, i32((warp - 1) & ~(schedule.lanes - 1)));
    members_ = builder_.create<arith::ShLIOp>(loc_, i32((int64_t{1} << schedule.lanes) - 1), first);
  }
}

Value Lanes::i32(int64_t value) { return builder_.create<arith::ConstantIntOp>(loc_, value, 32); }
Value Lanes::constant(int64_t value) { return builder_.create<arith::ConstantIndexOp>(loc_, value); }

/// A block's barrier takes whole warps. If a warp has several lanes of an item, which leave its loops at different times, they
/// meet first.
void Lanes::barrier() {
  if (schedule_.columns && schedule_.block / schedule_.lanes < warp)
    builder_.create<NVVM::SyncWarpOp>(loc_, i32(schedule_.block >= warp ? -1 : (int64_t{1} << schedule_.block) - 1));
  builder_.create<NVVM::Barrier0Op>(loc_);
}

void Lanes::only_where(Value condition, llvm::function_ref<void()> body) {
  auto branch = builder_.create<scf::IfOp>(loc_, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder_);
  builder_.setInsertionPoint(branch.thenBlock()->getTerminator());
  body();
}

Value Lanes::combine(Value value, Combination combination) {
  if (schedule_.lanes == 1) return value;
  if (schedule_.columns) {
    among_rows(value, combination);
    return value;
  }
  if (schedule_.lanes <= warp) return within_warp(value, schedule_.lanes, combination);
  return among_warps(value, combination);
}

void Lanes::combine(MutableArrayRef<Value> values, Combination combination) {
  if (schedule_.lanes > 1) among_rows(values, combination);
}

/// The value of the thread whose number in the warp differs in the bit `distance`. 64-bit values are exchanged in two halves.
Value Lanes::exchange(Value value, int distance) {
  auto half = [&](Value bits) -> Value {
    return builder_.create<NVVM::ShflOp>(loc_, bits.getType(), members_, bits, i32(distance), i32(warp - 1),
                                         NVVM::ShflKind::bfly, UnitAttr());
  };
  Type type = value.getType(), narrow = builder_.getI32Type(), wide = builder_.getI64Type();
  if (type.getIntOrFloatBitWidth() == 32) return half(value);
  Value bits = type.isInteger(64) ? value : builder_.create<arith::BitcastOp>(loc_, wide, value).getResult();
  Value by = builder_.create<arith::ConstantIntOp>(loc_, 32, 64);
  Value low = half(builder_.create<arith::TruncIOp>(loc_, narrow, bits));
  Value high = half(builder_.create<arith::TruncIOp>(loc_, narrow, builder_.create<arith::ShRUIOp>(loc_, bits, by)));
  high = builder_.create<arith::ShLIOp>(loc_, builder_.create<arith::ExtUIOp>(loc_, wide, high), by);
  bits = builder_.create<arith::OrIOp>(loc_, builder_.create<arith::ExtUIOp>(loc_, wide, low), high);
  return type.isInteger(64) ? bits : builder_.create<arith::BitcastOp>(loc_, type, bits).getResult();
}

/// A butterfly: both threads of a pair compute the same sum, because addition commutes.
Value Lanes::within_warp(Value value, int lanes, Combination combination) {
  for (int distance = lanes / 2; distance > 0; distance /= 2) value = combination(value, exchange(value, distance));
  return value;
}

/// One value per warp goes through shared memory; every warp then combines them.
Value Lanes::among_warps(Value value, Combination combination) {
  value = within_warp(value, warp, combination);
  const int warps = schedule_.block / warp;
  Value memory = shared(value.getType(), warps);
  Value place = builder_.create<arith::RemUIOp>(loc_, thread_, constant(warp));
  Value leads = builder_.create<arith::CmpIOp>(loc_, arith::CmpIPredicate::eq, place, constant(0));
  only_where(leads, [&] {
    Value which = builder_.create<arith::DivUIOp>(loc_, thread_, constant(warp));
    builder_.create<memref::StoreOp>(loc_, value, memory, which);
  });
  barrier();
  Value which = builder_.create<arith::RemUIOp>(loc_, thread_, constant(warps));
  Value other = builder_.create<memref::LoadOp>(loc_, memory, which);
  barrier();  // the next sum reuses the memory
  return within_warp(other, warps, combination);
}

/// A tree in shared memory, which has the values of all threads one after another.
void Lanes::among_rows(MutableArrayRef<Value> values, Combination combination) {
  Value memory = shared(values.front().getType(), schedule_.block * static_cast<int64_t>(values.size()));
  const int items = schedule_.block / schedule_.lanes;
  auto place = [&](size_t i, Value thread) -> Value {
    return i == 0 ? thread : builder_.create<arith::AddIOp>(loc_, thread, constant(static_cast<int64_t>(i) * schedule_.block));
  };
  auto read = [&](size_t i, Value thread) -> Value { return builder_.create<memref::LoadOp>(loc_, memory, place(i, thread)); };
  auto write = [&](size_t i, Value value) { builder_.create<memref::StoreOp>(loc_, value, memory, place(i, thread_)); };
  for (auto [i, value] : llvm::enumerate(values)) write(i, value);
  barrier();
  for (int distance = schedule_.lanes / 2; distance > 0; distance /= 2) {
    Value first = builder_.create<arith::CmpIOp>(loc_, arith::CmpIPredicate::ult, lane_, constant(distance));
    only_where(first, [&] {
      Value other = builder_.create<arith::AddIOp>(loc_, thread_, constant(int64_t{distance} * items));
      for (size_t i = 0; i < values.size(); ++i) write(i, combination(read(i, thread_), read(i, other)));
    });
    barrier();
  }
  for (auto [i, value] : llvm::enumerate(values)) value = read(i, item_);
  barrier();
}

/// Memory for `count` values of a type.
Value Lanes::shared(Type element, int64_t count) {
  auto type = MemRefType::get({count}, element, MemRefLayoutAttrInterface(), builder_.getI64IntegerAttr(shared_space));
  std::string name;
  llvm::raw_string_ostream(name) << function_.getName() << "_shared_" << count << "_" << element;
  auto module = function_->getParentOfType<ModuleOp>();
  if (!module.lookupSymbol(name)) {
    OpBuilder::InsertionGuard guard(builder_);
    builder_.setInsertionPoint(function_);
    builder_.create<memref::GlobalOp>(loc_, name, builder_.getStringAttr("private"), type, builder_.getUnitAttr(),
                                      /*constant=*/false, IntegerAttr());
  }
  return builder_.create<memref::GetGlobalOp>(loc_, type, name);
}

}  // namespace sheaf::kernels
