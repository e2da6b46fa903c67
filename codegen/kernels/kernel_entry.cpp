// Pass sheaf-kernel-entry: makes the function that the runtime calls, and states what it may assume.
#include "codegen/kernels/passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Dominance.h"

namespace sheaf::kernels {
namespace {

using namespace mlir;

/// States that the iterations of the function's loops are independent, so that they are vectorised without overlap checks even
/// if an input is the output. (noalias would forbid that.)
void mark_independent(LLVM::LLVMFuncOp function) {
  MLIRContext* context = function.getContext();
  auto group = LLVM::AccessGroupAttr::get(context, DistinctAttr::create(UnitAttr::get(context)));
  auto groups = ArrayAttr::get(context, {group});
  auto annotation = LLVM::LoopAnnotationAttr::get(context, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {group});
  DominanceInfo dominance(function);
  function.walk([&](Operation* op) {
    if (auto access = dyn_cast<LLVM::AccessGroupOpInterface>(op)) {
      if (isa<LLVM::LoadOp, LLVM::StoreOp>(op)) access.setAccessGroups(groups);
    } else if (auto branch = dyn_cast<LLVM::BrOp>(op)) {
      if (dominance.dominates(branch.getDest(), branch->getBlock())) branch.setLoopAnnotationAttr(annotation);
    }
  });
}

/// `name(ptr buffers, ptr extents, i64 begin, i64 end)`, which loads the pointers and extents and calls the body
/// `name.body(ptr..., i64 begin, i64 end, i64 extents...)`.
void add_entry(LLVM::LLVMFuncOp body) {
  MLIRContext* context = body.getContext();
  Location loc = body.getLoc();
  OpBuilder builder(body.getContext());
  builder.setInsertionPointAfter(body);
  std::string name = body.getName().str();
  body.setName(name + ".body");
  body.setLinkage(LLVM::Linkage::Internal);
  // Kept out of line: if it were inlined, its noalias arguments would become metadata, which vectorisers use less well.
  body.setPassthroughAttr(builder.getStrArrayAttr({"noinline", "nounwind"}));

  auto pointer = LLVM::LLVMPointerType::get(context);
  Type i64 = builder.getI64Type();
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), {pointer, pointer, i64, i64});
  auto entry = builder.create<LLVM::LLVMFuncOp>(loc, name, type);
  entry.setPassthroughAttr(builder.getStrArrayAttr({"nounwind"}));
  Block* block = entry.addEntryBlock(builder);
  builder.setInsertionPointToStart(block);
  auto element = [&](Value base, Type of, int32_t index) -> Value {
    Value address = builder.create<LLVM::GEPOp>(loc, pointer, of, base, ArrayRef<LLVM::GEPArg>{index});
    return builder.create<LLVM::LoadOp>(loc, of, address);
  };
  SmallVector<Value> arguments;
  int32_t buffers = 0, numbers = 0;
  for (Type argument : body.getArgumentTypes()) {
    if (isa<LLVM::LLVMPointerType>(argument)) arguments.push_back(element(block->getArgument(0), pointer, buffers++));
    else if (numbers++ < 2) arguments.push_back(block->getArgument(1 + numbers));  // begin, then end
    else arguments.push_back(element(block->getArgument(1), i64, numbers - 3));
  }
  builder.create<LLVM::CallOp>(loc, body, arguments);
  builder.create<LLVM::ReturnOp>(loc, ValueRange{});
}

struct KernelEntryPass : PassWrapper<KernelEntryPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(KernelEntryPass)

  StringRef getArgument() const final { return "sheaf-kernel-entry"; }
  StringRef getDescription() const final { return "Give each lowered kernel the entry that the runtime calls"; }
  void getDependentDialects(DialectRegistry& registry) const final { registry.insert<LLVM::LLVMDialect>(); }

  void runOnOperation() final {
    for (auto function : llvm::to_vector(getOperation().getOps<LLVM::LLVMFuncOp>())) {
      if (!function->hasAttr(kernel_attribute)) continue;
      if (function->hasAttr(in_place_attribute)) mark_independent(function);
      function->removeAttr(kernel_attribute);
      function->removeAttr(in_place_attribute);
      add_entry(function);
    }
  }
};

}  // namespace

std::unique_ptr<mlir::Pass> create_kernel_entry_pass() { return std::make_unique<KernelEntryPass>(); }

}  // namespace sheaf::kernels
