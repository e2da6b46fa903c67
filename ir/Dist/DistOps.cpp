// Verifiers and folders of dist ops: each op accepts only the layouts it converts between.
#include "ir/Dist/Dist.h"

using namespace mlir;
using namespace sheaf::dist;

#define GET_OP_CLASSES
#include "ir/Dist/DistOps.cpp.inc"

namespace {

bool is_single(Attribute layout) { return isa<HostAttr, DeviceAttr>(layout); }

/// The group that a layout names must exist.
LogicalResult check_group(Operation* op, Attribute layout) {
  FlatSymbolRefAttr group = group_of(layout);
  if (group && !SymbolTable::lookupNearestSymbolFrom<GroupOp>(op, group))
    return op->emitOpError("names group ") << group << ", which does not exist";
  return success();
}

/// Same element type and rank, and the same sizes except along `dim` (-1: no exception).
bool same_but_along(RankedTensorType a, RankedTensorType b, int64_t dim) {
  if (a.getElementType() != b.getElementType() || a.getRank() != b.getRank()) return false;
  for (int64_t i = 0; i < a.getRank(); ++i)
    if (i != dim && a.getDimSize(i) != b.getDimSize(i)) return false;
  return true;
}

LogicalResult check_reason(Operation* op, StringRef reason) {
  if (reason.empty()) return op->emitOpError("expects a reason");
  return success();
}

}  // namespace

LogicalResult GroupOp::verify() {
  if (auto ids = getDeviceIds()) {
    if (ids->empty()) return emitOpError("expects at least one device");
    for (int64_t id : *ids)
      if (id < 0) return emitOpError("expects entries of the device list, but got ") << id;
  }
  return success();
}

LogicalResult ScatterOp::verify() {
  PlacedType from = getInput().getType(), to = getOutput().getType();
  auto split = dyn_cast<SplitAttr>(to.getLayout());
  if (!is_single(from.getLayout()) || !split)
    return emitOpError("goes from the host or a device to a split layout, not from ") << from << " to " << to;
  if (getLike() && getLike().getType() != to)
    return emitOpError("expects a result like ") << getLike().getType() << ", but gives " << to;
  bool scalar = getLike() && to.getTensor().getRank() == 0 && from.getTensor().getRank() == 1;
  bool chunk = same_but_along(from.getTensor(), to.getTensor(), split.getDim()) && to.getTensor().getRank() > 0 &&
               (getLike() || to.getTensor().isDynamicDim(split.getDim()));
  if (!scalar && !chunk)
    return emitOpError("expects a chunk of ")
           << from.getTensor() << " along dimension " << split.getDim() << ", but got " << to.getTensor();
  return failed(check_reason(*this, getReason())) ? failure() : check_group(*this, split);
}

LogicalResult ReplicateOp::verify() {
  PlacedType from = getInput().getType(), to = getOutput().getType();
  if (!is_single(from.getLayout()) || !isa<ReplicatedAttr>(to.getLayout()) || from.getTensor() != to.getTensor())
    return emitOpError("goes from the host or a device to the same tensor on each replica, not from ") << from << " to " << to;
  return failed(check_reason(*this, getReason())) ? failure() : check_group(*this, to.getLayout());
}

LogicalResult GatherOp::verify() {
  PlacedType from = getInput().getType(), to = getOutput().getType();
  auto split = dyn_cast<SplitAttr>(from.getLayout());
  if (!split || !is_single(to.getLayout()))
    return emitOpError("goes from a split layout to the host or a device, not from ") << from << " to " << to;
  bool scalar = from.getTensor().getRank() == 0;
  bool fits = scalar ? to.getTensor().getRank() == 1 : same_but_along(from.getTensor(), to.getTensor(), split.getDim());
  if (!fits)
    return emitOpError("concatenates ") << from.getTensor() << " along dimension " << split.getDim() << ", but gives "
                                        << to.getTensor();
  return failed(check_reason(*this, getReason())) ? failure() : check_group(*this, split);
}

/// From each replica's layout, one of `Layouts`, to the same tensor on the host or a device.
template <typename... Layouts, typename Op>
static LogicalResult verify_collected(Op op, const char* what) {
  PlacedType from = op.getInput().getType(), to = op.getOutput().getType();
  if (!isa<Layouts...>(from.getLayout()) || !is_single(to.getLayout()) || from.getTensor() != to.getTensor())
    return op.emitOpError("goes from ") << what << " to the same tensor on the host or a device, not from " << from << " to "
                                        << to;
  return failed(check_reason(op, op.getReason())) ? failure() : check_group(op, from.getLayout());
}

LogicalResult ReduceOp::verify() { return verify_collected<PartialAttr>(*this, "partial sums"); }
LogicalResult FirstOp::verify() { return verify_collected<LocalAttr, ReplicatedAttr>(*this, "the replicas' values"); }

/// Between two layouts of one group's replicas, for the same tensor.
template <typename From, typename To, typename Op>
static LogicalResult verify_among(Op op, const char* what) {
  PlacedType from = op.getInput().getType(), to = op.getOutput().getType();
  if (!isa<From>(from.getLayout()) || !isa<To>(to.getLayout()) || group_of(from.getLayout()) != group_of(to.getLayout()) ||
      from.getTensor() != to.getTensor())
    return op.emitOpError("goes from ") << what << ", not from " << from << " to " << to;
  return failed(check_reason(op, op.getReason())) ? failure() : check_group(op, to.getLayout());
}

LogicalResult AllReduceOp::verify() {
  return verify_among<PartialAttr, ReplicatedAttr>(*this, "partial sums to the same tensor on each of the replicas");
}
LogicalResult ReduceScatterOp::verify() {
  return verify_among<PartialAttr, ShardedAttr>(*this, "partial sums to the replicas' shares of the same tensor");
}
LogicalResult AllGatherOp::verify() {
  return verify_among<ShardedAttr, ReplicatedAttr>(*this, "the replicas' shares to the same tensor on each of them");
}
LogicalResult ShardOp::verify() {
  return verify_among<ReplicatedAttr, ShardedAttr>(*this, "what each replica has to its share of the same tensor");
}

LogicalResult TransferOp::verify() {
  PlacedType from = getInput().getType(), to = getOutput().getType();
  if (!is_single(from.getLayout()) || !is_single(to.getLayout()) || from.getTensor() != to.getTensor())
    return emitOpError("moves a tensor between the host and devices, not from ") << from << " to " << to;
  return check_reason(*this, getReason());
}

/// A transfer to the place where the value already is, or there and back again.
OpFoldResult TransferOp::fold(FoldAdaptor) {
  if (getInput().getType() == getOutput().getType()) return getInput();
  if (auto before = getInput().getDefiningOp<TransferOp>())
    if (before.getInput().getType() == getOutput().getType()) return before.getInput();
  return {};
}

namespace {

/// Body arguments and yielded values are the tensors of the inputs and outputs.
LogicalResult check_body(Operation* op, Block& body, ValueRange inputs, ValueRange outputs) {
  auto tensor = [](Value value) { return cast<PlacedType>(value.getType()).getTensor(); };
  if (body.getNumArguments() != inputs.size() || body.getTerminator()->getNumOperands() != outputs.size())
    return op->emitOpError("expects a body with ") << inputs.size() << " arguments that yields " << outputs.size() << " values";
  for (auto [input, argument] : llvm::zip(inputs, body.getArguments()))
    if (argument.getType() != tensor(input))
      return op->emitOpError("has an input ") << input.getType() << " that its body takes as " << argument.getType();
  for (auto [output, value] : llvm::zip(outputs, body.getTerminator()->getOperands()))
    if (value.getType() != tensor(output))
      return op->emitOpError("has an output ") << output.getType() << " that its body yields as " << value.getType();
  return success();
}

/// What kinds of values a value in a body is computed from: a sum of these flags.
enum Origin : unsigned { kAlike = 0, kShares = 1, kOwn = 2 };

/// The kinds of inputs it is computed from: each replica's own, shared, or only replicated ones.
unsigned made_of(Value value, ValueRange inputs, llvm::DenseMap<Value, unsigned>& known) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Attribute layout = cast<PlacedType>(inputs[argument.getArgNumber()].getType()).getLayout();
    return isa<ReplicatedAttr>(layout) ? kAlike : isa<ShardedAttr>(layout) ? kShares : kOwn;
  }
  if (auto found = known.find(value); found != known.end()) return found->second;
  unsigned origin = kAlike;
  for (Value operand : value.getDefiningOp()->getOperands()) origin |= made_of(operand, inputs, known);
  return known[value] = origin;
}

}  // namespace

LogicalResult ApplyOp::verify() {
  if (!is_single(getPlace())) return emitOpError("runs on #dist.host or #dist.device<k>, not on ") << getPlace();
  for (Value value : llvm::concat<Value>(llvm::to_vector(getInputs()), llvm::to_vector_of<Value>(getOutputs())))
    if (auto type = cast<PlacedType>(value.getType()); type.getLayout() != getPlace())
      return emitOpError("runs on ") << in_words(getPlace()) << ", but has an operand or result on "
                                     << in_words(type.getLayout()) << "; a transfer is missing";
  return check_body(*this, getBody().front(), getInputs(), getOutputs());
}

LogicalResult ParallelApplyOp::verify() {
  if (failed(check_group(*this, ReplicatedAttr::get(getContext(), getGroupAttr())))) return failure();
  for (Value input : getInputs())
    if (auto type = cast<PlacedType>(input.getType()); group_of(type.getLayout()) != getGroupAttr())
      return emitOpError("runs on ") << getGroupAttr() << ", but has an input on " << in_words(type.getLayout())
                                     << "; a scatter or replicate is missing";
  for (Value output : getOutputs())
    if (group_of(cast<PlacedType>(output.getType()).getLayout()) != getGroupAttr())
      return emitOpError("expects outputs split over, partial, local, replicated or sharded on ") << getGroupAttr();
  Block& body = getBody().front();
  if (failed(check_body(*this, body, getInputs(), getOutputs()))) return failure();
  llvm::DenseMap<Value, unsigned> known;
  for (auto [output, value] : llvm::zip(getOutputs(), body.getTerminator()->getOperands())) {
    Attribute layout = cast<PlacedType>(output.getType()).getLayout();
    const unsigned origin = made_of(value, getInputs(), known);
    if (isa<ReplicatedAttr>(layout) && origin != kAlike)
      return emitOpError("gives ") << output.getType() << ", but computes it from values that differ between replicas";
    if (isa<ShardedAttr>(layout) && origin != kShares)
      return emitOpError("gives ") << output.getType()
                                   << ", but doesn't compute it only from shares and values that all replicas have";
    // A number that each replica counts in its shares is a summand; the plan's checker knows that it is one (adds_parts).
    const bool summand =
        isa<PartialAttr>(layout) && origin == kShares && cast<PlacedType>(output.getType()).getTensor().getRank() == 0;
    if (!isa<ShardedAttr>(layout) && (origin & kShares) && !summand)
      return emitOpError("gives ") << output.getType() << ", but computes it from shares; an all_gather is missing";
  }
  return success();
}
