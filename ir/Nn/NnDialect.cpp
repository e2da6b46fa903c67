#include "ir/Nn/Dropout.h"
#include "ir/Nn/Mixing.h"
#include "ir/Nn/Checkpoint.h"
#include "ir/Nn/Lengths.h"
#include "ir/Nn/Nn.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace sheaf::nn;

#include "ir/Nn/NnDialect.cpp.inc"
#include "ir/Nn/NnInterfaces.cpp.inc"

void NnDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "ir/Nn/NnOps.cpp.inc"
      >();
}

/// nn.device is an integer ≥ -1; nn.reason, nn.type, nn.padding_mode and nn.length are strings; nn.outputs, nn.gradients, nn.updates,
/// nn.notes and nn.named_sizes are arrays of strings; nn.optimizer is a dictionary, nn.lengths one of integers; nn.clip_grad_norm, nn.momentum and nn.dropout are numbers;
/// nn.slopes are two.
LogicalResult NnDialect::verifyOperationAttribute(Operation* op, NamedAttribute attribute) {
  StringRef name = attribute.getName();
  if (name == kDevice) {
    auto index = dyn_cast<IntegerAttr>(attribute.getValue());
    if (!index || index.getInt() < kHost)
      return op->emitError("nn.device must be -1 (the host) or an entry of the device list");
    return success();
  }
  if (name == kReason || name == kType || name == kPaddingMode || name == kLength) {
    if (!isa<StringAttr>(attribute.getValue())) return op->emitError() << name << " must be a string";
    return success();
  }
  if (name == kOutputs || name == kGradients || name == kUpdates || name == kNotes || name == kDifferentiate ||
      name == kNamedSizes) {
    auto names = dyn_cast<ArrayAttr>(attribute.getValue());
    if (!names || !llvm::all_of(names, [](Attribute a) { return isa<StringAttr>(a); }))
      return op->emitError() << name << " must be a list of " << (name == kNotes ? "sentences" : "names");
    return success();
  }
  if (name == kOptimizer) {
    auto optimizer = dyn_cast<DictionaryAttr>(attribute.getValue());
    if (!optimizer || !optimizer.getAs<StringAttr>("type"))
      return op->emitError("nn.optimizer must be a dictionary with the optimiser's type");
    if (auto groups = optimizer.get("parameter_groups")) {
      auto named = [](Attribute group) {
        auto own = dyn_cast<DictionaryAttr>(group);
        auto names = own ? own.getAs<ArrayAttr>("parameters") : ArrayAttr();
        return names && llvm::all_of(names, [](Attribute name) { return isa<StringAttr>(name); });
      };
      if (!isa<ArrayAttr>(groups) || !llvm::all_of(cast<ArrayAttr>(groups), named))
        return op->emitError(
            "nn.optimizer's parameter_groups must be a list of dictionaries with the names of their parameters");
    }
    return success();
  }
  if (name == kLossScale) {
    if (!isa<DictionaryAttr>(attribute.getValue())) return op->emitError("nn.loss_scale must be a dictionary");
    return success();
  }
  if (name == kLengths) {
    auto lengths = dyn_cast<DictionaryAttr>(attribute.getValue());
    if (!lengths || !llvm::all_of(lengths, [](NamedAttribute length) { return isa<IntegerAttr>(length.getValue()); }))
      return op->emitError("nn.lengths must be a dictionary of largest numbers");
    return success();
  }
  if (name == kClipNorm || name == kMomentum || name == kDropout) {
    if (!isa<FloatAttr>(attribute.getValue())) return op->emitError() << name << " must be a number";
    return success();
  }
  if (name == kSlopes) {
    auto slopes = dyn_cast<DenseF64ArrayAttr>(attribute.getValue());
    if (!slopes || slopes.size() != 2) return op->emitError() << name << " must be two numbers";
    return success();
  }
  if (name == kMixesRows || name == kMasked || name == kApart || name == kSynchronized) {
    if (!isa<UnitAttr>(attribute.getValue())) return op->emitError() << name << " has no value";
    return success();
  }
  return op->emitError("unknown attribute '") << name << "'";
}

StringRef sheaf::nn::layer_of(Location loc) {
  if (auto name = dyn_cast<NameLoc>(loc)) return name.getName();
  if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location part : fused.getLocations())
      if (StringRef layer = layer_of(part); !layer.empty()) return layer;
  return "";
}

FileLineColLoc sheaf::nn::position_of(Location loc) {
  FileLineColLoc found;
  loc->walk([&](Location part) {
    found = dyn_cast<FileLineColLoc>(part);
    return found ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found;
}
