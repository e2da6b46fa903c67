// dist-partition: turns nn programs into dist programs, in which every movement between places is an op.
#include "ir/Analysis/ShapeAnalysis.h"
#include "passes/Passes.h"
#include "passes/dist/RegionParts.h"

#include "mlir/IR/IRMapping.h"

namespace sheaf::passes {
#define GEN_PASS_DEF_DISTPARTITION
#include "passes/Passes.h.inc"

using namespace mlir;
using dist::PlacedType;

namespace {

/// Rewrites one function. Its state says where each nn value is.
class Partitioner {
 public:
  Partitioner(func::FuncOp function, SymbolTable& symbols)
      : function_(function), symbols_(symbols), builder_(function.getContext()) {}

  void run() {
    Block& block = function_.getBody().front();
    place_arguments(block);
    for (Operation& op : llvm::make_early_inc_range(block)) {
      builder_.setInsertionPoint(&op);
      if (auto parallel = dyn_cast<nn::DataParallelOp>(op)) partition_region(parallel);
      else if (!op.hasTrait<OpTrait::IsTerminator>()) partition_op(op);
      else
        for (OpOperand& operand : op.getOpOperands()) operand.set(placed_.lookup(operand.get()));
    }
    for (Operation& op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isa<nn::NnDialect>(op.getDialect())) op.erase();
    for (BlockArgument argument : block.getArguments()) argument.setType(argument_types_[argument.getArgNumber()]);
    function_.setType(builder_.getFunctionType(block.getArgumentTypes(), block.getTerminator()->getOperandTypes()));
  }

 private:
  /// Inputs arrive on the host. A parameter lives where it is first used; if replicas use it first, on the first of them.
  void place_arguments(Block& block) {
    for (BlockArgument argument : block.getArguments()) {
      auto role = function_.getArgAttrOfType<StringAttr>(argument.getArgNumber(), nn::kRole);
      bool given = llvm::is_contained({"input", "target", "setting"}, role.getValue());
      Attribute home = given || argument.use_empty() ? host() : home_of(*first_user(argument));
      auto tensor = cast<RankedTensorType>(argument.getType());
      argument_types_.push_back(PlacedType::get(builder_.getContext(), tensor, home));
      // The argument itself gets its placed type at the end; until then nn ops still use it.
      placed_[argument] = argument;
      layout_[argument] = home;
    }
  }

  static Operation* first_user(BlockArgument argument) {
    Operation* first = nullptr;
    for (Operation* user : argument.getUsers()) {
      Operation* top = argument.getOwner()->findAncestorOpInBlock(*user);
      if (!first || top->isBeforeInBlock(first)) first = top;
    }
    return first;
  }

  Attribute home_of(Operation& op) {
    if (auto parallel = dyn_cast<nn::DataParallelOp>(op))
      return device(parallel.getDeviceIds() ? (*parallel.getDeviceIds())[0] : 0);
    if (op.hasTrait<OpTrait::IsTerminator>()) return host();
    return device(op.getAttrOfType<IntegerAttr>(nn::kDevice).getInt());
  }

  Attribute host() { return dist::HostAttr::get(builder_.getContext()); }
  Attribute device(int64_t index) { return index == nn::kHost ? host() : dist::DeviceAttr::get(builder_.getContext(), index); }

  RankedTensorType tensor_of(mlir::Value value) {
    if (auto placed = dyn_cast<PlacedType>(value.getType())) return placed.getTensor();
    return cast<RankedTensorType>(value.getType());
  }

  /// Moves a placed value into `layout` with an `Op`, once for all its users.
  template <typename Op>
  mlir::Value move(mlir::Value value, RankedTensorType tensor, Attribute layout, mlir::Location loc,
                   const std::string& reason) {
    mlir::Value& moved = moved_[{value, layout}];
    if (!moved)
      moved = builder_.create<Op>(loc, PlacedType::get(builder_.getContext(), tensor, layout), value,
                                  builder_.getStringAttr(reason));
    return moved;
  }

  mlir::Value on(mlir::Value value, Attribute place, mlir::Location loc) {
    mlir::Value placed = placed_.lookup(value);
    if (layout_.lookup(placed) == place) return placed;
    std::string reason = "layer '" + nn::layer_of(loc).str() + "' runs on " + dist::in_words(place) +
                         ", but this value is on " + dist::in_words(layout_.lookup(placed));
    return move<dist::TransferOp>(placed, tensor_of(placed), place, loc, reason);
  }

  void define(mlir::Value old_value, mlir::Value new_value) {
    placed_[old_value] = new_value;
    layout_[new_value] = cast<PlacedType>(new_value.getType()).getLayout();
  }

  void partition_op(Operation& op) {
    Attribute place = device(op.getAttrOfType<IntegerAttr>(nn::kDevice).getInt());
    SmallVector<mlir::Value> inputs, old_inputs, outputs;
    for (mlir::Value operand : op.getOperands()) {
      if (llvm::is_contained(old_inputs, operand)) continue;
      old_inputs.push_back(operand);
      inputs.push_back(on(operand, place, op.getLoc()));
    }
    SmallVector<mlir::Type> types;
    for (mlir::Value result : op.getResults()) {
      if (result.use_empty()) continue;
      outputs.push_back(result);
      types.push_back(PlacedType::get(builder_.getContext(), cast<RankedTensorType>(result.getType()), place));
    }
    auto apply = builder_.create<dist::ApplyOp>(op.getLoc(), types, inputs, place);
    fill_body(apply.getBody(), old_inputs, {&op}, outputs);
    for (auto [result, output] : llvm::zip(outputs, apply.getOutputs())) define(result, output);
  }

  /// Clones `ops` into a new body whose arguments stand for `inputs`, yielding `outputs`.
  void fill_body(mlir::Region& region, ArrayRef<mlir::Value> inputs, ArrayRef<Operation*> ops, ArrayRef<mlir::Value> outputs) {
    OpBuilder::InsertionGuard guard(builder_);
    Block* body = builder_.createBlock(&region);
    IRMapping map;
    for (mlir::Value input : inputs) map.map(input, body->addArgument(tensor_of(input), input.getLoc()));
    builder_.setInsertionPointToEnd(body);
    for (Operation* op : ops) builder_.clone(*op, map)->removeAttr(nn::kDevice);
    SmallVector<mlir::Value> yielded;
    for (mlir::Value output : outputs) yielded.push_back(map.lookup(output));
    builder_.create<dist::YieldOp>(region.getParentOp()->getLoc(), yielded);
  }

  /// The group is named after the layer, made into a legal and unused symbol.
  FlatSymbolRefAttr create_group(nn::DataParallelOp parallel) {
    OpBuilder::InsertionGuard guard(builder_);
    builder_.setInsertionPoint(function_);
    auto group = builder_.create<dist::GroupOp>(parallel.getLoc(), builder_.getStringAttr(parallel.getName()),
                                                builder_.getStringAttr(parallel.getName()), parallel.getDeviceIdsAttr(),
                                                parallel.getOutputDeviceAttr(), parallel.getDimAttr());
    StringAttr name = symbols_.insert(group, Block::iterator(function_));
    return FlatSymbolRefAttr::get(name);
  }

  void partition_region(nn::DataParallelOp parallel) {
    FlatSymbolRefAttr group = create_group(parallel);
    MLIRContext* context = builder_.getContext();
    mlir::Location loc = parallel.getLoc();
    const auto replicated = dist::ReplicatedAttr::get(context, group);
    std::string layer = "DataParallel layer '" + parallel.getName().str() + "'";
    for (auto [input, argument] : llvm::zip(parallel.getInputs(), parallel.getBody().getArguments())) {
      auto tensor = cast<RankedTensorType>(argument.getType());
      if (parallel.isReplicated(argument.getArgNumber())) {
        define(argument, move<dist::ReplicateOp>(placed_.lookup(input), tensor, replicated, loc,
                                                 layer + " gives each replica the whole input, which has no batch dimension"));
        continue;
      }
      auto split = dist::SplitAttr::get(context, group, *ir::normalize_dim(parallel.getDim(), tensor.getRank()));
      define(argument, move<dist::ScatterOp>(placed_.lookup(input), tensor, split, loc,
                                             layer + " gives each replica a chunk of the input along dimension " +
                                                 std::to_string(split.getDim())));
    }
    Attribute home = device(parallel.getOutputDevice() ? *parallel.getOutputDevice()
                            : parallel.getDeviceIds()  ? (*parallel.getDeviceIds())[0]
                                                       : 0);
    const std::string reason = layer + " concatenates its replicas' outputs on " + dist::in_words(home) +
                               (parallel.getOutputDevice() ? ", its output_device" : ", the first of its devices");
    for (const RegionPart& part : parts_of(parallel)) {
      ResultRange outputs = run_part(parallel, part, group);
      auto next = [&] {
        mlir::Value output = outputs.front();
        outputs = outputs.drop_front();
        return output;
      };
      for (OpOperand* yielded : part.yielded) {
        mlir::Value result = parallel.getResult(yielded->getOperandNumber());
        define(result, move<dist::GatherOp>(next(), cast<RankedTensorType>(result.getType()), home, loc, reason));
      }
      for (mlir::Value value : part.crossing) define(value, next());
      for (nn::SumOverReplicasOp sum : part.sums)
        define(sum.getY(), move<dist::AllReduceOp>(next(), tensor_of(sum.getY()), replicated, sum.getLoc(),
                                                   "'" + nn::layer_of(sum.getLoc()).str() +
                                                       "' needs a sum over the whole batch, of which each replica of '" +
                                                       parallel.getName().str() + "' has a chunk"));
    }
  }

  /// Each replica's work in one part of a region. Its results are what leaves the region, what later parts use, and summands.
  ResultRange run_part(nn::DataParallelOp parallel, const RegionPart& part, FlatSymbolRefAttr group) {
    MLIRContext* context = builder_.getContext();
    SmallVector<mlir::Value> inputs, outputs;
    for (mlir::Value input : part.inputs) {
      mlir::Value placed = placed_.lookup(input);
      if (dist::group_of(layout_.lookup(placed)) != group) {
        auto user = llvm::find_if(part.ops, [&](Operation* op) { return llvm::is_contained(op->getOperands(), input); });
        placed = move<dist::ReplicateOp>(
            placed, tensor_of(placed), dist::ReplicatedAttr::get(context, group),
            (user == part.ops.end() ? parallel.getBody().front().getTerminator() : *user)->getLoc(),
            "every replica of '" + parallel.getName().str() + "' needs a copy of the module's parameters and buffers");
      }
      inputs.push_back(placed);
    }
    SmallVector<mlir::Type> types;
    auto give = [&](mlir::Value value, Attribute layout) {
      types.push_back(PlacedType::get(context, cast<RankedTensorType>(value.getType()), layout));
      outputs.push_back(value);
    };
    for (OpOperand* yielded : part.yielded) {
      auto tensor = cast<RankedTensorType>(yielded->get().getType());
      give(yielded->get(), dist::SplitAttr::get(
                               context, group, tensor.getRank() ? *ir::normalize_dim(parallel.getDim(), tensor.getRank()) : 0));
    }
    for (mlir::Value value : part.crossing) give(value, dist::LocalAttr::get(context, group));
    for (nn::SumOverReplicasOp sum : part.sums) give(sum.getX(), dist::PartialAttr::get(context, group));
    auto apply = builder_.create<dist::ParallelApplyOp>(parallel.getLoc(), types, inputs, group);
    fill_body(apply.getBody(), part.inputs, part.ops, outputs);
    return apply.getOutputs();
  }

  func::FuncOp function_;
  SymbolTable& symbols_;
  OpBuilder builder_;
  SmallVector<mlir::Type> argument_types_;
  DenseMap<mlir::Value, mlir::Value> placed_;  ///< nn value → the dist value that holds it
  DenseMap<mlir::Value, Attribute> layout_;    ///< dist value → its layout
  DenseMap<std::pair<mlir::Value, Attribute>, mlir::Value> moved_;
};

struct DistPartition : impl::DistPartitionBase<DistPartition> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (auto function : llvm::to_vector(getOperation().getOps<func::FuncOp>())) {
      if (function.isExternal()) {
        function.emitError("has no body");
        return signalPassFailure();
      }
      for (Operation& op : function.getBody().front().without_terminator()) {
        if (!isa_and_nonnull<nn::NnDialect>(op.getDialect())) {
          op.emitError("is no op of the nn dialect");
          return signalPassFailure();
        }
        if (!isa<nn::DataParallelOp>(op) && !op.hasAttr(nn::kDevice)) {
          op.emitError("has no device; run nn-place first");
          return signalPassFailure();
        }
      }
      for (unsigned i = 0; i < function.getNumArguments(); ++i)
        if (!function.getArgAttrOfType<StringAttr>(i, nn::kRole) || !isa<RankedTensorType>(function.getArgument(i).getType())) {
          function.emitError("has an argument without nn.role or ranked type; run nn-infer-shapes first");
          return signalPassFailure();
        }
      Partitioner(function, symbols).run();
    }
  }
};

}  // namespace
}  // namespace sheaf::passes
