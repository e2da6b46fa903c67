// dist-simplify: removes movements that change nothing.
#include "ir/Analysis/ShapeAnalysis.h"
#include "passes/Passes.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace sheaf::passes {
#define GEN_PASS_DEF_DISTSIMPLIFY
#include "passes/Passes.h.inc"

using namespace mlir;

namespace {

/// The symbols of a function by name.
const sheaf::Symbol* find_symbol(const ir::ShapeAnalysis& shapes, const std::string& name) {
  for (const sheaf::Symbol& symbol : shapes.symbols())
    if (symbol.name == name) return &symbol;
  return nullptr;
}

/// Groups that have been replaced. Types still name the old ones until the end of the sweep.
class Renamed {
 public:
  FlatSymbolRefAttr now(FlatSymbolRefAttr group) const {
    for (auto next = to_.find(group.getAttr()); next != to_.end(); next = to_.find(group.getAttr())) group = next->second;
    return group;
  }
  void rename(FlatSymbolRefAttr from, FlatSymbolRefAttr to) { to_[from.getAttr()] = to; }
  void apply(ModuleOp module, func::FuncOp function) const {
    if (to_.empty()) return;
    AttrTypeReplacer replacer;
    replacer.addReplacement([&](FlatSymbolRefAttr group) { return now(group); });
    replacer.recursivelyReplaceElementsIn(function, /*replaceAttrs=*/true, /*replaceLocs=*/false, /*replaceTypes=*/true);
    for (auto group : llvm::to_vector(module.getOps<dist::GroupOp>()))
      if (to_.contains(group.getSymNameAttr())) group.erase();
  }

 private:
  DenseMap<StringAttr, FlatSymbolRefAttr> to_;  ///< by name
};

/// Whether every input that `group` scatters has `total` rows along its split dimension. If so, the group has as many replicas
/// as any other group over the same devices that splits `total`.
bool splits_only(func::FuncOp function, const ir::ShapeAnalysis& shapes, const Renamed& renamed, FlatSymbolRefAttr group,
                 const Extent& total) {
  return llvm::all_of(function.getOps<dist::ScatterOp>(), [&](dist::ScatterOp scatter) {
    auto split = cast<dist::SplitAttr>(scatter.getOutput().getType().getLayout());
    return renamed.now(split.getGroup()) != group || shapes.of(scatter.getInput()).dims[split.getDim()] == total;
  });
}

/// gather(@a) followed by scatter(@b) in the same chunks over the same devices: @b becomes @a and both ops are removed (the
/// gather stays if another op needs the whole value). Returns whether one was found; fails if shapes don't fit. Values keep
/// their sizes, so the whole sweep reads one analysis.
FailureOr<bool> cancel(ModuleOp module, func::FuncOp function) {
  ir::ShapeAnalysis shapes;
  if (failed(shapes.run(function))) return failure();
  SymbolTable symbols(module);
  Renamed renamed;
  bool found = false;
  for (auto scatter : llvm::to_vector(function.getOps<dist::ScatterOp>())) {
    auto gather = scatter.getInput().getDefiningOp<dist::GatherOp>();
    if (!gather) continue;
    auto from = cast<dist::SplitAttr>(gather.getInput().getType().getLayout());
    auto to = cast<dist::SplitAttr>(scatter.getOutput().getType().getLayout());
    if (from.getDim() != to.getDim() || gather.getInput().getType().getTensor().getRank() == 0) continue;
    FlatSymbolRefAttr kept = renamed.now(from.getGroup()), dropped = renamed.now(to.getGroup());
    auto group_a = symbols.lookup<dist::GroupOp>(kept.getAttr());
    auto group_b = symbols.lookup<dist::GroupOp>(dropped.getAttr());
    if (group_a.getDeviceIdsAttr() != group_b.getDeviceIdsAttr()) continue;
    // The chunks agree only if the replica's size is the chunk itself and not a multiple of it: chunks of 2·B rows are not
    // twice the chunks of B.
    const Extent& local = shapes.of(gather.getInput()).dims[from.getDim()];
    const Extent& total = shapes.of(gather.getOutput()).dims[from.getDim()];
    if (local.constant != 0 || local.terms.size() != 1 || local.terms.begin()->second != 1) continue;
    const sheaf::Symbol* chunk = find_symbol(shapes, local.terms.begin()->first);
    if (!chunk || chunk->kind != sheaf::Symbol::chunk || !(chunk->of == total)) continue;
    if (!splits_only(function, shapes, renamed, dropped, total) || !splits_only(function, shapes, renamed, kept, total))
      continue;
    scatter.getOutput().replaceAllUsesWith(gather.getInput());
    scatter.erase();
    if (gather->use_empty()) gather.erase();
    if (group_a != group_b) renamed.rename(dropped, kept);
    found = true;
  }
  renamed.apply(module, function);
  return found;
}

/// Merges equal movements. Bodies are left alone: what layers compute is not this pass's business.
void merge_equal(func::FuncOp function) {
  DenseMap<std::pair<mlir::Value, mlir::Type>, SmallVector<Operation*>> seen;
  for (Operation& op : llvm::make_early_inc_range(function.getBody().front())) {
    if (!isa<dist::ScatterOp, dist::ReplicateOp, dist::GatherOp, dist::TransferOp>(op)) continue;
    auto& alike = seen[{op.getOperand(0), op.getResult(0).getType()}];
    auto same = llvm::find_if(alike, [&](Operation* before) { return before->getName() == op.getName(); });
    if (same == alike.end()) {
      alike.push_back(&op);
      continue;
    }
    op.replaceAllUsesWith(*same);
    op.erase();
  }
}

/// Removes unused results of apply and parallel_apply, and inputs their bodies don't use.
template <typename Op>
struct DropUnused : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter& rewriter) const override {
    Block& body = op.getBody().front();
    BitVector dead_results(op.getNumResults()), dead_inputs(op.getInputs().size());
    for (auto [i, result] : llvm::enumerate(op.getResults())) dead_results[i] = result.use_empty();
    for (auto [i, argument] : llvm::enumerate(body.getArguments())) dead_inputs[i] = argument.use_empty();
    if (dead_results.none() && dead_inputs.none()) return failure();
    SmallVector<mlir::Type> types;
    SmallVector<mlir::Value> kept;
    for (auto [i, result] : llvm::enumerate(op.getResults()))
      if (!dead_results[i]) types.push_back(result.getType()), kept.push_back(result);
    rewriter.modifyOpInPlace(body.getTerminator(), [&] { body.getTerminator()->eraseOperands(dead_results); });
    rewriter.modifyOpInPlace(op, [&] {
      body.eraseArguments(dead_inputs);
      op->eraseOperands(dead_inputs);
    });
    if (dead_results.any()) {
      OperationState state(op.getLoc(), op->getName(), op->getOperands(), types, op->getAttrs());
      state.addRegion()->takeBody(op.getBody());
      Operation* smaller = rewriter.create(state);
      for (auto [old_value, new_value] : llvm::zip(kept, smaller->getResults()))
        rewriter.replaceAllUsesWith(old_value, new_value);
      rewriter.eraseOp(op);
    }
    return success();
  }
};

struct DistSimplify : impl::DistSimplifyBase<DistSimplify> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<DropUnused<dist::ApplyOp>, DropUnused<dist::ParallelApplyOp>>(&getContext());
    FrozenRewritePatternSet frozen(std::move(patterns));
    GreedyRewriteConfig config;
    // nn ops in bodies are folded later, once the logical program has been written down.
    config.enableRegionSimplification = GreedySimplifyRegionLevel::Disabled;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      FailureOr<bool> found = true;
      while (succeeded(found) && *found) found = cancel(getOperation(), function);
      if (failed(found)) return signalPassFailure();
      merge_equal(function);
      if (failed(applyPatternsAndFoldGreedily(function, frozen, config))) return signalPassFailure();
    }
  }
};

}  // namespace
}  // namespace sheaf::passes
