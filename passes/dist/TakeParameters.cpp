// dist-take-parameters: makes a program for callers that pass parameters and buffers at each run and take back their new
// values.
#include "passes/dist/Apply.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sheaf::passes {
#define GEN_PASS_DEF_DISTTAKEPARAMETERS
#include "passes/Passes.h.inc"

using namespace mlir;
using dist::PlacedType;

namespace {

struct DistTakeParameters : impl::DistTakeParametersBase<DistTakeParameters> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal()) return;
    Block& block = function.getBody().front();
    OpBuilder builder = OpBuilder::atBlockBegin(&block);
    auto host = dist::HostAttr::get(function.getContext());
    llvm::BitVector unused(function.getNumArguments());
    for (BlockArgument argument : function.getArguments()) {
      const unsigned index = argument.getArgNumber();
      auto role = function.getArgAttrOfType<StringAttr>(index, nn::kRole);
      if (!role || function.getArgAttr(index, nn::kConstant)) continue;
      if (role.getValue() != "parameter" && role.getValue() != "buffer") continue;
      if (argument.use_empty()) {  // a batch norm's count of batches, in evaluation
        unused.set(index);
        continue;
      }
      function.setArgAttr(index, nn::kRole, builder.getStringAttr("input"));
      Attribute home = layout_of(argument);
      if (home == host) continue;
      argument.setType(PlacedType::get(function.getContext(), tensor_of(argument), host));
      auto moved = builder.create<dist::TransferOp>(
          argument.getLoc(), PlacedType::get(function.getContext(), tensor_of(argument), home), argument,
          builder.getStringAttr("'" + function.getArgAttrOfType<StringAttr>(index, nn::kName).str() +
                                "' is the caller's, and lives on " + dist::in_words(home)));
      argument.replaceAllUsesExcept(moved, moved);
    }
    function.eraseArguments(unused);
    // Assigned values and gradients become outputs.
    SmallVector<Attribute> names(function->getAttrOfType<ArrayAttr>(nn::kOutputs).getValue());
    if (auto updates = function->getAttrOfType<ArrayAttr>(nn::kUpdates)) llvm::append_range(names, updates);
    if (auto gradients = function->getAttrOfType<ArrayAttr>(nn::kGradients))
      for (StringAttr of : gradients.getAsRange<StringAttr>()) names.push_back(builder.getStringAttr(of.getValue() + ".grad"));
    function->setAttr(nn::kOutputs, builder.getArrayAttr(names));
    for (StringRef name : {nn::kUpdates, nn::kGradients, nn::kDifferentiate}) function->removeAttr(name);
    function.setType(builder.getFunctionType(block.getArgumentTypes(), block.getTerminator()->getOperandTypes()));
  }
};

}  // namespace
}  // namespace sheaf::passes
