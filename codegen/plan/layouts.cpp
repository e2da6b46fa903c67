#include "codegen/plan/layouts.h"

#include "ir/Dist/Dist.h"
#include "ir/Nn/Nn.h"
#include "runtime/base/extent_product.h"

using namespace mlir;

namespace sheaf::codegen {
namespace {

constexpr ValueLayout kReplicated{ValueLayout::replicated, 0}, kPartial{ValueLayout::partial, 0}, kLocal{ValueLayout::local, 0},
    kSharded{ValueLayout::sharded, 0};

ValueLayout split(int64_t dim) { return {ValueLayout::split, static_cast<int>(dim)}; }

/// Element counts before a dimension.
Extent elements_before(const ir::TensorShape& shape, int64_t dim) {
  Extent product = 1;
  for (const Extent& size : ArrayRef(shape.dims).take_front(static_cast<size_t>(dim))) product = multiplied(product, size);
  return product;
}

/// The dimension of a recurrent layer's input that holds the rows.
int64_t batch_dim(Operation& op) {
  auto first = op.getAttrOfType<BoolAttr>("batch_first");
  return first && first.getValue() ? 0 : 1;
}

}  // namespace

LayoutAnalysis::LayoutAnalysis(func::FuncOp function, const ir::ShapeAnalysis& shapes) : shapes_(shapes) {
  for (BlockArgument argument : function.getArguments()) {
    Attribute layout = cast<dist::PlacedType>(argument.getType()).getLayout();
    if (isa<dist::ReplicatedAttr>(layout)) layouts_[argument] = kReplicated;
    if (isa<dist::ShardedAttr>(layout)) layouts_[argument] = kSharded;
  }
  for (Operation& op : function.getBody().front().without_terminator()) {
    if (auto apply = dyn_cast<dist::ParallelApplyOp>(op)) {
      visit_region(op, ir::group_index(&op, apply.getGroup()));
      continue;
    }
    for (mlir::Value result : op.getResults()) {
      auto placed = dyn_cast<dist::PlacedType>(result.getType());
      if (!placed) continue;
      if (auto layout = dyn_cast<dist::SplitAttr>(placed.getLayout())) {
        int region = ir::group_index(&op, layout.getGroup().getValue());
        auto dim = cut(result, region);
        // A vector's elements are 0-dimensional values: each replica has its own.
        layouts_[result] = dim && *dim == static_cast<int64_t>(layout.getDim()) ? split(*dim) : kLocal;
      } else if (isa<dist::ReplicatedAttr>(placed.getLayout())) {
        layouts_[result] = kReplicated;
      } else if (isa<dist::ShardedAttr>(placed.getLayout())) {
        layouts_[result] = kSharded;
      }
    }
  }
}

ValueLayout LayoutAnalysis::of(mlir::Value value) const { return layouts_.lookup(value); }

std::optional<int64_t> LayoutAnalysis::cut(mlir::Value value, int region) const {
  std::optional<int64_t> found;
  for (auto [i, dim] : llvm::enumerate(shapes_.of(value).dims)) {
    for (const std::string& name : symbols_in(dim)) {
      auto symbol = llvm::find_if(shapes_.symbols(), [&](const sheaf::Symbol& s) { return s.name == name; });
      if (symbol->kind != sheaf::Symbol::chunk || symbol->region != region) continue;
      if (found || dim.constant != 0 || dim.terms.size() != 1) return std::nullopt;
      found = static_cast<int64_t>(i);
    }
  }
  return found;
}

void LayoutAnalysis::enter(Operation& op) {
  for (auto [operand, argument] : llvm::zip(op.getOperands(), op.getRegion(0).front().getArguments()))
    layouts_[argument] = of(operand);
}

void LayoutAnalysis::visit_region(Operation& apply, int region) {
  Block& body = apply.getRegion(0).front();
  enter(apply);
  for (Operation& op : body.without_terminator()) visit(op, region);
  for (auto [result, value] : llvm::zip(apply.getResults(), body.getTerminator()->getOperands()))
    if (isa<dist::PartialAttr>(cast<dist::PlacedType>(result.getType()).getLayout())) make_partial(value);
  for (auto [result, value] : llvm::zip(apply.getResults(), body.getTerminator()->getOperands())) layouts_[result] = of(value);
}

void LayoutAnalysis::visit(Operation& op, int region) {
  const bool mixing = mixes(op, region);
  const bool alike = llvm::all_of(op.getOperands(), [&](mlir::Value operand) { return of(operand) == kReplicated; });
  const bool shares = llvm::any_of(op.getOperands(), [&](mlir::Value operand) { return of(operand) == kSharded; });
  for (mlir::Value result : op.getResults()) {
    if (shares && isa<nn::NonfiniteOp>(op)) {
      layouts_[result] = kLocal;  // of the shares that a replica has
    } else if (shares) {
      layouts_[result] = kSharded;
    } else if (auto dim = cut(result, region)) {
      layouts_[result] = mixing ? kLocal : split(*dim);
    } else {
      layouts_[result] = alike ? kReplicated : kLocal;
    }
  }
}

bool LayoutAnalysis::mixes_fused(Operation& fused, int region) {
  Block& body = fused.getRegion(0).front();
  enter(fused);
  bool mixing = false;
  for (Operation& op : body.without_terminator()) {
    visit(op, region);
    // A sum over rows doesn't have the shape of rows: it matters whether it is the last op's result or a later op broadcasts it
    // again.
    for (mlir::Value result : op.getResults()) {
      const bool last = llvm::is_contained(body.getTerminator()->getOperands(), result);
      mixing |= of(result) == kLocal && !last;
    }
  }
  for (mlir::Value value : body.getTerminator()->getOperands()) mixing |= cut(value, region) && of(value) == kLocal;
  return mixing;
}

bool LayoutAnalysis::mixes(Operation& op, int region) {
  if (isa<nn::FusedOp>(op)) return mixes_fused(op, region);
  if (isa<nn::PrintOp>(op) || op.getNumOperands() == 0) return false;
  if (isa<nn::BatchNormTrainOp, nn::BatchNormBackwardOp>(op)) return true;
  if (isa<nn::LstmBackwardOp, nn::GruBackwardOp, nn::RnnBackwardOp>(op)) return cut(op.getOperand(0), region) != batch_dim(op);
  auto to = cut(op.getResult(0), region);
  if (isa<nn::ReshapeOp>(op)) {
    auto from = cut(op.getOperand(0), region);
    if (!from || !to) return from != to;
    return elements_before(shapes_.of(op.getOperand(0)), *from) != elements_before(shapes_.of(op.getResult(0)), *to);
  }
  auto splits = dyn_cast<nn::SplitOpInterface>(op);
  for (OpOperand& operand : op.getOpOperands()) {
    auto from = cut(operand.get(), region);
    if (!from) continue;
    if (!splits) return true;
    int64_t rank = static_cast<int64_t>(shapes_.of(operand.get()).dims.size());
    if (splits.splitDim(operand.getOperandNumber(), rank, *from) != to) return true;
  }
  return false;
}

void LayoutAnalysis::make_partial(mlir::Value value) {
  // A value that is split, or the same everywhere, is not part of a sum, whatever becomes of it.
  if (of(value) != kLocal) return;
  layouts_[value] = kPartial;
  Operation* op = value.getDefiningOp();
  if (op && isa<nn::AddOp, nn::ReshapeOp, nn::PermuteOp>(op))
    for (mlir::Value operand : op->getOperands()) make_partial(operand);
}

}  // namespace sheaf::codegen
