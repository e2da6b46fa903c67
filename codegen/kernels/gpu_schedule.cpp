// Pass sheaf-gpu-schedule: makes a kernel's GPU entries and decides which thread does what in them (gpu_thread.h).
#include "codegen/kernels/gpu_thread.h"
#include "codegen/kernels/gpu_vectors.h"
#include "codegen/kernels/passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace sheaf::kernels {
namespace {

using namespace mlir;
using mlir::Location;  // not those of namespace sheaf
using mlir::Value;

/// The GPU form of one kernel.
class Scheduled {
 public:
  explicit Scheduled(func::FuncOp kernel) : kernel_(kernel), b_(kernel), loc_(kernel.getLoc()) {
    auto given = kernel->getAttrOfType<DictionaryAttr>(schedule_attribute);
    schedule_.block = static_cast<int>(cast<IntegerAttr>(given.get("block")).getInt());
    schedule_.lanes = static_cast<int>(cast<IntegerAttr>(given.get("lanes")).getInt());
    schedule_.columns = given.contains("columns");
    if (auto each = given.getAs<IntegerAttr>("each")) schedule_.each = static_cast<int>(each.getInt());
    if (auto width = given.getAs<IntegerAttr>("width")) schedule_.width = static_cast<int>(width.getInt());
    for (Type type : kernel.getArgumentTypes()) buffers_ += isa<MemRefType>(type) ? 1 : 0;
  }
  LogicalResult replace();

 private:
  void entry();
  void many();
  func::FuncOp make(const Twine& name, ArrayRef<Type> arguments);
  void unless_guarded(Value guard, llvm::function_ref<void()> body);
  void body(func::FuncOp function, ValueRange buffers, ValueRange extents, Value work);
  Value load(Value address, Type type);
  Value memref_at(Value address, MemRefType type);

  func::FuncOp kernel_;
  OpBuilder b_;
  Location loc_;
  GpuSchedule schedule_;
  unsigned buffers_ = 0;
};

LogicalResult Scheduled::replace() {
  unsigned loops = 0;
  for (Operation& op : kernel_.front()) {
    auto loop = dyn_cast<scf::ParallelOp>(op);
    loops += loop ? 1 : 0;
    bool whole = loop && loop.getNumLoops() == 1 && loop.getLowerBound()[0] == kernel_.getArgument(buffers_) &&
                 loop.getUpperBound()[0] == kernel_.getArgument(buffers_ + 1) && loop.getNumResults() == 0;
    if (loops > 1 || (loop && !whole) || isa<memref::AllocaOp, memref::StoreOp, scf::ForOp>(op))
      return op.emitOpError("is not part of one parallel loop over the kernel's range");
    if (loop && schedule_.width > 1 && !Vectors(loop, schedule_.width).possible())
      return op.emitOpError("does not access memory by vectors of neighbouring elements");
  }
  std::string name = kernel_.getName().str();
  kernel_.setName(name + ".loops");
  entry();
  if (kernel_->hasAttr(many_attribute)) many();
  kernel_.erase();
  return success();
}

func::FuncOp Scheduled::make(const Twine& name, ArrayRef<Type> arguments) {
  b_.setInsertionPoint(kernel_);
  auto function = b_.create<func::FuncOp>(loc_, name.str(), b_.getFunctionType(arguments, {}));
  function->setAttr(kernel_attribute, b_.getUnitAttr());
  function->setAttr(block_attribute, b_.getI32IntegerAttr(schedule_.block));
  constexpr int threads = 1024;  // enough of them with at most 64 registers keep the memory busy
  if (schedule_.width > 1) function->setAttr(resident_attribute, b_.getI32IntegerAttr(threads / schedule_.block));
  if (Attribute same = kernel_->getAttr(in_place_attribute)) function->setAttr(in_place_attribute, same);
  b_.setInsertionPointToStart(function.addEntryBlock());
  b_.create<func::ReturnOp>(loc_);
  b_.setInsertionPointToStart(&function.front());
  return function;
}

/// K(buffers..., extents..., work, guard).
void Scheduled::entry() {
  SmallVector<Type> types(kernel_.getArgumentTypes());
  types.erase(types.begin() + buffers_, types.begin() + buffers_ + 2);
  types.append({b_.getIndexType(), b_.getI64Type()});
  auto function = make(kernel_.getName().drop_back(StringRef(".loops").size()), types);
  ValueRange arguments = function.getArguments();
  unless_guarded(arguments.back(), [&] {
    body(function, arguments.take_front(buffers_), arguments.drop_front(buffers_).drop_back(2), arguments.drop_back().back());
  });
}

/// K_many(table, count, guard): row y of the table is the work and then the buffers.
void Scheduled::many() {
  Type i64 = b_.getI64Type(), index = b_.getIndexType();
  auto function = make(kernel_.getName().drop_back(StringRef(".loops").size()) + "_many", {i64, index, i64});
  function->removeAttr(in_place_attribute);  // its buffers are not arguments
  unless_guarded(function.getArgument(2), [&] {
    auto id = [&](Value register_) -> Value { return b_.create<arith::IndexCastUIOp>(loc_, index, register_); };
    auto rows = b_.create<scf::ForOp>(loc_, id(b_.create<NVVM::BlockIdYOp>(loc_, b_.getI32Type())), function.getArgument(1),
                                      id(b_.create<NVVM::GridDimYOp>(loc_, b_.getI32Type())));
    b_.setInsertionPoint(rows.getBody()->getTerminator());
    auto number = [&](int64_t value) -> Value { return b_.create<arith::ConstantIntOp>(loc_, value, 64); };
    Value row = b_.create<arith::MulIOp>(loc_, b_.create<arith::IndexCastOp>(loc_, i64, rows.getInductionVar()),
                                         number(8 * (buffers_ + 1)));
    row = b_.create<arith::AddIOp>(loc_, function.getArgument(0), row);
    Value work = b_.create<arith::IndexCastOp>(loc_, index, load(row, i64));
    SmallVector<Value> buffers;
    for (unsigned i = 0; i < buffers_; ++i) {
      Value address = load(b_.create<arith::AddIOp>(loc_, row, number(8 * (i + 1))), i64);
      buffers.push_back(memref_at(address, cast<MemRefType>(kernel_.getArgumentTypes()[i])));
    }
    body(function, buffers, {}, work);
  });
}

Value Scheduled::load(Value address, Type type) {
  auto pointer = LLVM::LLVMPointerType::get(b_.getContext(), global_space);
  return b_.create<LLVM::LoadOp>(loc_, type, b_.create<LLVM::IntToPtrOp>(loc_, pointer, address));
}

/// A memref of which only the address is known or needed.
Value Scheduled::memref_at(Value address, MemRefType type) {
  auto pointer = LLVM::LLVMPointerType::get(b_.getContext(), global_space);
  Type i64 = b_.getI64Type(), one = LLVM::LLVMArrayType::get(i64, 1);
  auto descriptor = LLVM::LLVMStructType::getLiteral(b_.getContext(), {pointer, pointer, i64, one, one});
  Value made = b_.create<LLVM::UndefOp>(loc_, descriptor);
  made = b_.create<LLVM::InsertValueOp>(loc_, made, b_.create<LLVM::IntToPtrOp>(loc_, pointer, address), 1);
  auto global =
      MemRefType::get(type.getShape(), type.getElementType(), MemRefLayoutAttrInterface(), b_.getI64IntegerAttr(global_space));
  return b_.create<UnrealizedConversionCastOp>(loc_, global, made).getResult(0);
}

/// Runs `body` if `guard` is null or the int32 it points to is 0.
void Scheduled::unless_guarded(Value guard, llvm::function_ref<void()> body) {
  Type i32 = b_.getI32Type();
  Value given = b_.create<arith::CmpIOp>(loc_, arith::CmpIPredicate::ne, guard, b_.create<arith::ConstantIntOp>(loc_, 0, 64));
  Value zero = b_.create<arith::ConstantIntOp>(loc_, 0, 32);
  auto flag = b_.create<scf::IfOp>(
      loc_, given, [&](OpBuilder& b, Location) { b.create<scf::YieldOp>(loc_, load(guard, i32)); },
      [&](OpBuilder& b, Location) { b.create<scf::YieldOp>(loc_, zero); });
  Value free = b_.create<arith::CmpIOp>(loc_, arith::CmpIPredicate::eq, flag.getResult(0), zero);
  auto branch = b_.create<scf::IfOp>(loc_, free, /*withElseRegion=*/false);
  b_.setInsertionPoint(branch.thenBlock()->getTerminator());
  body();
}

void Scheduled::body(func::FuncOp function, ValueRange buffers, ValueRange extents, Value work) {
  IRMapping map;
  map.map(kernel_.getArguments().take_front(buffers_), buffers);
  map.map(kernel_.getArguments().drop_front(buffers_ + 2), extents);
  ThreadBody thread(b_, function, schedule_, std::move(map));
  for (Operation& op : kernel_.front().without_terminator()) {
    if (auto loop = dyn_cast<scf::ParallelOp>(op)) thread.range(loop, work);
    else thread.around(op);
  }
}

struct GpuSchedulePass : PassWrapper<GpuSchedulePass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(GpuSchedulePass)

  StringRef getArgument() const final { return "sheaf-gpu-schedule"; }
  StringRef getDescription() const final { return "Share a kernel's loops among a GPU's threads"; }
  void getDependentDialects(DialectRegistry& registry) const final {
    registry.insert<arith::ArithDialect, LLVM::LLVMDialect, memref::MemRefDialect, NVVM::NVVMDialect, scf::SCFDialect>();
  }

  void runOnOperation() final {
    for (auto kernel : llvm::to_vector(getOperation().getOps<func::FuncOp>())) {
      if (!kernel->hasAttr(schedule_attribute)) continue;
      if (failed(Scheduled(kernel).replace())) return signalPassFailure();
    }
  }
};

}  // namespace

std::unique_ptr<mlir::Pass> create_gpu_schedule_pass() { return std::make_unique<GpuSchedulePass>(); }

}  // namespace sheaf::kernels
