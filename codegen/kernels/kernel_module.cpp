#include "codegen/kernels/kernel_module.h"

#include "codegen/kernels/arithmetic.h"
#include "codegen/kernels/builders.h"
#include "codegen/kernels/gpu_schedule.h"
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

#include <numeric>

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

void set_schedule(func::FuncOp function, const GpuSchedule& schedule, bool many) {
  OpBuilder builder(function);
  NamedAttrList attributes;
  attributes.append("block", builder.getI32IntegerAttr(schedule.block));
  attributes.append("lanes", builder.getI32IntegerAttr(schedule.lanes));
  if (schedule.columns) attributes.append("columns", builder.getUnitAttr());
  attributes.append("size", builder.getI64IntegerAttr(schedule.size));
  attributes.append("across", builder.getI64IntegerAttr(schedule.across));
  function->setAttr(schedule_attribute, attributes.getDictionary(function.getContext()));
  if (many) function->setAttr(many_attribute, builder.getUnitAttr());
}

/// The power of two up to 16 that an extent is a multiple of, whatever its symbols are.
int64_t multiple_of(const Extent& extent) {
  int64_t multiple = std::gcd(int64_t{16}, extent.constant);
  for (const auto& [symbol, factor] : extent.terms) multiple = std::gcd(multiple, factor);
  return multiple;
}

/// The known multiples of a kernel's arguments after its buffers: its range's end and its extents.
std::vector<int64_t> known_multiples(const KernelUse& use, const GpuSchedule& schedule) {
  std::vector<int64_t> multiples{1, schedule.columns ? multiple_of(use.gpu_work) : 1};
  for (const Extent& extent : use.extents) multiples.push_back(multiple_of(extent));
  return multiples;
}

void set_multiples(func::FuncOp function, llvm::ArrayRef<int64_t> multiples) {
  Builder builder(function.getContext());
  const unsigned buffers = function.getNumArguments() - static_cast<unsigned>(multiples.size());
  for (auto [i, multiple] : llvm::enumerate(multiples))
    if (multiple > 1)
      function.setArgAttr(buffers + static_cast<unsigned>(i), multiple_attribute, builder.getI64IntegerAttr(multiple));
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
  const GpuSchedule schedule = (on_gpu ? *on_gpu : emitter).schedule();
  const std::vector<int64_t> multiples = known_multiples(use, schedule);
  stream << schedule.block << ' ' << schedule.lanes << ' ' << schedule.columns << ' ' << schedule.size << ' '
         << schedule.across;
  for (int64_t multiple : multiples) stream << ' ' << multiple;
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
    kernel.gpu_block = schedule.block;
    set_schedule(*gpu_function, schedule, launches_many(kernel));
    set_multiples(*gpu_function, multiples);
    gpu_function->setName(kernel.name);
    func::FuncOp shared = gpu_function.release();
    gpu_module_->push_back(shared);
    const auto decided = share_out(shared);
    if (failed(decided)) return Error(name + ": the generated kernel cannot be shared out (a fault of the compiler)");
    kernel.gpu_block = decided->block;
    kernel.gpu_items = decided->items();
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
