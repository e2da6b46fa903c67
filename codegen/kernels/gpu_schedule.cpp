// Makes a kernel's GPU entries and decides which thread does what in them (gpu_thread.h).
#include "codegen/kernels/gpu_thread.h"
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

int64_t number(DictionaryAttr given, StringRef name, int64_t otherwise) {
  auto attribute = given.getAs<IntegerAttr>(name);
  return attribute ? attribute.getInt() : otherwise;
}

/// The bytes read by one iteration of the loop.
int64_t bytes_read(scf::ParallelOp loop) {
  int64_t bytes = 0;
  for (Operation& op : loop.getBody()->without_terminator())
    if (auto load = dyn_cast<memref::LoadOp>(op); load && load.getType().isIntOrFloat())
      bytes += (load.getType().getIntOrFloatBitWidth() + 7) / 8;
  return bytes;
}

/// The GPU form of one kernel.
class Scheduled {
 public:
  explicit Scheduled(func::FuncOp kernel) : kernel_(kernel), b_(kernel), loc_(kernel.getLoc()) {
    auto given = kernel->getAttrOfType<DictionaryAttr>(schedule_attribute);
    schedule_.block = static_cast<int>(number(given, "block", schedule_.block));
    schedule_.lanes = static_cast<int>(number(given, "lanes", schedule_.lanes));
    schedule_.columns = given.contains("columns");
    schedule_.size = number(given, "size", schedule_.size);
    schedule_.across = number(given, "across", schedule_.across);
    for (Type type : kernel.getArgumentTypes()) buffers_ += isa<MemRefType>(type) ? 1 : 0;
  }
  FailureOr<GpuSchedule> replace();

 private:
  void decide(scf::ParallelOp loop);
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
  std::optional<Vectors> vectors_;
  unsigned buffers_ = 0;
};

FailureOr<GpuSchedule> Scheduled::replace() {
  unsigned loops = 0;
  for (Operation& op : kernel_.front()) {
    auto loop = dyn_cast<scf::ParallelOp>(op);
    loops += loop ? 1 : 0;
    bool whole = loop && loop.getNumLoops() == 1 && loop.getLowerBound()[0] == kernel_.getArgument(buffers_) &&
                 loop.getUpperBound()[0] == kernel_.getArgument(buffers_ + 1) && loop.getNumResults() == 0;
    if (loops > 1 || (loop && !whole) || isa<memref::AllocaOp, memref::StoreOp, scf::ForOp>(op))
      return op.emitOpError("is not part of one parallel loop over the kernel's range");
  }
  for (auto loop : kernel_.getOps<scf::ParallelOp>()) decide(loop);
  std::string name = kernel_.getName().str();
  kernel_.setName(name + ".loops");
  entry();
  if (kernel_->hasAttr(many_attribute)) many();
  kernel_.erase();
  return schedule_;
}

/// How much a thread does at once: enough to keep an H200's memory busy. That takes 3.5 MB in flight: 26 bytes for each of the
/// 1024 threads that a multiprocessor keeps if they have 64 registers.
void Scheduled::decide(scf::ParallelOp loop) {
  constexpr int64_t in_flight = 32, least = 16;  // bytes
  vectors_ = Vectors::widest(loop, schedule_);
  if (vectors_ && vectors_->along() == Vectors::Along::iterations) {
    schedule_ = rows_by_vectors(schedule_, vectors_->width());
  } else if (vectors_ && schedule_.columns) {
    schedule_ = columns_by_vectors(schedule_, vectors_->width());
  } else if (vectors_) {
    const int64_t bytes = vectors_->bytes_read(*loop.getBody());
    schedule_.width = vectors_->width();
    schedule_.each = schedule_.width * (bytes > 0 && bytes < in_flight ? 2 : 1);
  } else if (schedule_.lanes == 1 && schedule_.block >= 256 && can_go_abreast(*loop.getBody(), 64)) {
    schedule_.each = bytes_read(loop) * 4 >= least || bytes_read(loop) == 0 ? 4 : 8;
  }
}

func::FuncOp Scheduled::make(const Twine& name, ArrayRef<Type> arguments) {
  b_.setInsertionPoint(kernel_);
  auto function = b_.create<func::FuncOp>(loc_, name.str(), b_.getFunctionType(arguments, {}));
  function->setAttr(kernel_attribute, b_.getUnitAttr());
  function->setAttr(block_attribute, b_.getI32IntegerAttr(schedule_.block));
  if (vectors_ || kernel_->hasAttr(many_attribute)) function->setAttr(repeated_attribute, b_.getUnitAttr());
  constexpr int threads = 1024;  // enough of them with at most 64 registers keep the memory busy
  if (vectors_ && !schedule_.columns) function->setAttr(resident_attribute, b_.getI32IntegerAttr(threads / schedule_.block));
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

/// A memref with only its address known or needed.
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
  ThreadBody thread(b_, function, schedule_, vectors_ ? &*vectors_ : nullptr, std::move(map));
  for (Operation& op : kernel_.front().without_terminator()) {
    if (auto loop = dyn_cast<scf::ParallelOp>(op)) thread.range(loop, work);
    else thread.around(op);
  }
}

/// Pass sheaf-gpu-schedule.
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
      if (failed(share_out(kernel))) return signalPassFailure();
    }
  }
};

}  // namespace

FailureOr<GpuSchedule> share_out(func::FuncOp kernel) { return Scheduled(kernel).replace(); }

std::unique_ptr<mlir::Pass> create_gpu_schedule_pass() { return std::make_unique<GpuSchedulePass>(); }

}  // namespace sheaf::kernels
