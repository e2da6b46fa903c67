#include "codegen/kernels/kernel_module.h"

#include "codegen/kernels/arithmetic.h"
#include "codegen/kernels/builders.h"
#include "codegen/kernels/gpu_thread.h"
#include "codegen/kernels/gpu_vectors.h"
#include "codegen/kernels/native_object.h"
#include "codegen/kernels/passes.h"
#include "codegen/kernels/pipeline.h"
#include "codegen/kernels/ptx_text.h"
#include "runtime/plan/kernel_lookup.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

namespace sheaf::kernels {

using namespace mlir;

KernelModule::KernelModule(MLIRContext& context) : context_(context) {
  // Vector: the polynomial expansion needs it even if everything is scalar.
  context.loadDialect<arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect, LLVM::LLVMDialect, math::MathDialect,
                      memref::MemRefDialect, NVVM::NVVMDialect, scf::SCFDialect, vector::VectorDialect>();
  module_ = ModuleOp::create(UnknownLoc::get(&context));
  gpu_module_ = ModuleOp::create(UnknownLoc::get(&context));
}

template <typename Spec>
Result<KernelUse> KernelModule::add(const Spec& spec) {
  Emitter emitter(&context_);
  auto use = build(emitter, spec);
  if (!use) return use;
  use->extents = emitter.extents();
  use->gpu_work = use->work;
  std::optional<Emitter> on_gpu;
  if (emitter.asked_for_target()) {
    on_gpu.emplace(&context_, Target::gpu, emitter.extents());
    auto other = build(*on_gpu, spec);
    if (!other) return other;
    use->extents = on_gpu->extents();
    use->gpu_work = other->work;
  }
  return enter(emitter, on_gpu ? &*on_gpu : nullptr, *use, spec.name, spec.description, arithmetic_of(context_, spec));
}

template Result<KernelUse> KernelModule::add(const ElementwiseSpec&);
template Result<KernelUse> KernelModule::add(const SoftmaxSpec&);
template Result<KernelUse> KernelModule::add(const NormalizationSpec&);
template Result<KernelUse> KernelModule::add(const EmbeddingSpec&);
template Result<KernelUse> KernelModule::add(const CopySpec&);
template Result<KernelUse> KernelModule::add(const ConcatSpec&);
template Result<KernelUse> KernelModule::add(const MeanSpec&);
template Result<KernelUse> KernelModule::add(const LinearSpec&);
template Result<KernelUse> KernelModule::add(const PadSpec&);
template Result<KernelUse> KernelModule::add(const EmbeddingBackwardSpec&);
template Result<KernelUse> KernelModule::add(const InverseCountSpec&);
template Result<KernelUse> KernelModule::add(const ConstantSpec&);
template Result<KernelUse> KernelModule::add(const LookupSpec&);
template Result<KernelUse> KernelModule::add(const CumSumSpec&);
template Result<KernelUse> KernelModule::add(const CtcSpec&);
template Result<KernelUse> KernelModule::add(const ScanSpec&);
template Result<KernelUse> KernelModule::add(const ScanBackwardSpec&);
template Result<KernelUse> KernelModule::add(const ArgScanSpec&);
template Result<KernelUse> KernelModule::add(const ArgSortSpec&);
template Result<KernelUse> KernelModule::add(const ScatterSpec&);
template Result<KernelUse> KernelModule::add(const ArgExtremumSpec&);
template Result<KernelUse> KernelModule::add(const ResampleSpec&);

namespace {

/// A valid and readable part of a symbol name.
std::string symbol_part(const std::string& name) {
  std::string result;
  for (char c : name.substr(0, 40)) result += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (result.empty() || std::isdigit(static_cast<unsigned char>(result[0]))) result.insert(0, "k");
  return result;
}

/// The bytes read by one iteration of the loop.
int64_t bytes_read(scf::ParallelOp loop) {
  int64_t bytes = 0;
  for (Operation& op : loop.getBody()->without_terminator())
    if (auto load = dyn_cast<memref::LoadOp>(op); load && load.getType().isIntOrFloat())
      bytes += (load.getType().getIntOrFloatBitWidth() + 7) / 8;
  return bytes;
}

/// Decides what a thread does together if each item is one thread's: enough to keep an H200's memory busy, which needs 3.5 MB in flight:
/// 26 bytes for each of the 1024 threads that a multiprocessor keeps if they have 64 registers.
void set_items_for_a_thread(func::FuncOp function, GpuSchedule& schedule) {
  constexpr int64_t in_flight = 32, least = 16;  // bytes
  if (schedule.lanes > 1 || schedule.block < 256) return;
  for (auto loop : function.getOps<scf::ParallelOp>()) {
    if (auto vectors = Vectors::widest(loop)) {
      schedule.width = vectors->width();
      schedule.each = schedule.width * (vectors->bytes_read() > 0 && vectors->bytes_read() < in_flight ? 2 : 1);
    } else if (can_go_abreast(*loop.getBody(), 64)) {
      schedule.each = bytes_read(loop) * 4 >= least || bytes_read(loop) == 0 ? 4 : 8;
    }
  }
}

void set_schedule(func::FuncOp function, const GpuSchedule& schedule, bool many) {
  OpBuilder builder(function);
  NamedAttrList attributes;
  attributes.append("block", builder.getI32IntegerAttr(schedule.block));
  attributes.append("lanes", builder.getI32IntegerAttr(schedule.lanes));
  if (schedule.each > 1) attributes.append("each", builder.getI32IntegerAttr(schedule.each));
  if (schedule.width > 1) attributes.append("width", builder.getI32IntegerAttr(schedule.width));
  if (schedule.columns) attributes.append("columns", builder.getUnitAttr());
  function->setAttr(schedule_attribute, attributes.getDictionary(function.getContext()));
  if (many) function->setAttr(many_attribute, builder.getUnitAttr());
}

/// Only the kernels the module doesn't have yet: a name identifies its contents.
void add_tables(ModuleOp module, llvm::ArrayRef<Table> tables) {
  for (const Table& table : tables) {
    if (module.lookupSymbol(table.name)) continue;
    OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
    auto type = MemRefType::get(table.values.getType().getShape(), table.values.getElementType());
    builder.create<memref::GlobalOp>(module.getLoc(), table.name, builder.getStringAttr("private"), type, table.values,
                                     /*constant=*/true, /*alignment=*/builder.getI64IntegerAttr(64));
  }
}

}  // namespace

Result<KernelUse> KernelModule::enter(Emitter& emitter, Emitter* on_gpu, KernelUse use, const std::string& name,
                                      const std::string& description, std::vector<KernelArithmetic> arithmetic) {
  OwningOpRef<func::FuncOp> function(emitter.take()), gpu_function(on_gpu ? on_gpu->take() : nullptr);
  if (failed(verify(*function)) || (gpu_function && failed(verify(*gpu_function))))
    return Error(name + ": the generated kernel is not valid (a fault of the compiler)");
  // Its extents are arguments, so kernels that differ only in the symbols they get have the same text.
  std::string text;
  llvm::raw_string_ostream stream(text);
  function->print(stream, OpPrintingFlags().useLocalScope());
  if (gpu_function) gpu_function->print(stream, OpPrintingFlags().useLocalScope());
  GpuSchedule schedule = (on_gpu ? *on_gpu : emitter).schedule();
  stream << schedule.block << ' ' << schedule.lanes << ' ' << schedule.columns;
  auto [found, fresh] = by_text_.emplace(text, kernels_.size());
  if (fresh) {
    Kernel kernel;
    kernel.name = symbol_part(name) + "_" + std::to_string(kernels_.size());
    kernel.description = description.empty() ? name : description;
    kernel.extents = static_cast<int>(use.extents.size());
    kernel.elementwise = use.elementwise;
    kernel.arithmetic = std::move(arithmetic);
    if (!gpu_function) gpu_function = function->clone();
    for (ModuleOp module : {*module_, *gpu_module_}) add_tables(module, emitter.tables());
    set_items_for_a_thread(*gpu_function, schedule);
    kernel.gpu_block = schedule.block;
    kernel.gpu_items = schedule.items();
    set_schedule(*gpu_function, schedule, launches_many(kernel));
    gpu_function->setName(kernel.name);
    gpu_module_->push_back(gpu_function.release());
    function->setName(kernel.name);
    module_->push_back(function.release());
    kernels_.push_back(kernel);
  }
  use.name = kernels_[found->second].name;
  use.description = kernels_[found->second].description;
  return use;
}

std::string KernelModule::text() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  ModuleOp module = *module_;
  module.print(stream);
  return text;
}

Result<void> KernelModule::lower(ModuleOp module, void (*pipeline)(OpPassManager&)) const {
  PassManager passes(&context_);
  // Verified once when added, and by LLVM at the end; verifying between passes would take a third of the time.
  passes.enableVerifier(false);
  pipeline(passes);
  std::string message;
  ScopedDiagnosticHandler handler(&context_, [&](mlir::Diagnostic& diagnostic) {
    message += message.empty() ? diagnostic.str() : "; " + diagnostic.str();
    return success();
  });
  if (succeeded(passes.run(module))) return {};
  return Error("lowering of the generated kernels failed: " + message);
}

Result<std::vector<std::pair<std::string, std::string>>> KernelModule::compile() const {
  if (kernels_.empty()) return std::vector<std::pair<std::string, std::string>>{};
  OwningOpRef<ModuleOp> native(cast<ModuleOp>(ModuleOp(*module_)->clone())),
      gpu(cast<ModuleOp>(ModuleOp(*gpu_module_)->clone()));
  SHEAF_TRY(lower(*gpu, build_gpu_kernel_pipeline));
  PtxText ptx(*gpu);
  SHEAF_TRY(lower(*native, build_kernel_pipeline));
  auto objects = compile_native(*native);
  if (!objects) return objects;
  SHEAF_ASSIGN(auto text, ptx.take());
  objects->emplace_back(kPtxObject, std::move(text));
  return objects;
}

}  // namespace sheaf::kernels
