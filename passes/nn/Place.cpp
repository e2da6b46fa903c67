// nn-place: gives every op outside parallel regions a device and a reason.
#include "passes/Passes.h"

namespace sheaf::passes {
#define GEN_PASS_DEF_NNPLACE
#include "passes/Passes.h.inc"

using namespace mlir;

namespace {

std::string device_name(int64_t device) { return device == nn::kHost ? "the host" : "device " + std::to_string(device); }

struct Placement {
  int64_t device;
  std::string reason;
};

struct NnPlace : impl::NnPlaceBase<NnPlace> {
  using Base::Base;

  void runOnOperation() override {
    if (getOperation().isExternal()) return;
    for (Operation& op : getOperation().getBody().front().without_terminator()) {
      if (auto parallel = dyn_cast<nn::DataParallelOp>(op)) {
        if (failed(place_region(parallel))) return signalPassFailure();
        continue;
      }
      Placement placement = place(op);
      OpBuilder builder(op.getContext());
      op.setAttr(nn::kDevice, builder.getI64IntegerAttr(placement.device));
      op.setAttr(nn::kReason, builder.getStringAttr(placement.reason));
    }
  }

 private:
  Placement place(Operation& op) {
    if (auto annotated = op.getAttrOfType<IntegerAttr>(nn::kDevice))
      return {annotated.getInt(), "the model file places it on " + device_name(annotated.getInt())};
    if (auto embedding = dyn_cast<nn::EmbeddingOp>(op); embedding && deviceMemory > 0) {
      auto table = cast<RankedTensorType>(embedding.getWeight().getType());
      int64_t bytes = table.getNumElements() * table.getElementTypeBitWidth() / 8;
      if (bytes > deviceMemory)
        return {nn::kHost, "its table of " + std::to_string(bytes) + " bytes doesn't fit the " + std::to_string(deviceMemory) +
                               " bytes of device memory stated"};
    }
    for (mlir::Value operand : op.getOperands())
      if (auto device = device_of(operand))
        // An embedding kept on the host says nothing about its successors: they compute, so they go to a device.
        if (*device != nn::kHost || !has_parameters(op))
          return {*device, "stays on " + device_name(*device) + ", where its input is"};
    return {0, "the first device of the list, as no other is named"};
  }

  /// Where a value was computed; nullopt for the program's inputs and parameters.
  static std::optional<int64_t> device_of(mlir::Value value) {
    Operation* producer = value.getDefiningOp();
    if (!producer) return std::nullopt;
    if (auto parallel = dyn_cast<nn::DataParallelOp>(producer)) return output_device(parallel);
    return producer->getAttrOfType<IntegerAttr>(nn::kDevice).getInt();
  }

  static int64_t output_device(nn::DataParallelOp parallel) {
    if (auto device = parallel.getOutputDevice()) return *device;
    return parallel.getDeviceIds() ? (*parallel.getDeviceIds())[0] : 0;
  }

  bool has_parameters(Operation& op) {
    return llvm::any_of(op.getOperands(), [&](mlir::Value value) {
      auto argument = dyn_cast<BlockArgument>(value);
      auto role = argument ? getOperation().getArgAttrOfType<StringAttr>(argument.getArgNumber(), nn::kRole) : StringAttr();
      return role && (role.getValue() == "parameter" || role.getValue() == "buffer");
    });
  }

  /// Replicas run on their group's devices; ops inside may not ask for another place.
  static LogicalResult place_region(nn::DataParallelOp parallel) {
    for (Operation& op : parallel.getBody().front())
      if (op.hasAttr(nn::kDevice))
        return op.emitError("is placed on ")
               << device_name(op.getAttrOfType<IntegerAttr>(nn::kDevice).getInt()) << ", but is in the DataParallel layer '"
               << parallel.getName() << "', whose replicas run on the group's devices; remove `device`, or move the layer out";
    return success();
  }
};

}  // namespace
}  // namespace sheaf::passes
