#include "ir/Analysis/GradientAnalysis.h"

#include "ir/Dist/Dist.h"
#include "ir/Nn/Nn.h"
#include "ir/Nn/Phase.h"

using namespace mlir;

namespace sheaf::ir {
namespace {

bool has_body(Operation* op) { return isa<dist::ApplyOp, dist::ParallelApplyOp, nn::FusedOp>(op); }

/// The value on the other side of a body's border that corresponds to `value`; null for values an op creates itself and for the
/// program's arguments.
mlir::Value across(mlir::Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation* parent = argument.getOwner()->getParentOp();
    return has_body(parent) ? parent->getOperand(argument.getArgNumber()) : mlir::Value();
  }
  Operation* op = value.getDefiningOp();
  if (!has_body(op)) return {};
  return op->getRegion(0).front().getTerminator()->getOperand(cast<OpResult>(value).getResultNumber());
}

class GradientSearch {
 public:
  DenseSet<mlir::Value> run(Operation* function) {
    function->walk([&](Operation* op) {
      if (has_body(op) || op->hasTrait<OpTrait::IsTerminator>() || nn::phase_of(op->getLoc()) != Phase::update) return;
      for (mlir::Value operand : op->getOperands()) visit(operand);
    });
    return std::move(found_);
  }

 private:
  /// The backward pass creates `value` as a gradient.
  void visit(mlir::Value value) {
    SmallVector<mlir::Value> same = {value};
    while (mlir::Value other = across(same.back())) same.push_back(other);
    Operation* maker = same.back().getDefiningOp();
    if (!maker || nn::phase_of(maker->getLoc()) != Phase::backward) return;
    bool seen = found_.contains(same.back());
    found_.insert(same.begin(), same.end());
    if (seen) return;
    if (isa<nn::AddOp, nn::CastOp>(maker)) {
      for (mlir::Value operand : maker->getOperands()) visit(operand);
    } else if (isa<nn::ReshapeOp>(maker) || dist::movement_of(*maker)) {
      visit(maker->getOperand(0));
    }
  }

  DenseSet<mlir::Value> found_;
};

}  // namespace

DenseSet<mlir::Value> parameter_gradients(Operation* function) { return GradientSearch().run(function); }

}  // namespace sheaf::ir
