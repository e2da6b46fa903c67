#include "ir/Dist/Dist.h"

#include "runtime/ops/traits.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sheaf::dist;

#include "ir/Dist/DistDialect.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/Dist/DistAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "ir/Dist/DistTypes.cpp.inc"

void DistDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ir/Dist/DistAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "ir/Dist/DistTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/Dist/DistOps.cpp.inc"
      >();
}

LogicalResult PlacedType::verify(llvm::function_ref<InFlightDiagnostic()> emitError, RankedTensorType tensor,
                                 Attribute layout) {
  if (!llvm::isa<HostAttr, DeviceAttr, SplitAttr, ReplicatedAttr, PartialAttr, LocalAttr, ShardedAttr>(layout))
    return emitError() << "expects a layout (#dist.host, #dist.device, #dist.split, #dist.replicated, #dist.partial, "
                          "#dist.local, #dist.sharded), but got "
                       << layout;
  if (llvm::isa<ShardedAttr>(layout) && !tensor.hasStaticShape())
    return emitError() << "expects a tensor of known size to keep in shares, but got " << tensor;
  if (auto device = llvm::dyn_cast<DeviceAttr>(layout); device && device.getIndex() < 0)
    return emitError() << "expects an entry of the device list, but got " << device.getIndex();
  if (auto split = llvm::dyn_cast<SplitAttr>(layout))
    if (split.getDim() < 0 || (tensor.getRank() > 0 && split.getDim() >= tensor.getRank()))
      return emitError() << "expects a dimension of " << tensor << " to split along, but got " << split.getDim();
  return success();
}

FlatSymbolRefAttr sheaf::dist::group_of(Attribute layout) {
  if (auto split = llvm::dyn_cast<SplitAttr>(layout)) return split.getGroup();
  if (auto replicated = llvm::dyn_cast<ReplicatedAttr>(layout)) return replicated.getGroup();
  if (auto partial = llvm::dyn_cast<PartialAttr>(layout)) return partial.getGroup();
  if (auto local = llvm::dyn_cast<LocalAttr>(layout)) return local.getGroup();
  if (auto sharded = llvm::dyn_cast<ShardedAttr>(layout)) return sharded.getGroup();
  return {};
}

std::optional<sheaf::Op> sheaf::dist::movement_of(Operation& op) {
  const auto known =
      llvm::isa_and_nonnull<DistDialect>(op.getDialect()) ? op_from_name(op.getName().stripDialect().str()) : std::nullopt;
  return known && moves(*known) ? known : std::nullopt;
}

std::string sheaf::dist::in_words(Attribute layout) {
  if (auto device = llvm::dyn_cast<DeviceAttr>(layout)) return "device " + std::to_string(device.getIndex());
  if (llvm::isa<ShardedAttr>(layout)) return "the replicas of " + group_of(layout).getValue().str() + ", in shares";
  if (auto group = group_of(layout)) return "the replicas of " + group.getValue().str();
  return "the host";
}
