#include "ir/Analysis/ShapeAnalysis.h"

#include "ir/Dist/Dist.h"
#include "ir/Nn/Lengths.h"
#include "ir/Nn/Nn.h"
#include "ir/Nn/ShapeRules.h"
#include "runtime/base/extent_product.h"

#include "mlir/IR/SymbolTable.h"

using namespace mlir;

namespace sheaf::ir {

int group_index(Operation* from, StringRef group) {
  auto module = from->getParentOfType<ModuleOp>();
  int index = 0;
  for (auto op : module.getOps<dist::GroupOp>()) {
    if (op.getSymName() == group) return index;
    ++index;
  }
  return -1;
}

void ShapeAnalysis::set(mlir::Value value, TensorShape shape) {
  if (refine_types_ && !isa<dist::PlacedType>(value.getType())) value.setType(tensor_type(shape));
  shapes_[value] = std::move(shape);
}

std::string ShapeAnalysis::symbol_for(sheaf::Symbol::Kind kind, int region, const Extent& of) {
  int same_kind = 0;
  for (const sheaf::Symbol& symbol : symbols_) {
    if (symbol.kind != kind || symbol.region != region) continue;
    if (symbol.of == of) return symbol.name;
    ++same_kind;
  }
  // rows0, replicas0: of region 0; rows0_1: its second kind of chunk, with a different total.
  std::string name = (kind == sheaf::Symbol::chunk ? "rows" : "replicas") + std::to_string(region);
  if (same_kind) name += "_" + std::to_string(same_kind);
  symbols_.push_back({name, kind, region, of});
  return name;
}

TensorShape ShapeAnalysis::chunk(const TensorShape& whole, int64_t dim, int region) {
  TensorShape local = whole;
  local.dims[dim] = Extent::symbol(symbol_for(sheaf::Symbol::chunk, region, whole.dims[dim]));
  return local;
}

const sheaf::Symbol& ShapeAnalysis::symbol_named(const std::string& name) const {
  return *llvm::find_if(symbols_, [&](const sheaf::Symbol& symbol) { return symbol.name == name; });
}

bool ShapeAnalysis::lacks_rows(const Extent& size) const {
  return !size.is_static() && llvm::all_of(symbols_in(size), [&](const std::string& name) { return is_length(name); });
}

void ShapeAnalysis::note_largest(Operation& op) {
  auto length = op.getAttrOfType<StringAttr>(nn::kLength);
  if (!length || isa<nn::PadOp>(op)) return;
  const TensorShape& x = of(op.getOperand(0));
  const Extent& room = x.dims[*normalize_dim(op.getAttrOfType<IntegerAttr>("dim").getInt(), x.rank())];
  auto symbol = llvm::find_if(symbols_, [&](const sheaf::Symbol& known) { return known.name == length.getValue(); });
  if (room.is_static() && (symbol->of == Extent() || room.constant < symbol->of.constant)) symbol->of = room;
}

LogicalResult ShapeAnalysis::note_whole_count(Operation& op) {
  auto inverse = dyn_cast<nn::InverseCountOp>(op);
  auto apply = op.getParentOfType<dist::ParallelApplyOp>();
  if (!inverse || !inverse.getWhole() || !apply) return success();
  const TensorShape& like = of(inverse.getLike());
  Extent count = 1;
  for (int64_t dim : inverse.getDims()) count = multiplied(count, like.dims[*normalize_dim(dim, like.rank())]);
  // As if the replicas' elements were put one after another.
  FailureOr<TensorShape> all = gathered(op, {like.element, {count}}, 0, group_index(&op, apply.getGroup()));
  if (failed(all)) return failure();
  whole_counts_[inverse.getY()] = all->dims[0];
  return success();
}

FailureOr<TensorShape> ShapeAnalysis::gathered(Operation& op, const TensorShape& local, int64_t dim, int region) {
  auto is_chunk = [&](const std::string& name) {
    const sheaf::Symbol& symbol = symbol_named(name);
    return symbol.kind == sheaf::Symbol::chunk && symbol.region == region;
  };
  auto replicas = [&] { return symbol_for(sheaf::Symbol::replicas, region, Extent()); };
  if (local.rank() == 0) return TensorShape{local.element, {Extent::symbol(replicas())}};
  TensorShape whole = local;
  for (int64_t i = 0; i < local.rank(); ++i) {
    if (i == dim) continue;
    for (const std::string& name : symbols_in(local.dims[i]))
      if (is_chunk(name))
        return op.emitError("gathers along dimension ")
               << dim << ", but dimension " << i << " of " << to_string(local)
               << " differs between replicas; the output must keep the split dimension where it is";
  }
  // Σ over replicas of (factor · chunk + constant) = factor · total + constant · replicas.
  Extent total;
  for (const auto& [term, factor] : local.dims[dim].terms) {
    Extent of_all = factor;
    int chunks = 0;
    for (const std::string& name : factors_of(term)) {
      chunks += is_chunk(name);
      of_all = multiplied(of_all, is_chunk(name) ? symbol_named(name).of : Extent::symbol(name));
    }
    if (chunks != 1)
      return op.emitError("gathers along dimension ")
             << dim << " of " << to_string(local) << ", whose size would be a product of "
             << (chunks == 0 ? nn::opened_by(&op, local.dims[dim]) + " and the replica count" : "chunks");
    total = total + of_all;
  }
  if (local.dims[dim].constant) total = total + Extent::symbol(replicas(), local.dims[dim].constant);
  whole.dims[dim] = total;
  return whole;
}

LogicalResult ShapeAnalysis::run(func::FuncOp function) {
  if (function.isExternal()) return function.emitError("has no body");
  symbols_ = {{"batch", sheaf::Symbol::batch, -1, Extent()}};
  if (auto lengths = function->getAttrOfType<DictionaryAttr>(nn::kLengths))
    for (NamedAttribute length : lengths)
      symbols_.push_back(
          {length.getName().str(), sheaf::Symbol::length, -1, Extent(cast<IntegerAttr>(length.getValue()).getInt())});
  for (BlockArgument argument : function.getArguments()) {
    mlir::Type type = argument.getType();
    if (auto placed = dyn_cast<dist::PlacedType>(type)) type = placed.getTensor();
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor) return function.emitError("has an argument that is no ranked tensor: ") << type;
    TensorShape shape = shape_of(tensor, "batch");
    if (auto extents = function.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(), nn::kExtents))
      for (auto [dim, text] : llvm::zip(shape.dims, extents.getAsRange<StringAttr>())) {
        Result<Extent> extent = parse_extent(text.getValue().str());
        if (!extent) return function.emitError("has an argument whose nn.extents can't be read: ") << text;
        dim = *extent;
      }
    shapes_[argument] = std::move(shape);
  }
  if (failed(visit_block(function.getBody().front()))) return failure();
  if (!refine_types_) return success();
  function.setType(FunctionType::get(function.getContext(), function.getArgumentTypes(),
                                     function.getBody().front().getTerminator()->getOperandTypes()));
  Builder builder(function.getContext());
  SmallVector<NamedAttribute> lengths;
  for (const sheaf::Symbol& symbol : symbols_)
    if (symbol.kind == sheaf::Symbol::length)
      lengths.push_back(builder.getNamedAttr(symbol.name, builder.getI64IntegerAttr(symbol.of.constant)));
  if (!lengths.empty()) function->setAttr(nn::kLengths, builder.getDictionaryAttr(lengths));
  return success();
}

LogicalResult ShapeAnalysis::visit_block(Block& block) {
  for (Operation& op : block)
    if (failed(visit(op))) return failure();
  return success();
}

LogicalResult ShapeAnalysis::visit(Operation& op) {
  if (isa<nn::DataParallelOp>(op)) return visit_data_parallel(op);
  if (isa<dist::ApplyOp, dist::ParallelApplyOp, nn::FusedOp>(op)) return visit_apply(op);
  if (op.hasTrait<OpTrait::IsTerminator>()) return success();
  if (dist::movement_of(op)) return visit_movement(op);
  auto shaped = dyn_cast<nn::ShapeOpInterface>(op);
  if (!shaped) return op.emitError("has no shape function");
  SmallVector<TensorShape> operands, results;
  for (mlir::Value operand : op.getOperands()) operands.push_back(of(operand));
  if (failed(shaped.inferShapes(operands, results))) return failure();
  for (auto [result, shape] : llvm::zip(op.getResults(), results)) set(result, shape);
  note_largest(op);
  return note_whole_count(op);
}

/// Cuts the sizes to be split, joins those that were split, and keeps all others.
LogicalResult ShapeAnalysis::visit_movement(Operation& op) {
  auto split_of = [](mlir::Value value) {
    return dyn_cast<dist::SplitAttr>(cast<dist::PlacedType>(value.getType()).getLayout());
  };
  auto from = split_of(op.getOperand(0)), to = split_of(op.getResult(0));
  TensorShape shape = of(op.getOperand(0));
  if (from && !to) {
    FailureOr<TensorShape> whole = gathered(op, shape, from.getDim(), group_index(&op, from.getGroup().getValue()));
    if (failed(whole)) return failure();
    shape = *whole;
  }
  auto scatter = dyn_cast<dist::ScatterOp>(op);
  if (scatter && scatter.getLike()) shape = of(scatter.getLike());
  else if (to && !from) shape = chunk(shape, to.getDim(), group_index(&op, to.getGroup().getValue()));
  set(op.getResult(0), shape);
  return success();
}

LogicalResult ShapeAnalysis::visit_data_parallel(Operation& op) {
  auto parallel = cast<nn::DataParallelOp>(op);
  int region = data_parallel_regions_++;
  Block& body = parallel.getBody().front();
  const auto has_length = [&](const Extent& size) { return lacks_rows(size); };
  for (auto [input, argument] : llvm::zip(parallel.getInputs(), body.getArguments())) {
    if (parallel.isReplicated(argument.getArgNumber())) {
      set(argument, of(input));
      continue;
    }
    auto dim = normalize_dim(parallel.getDim(), of(input).rank());
    if (!dim)
      return op.emitError("cannot split an input of shape ")
             << to_string(of(input)) << " along dimension " << static_cast<int64_t>(parallel.getDim());
    const TensorShape& whole = of(input);
    if (const Extent& size = whole.dims[*dim]; lacks_rows(size) || (size.is_static() && llvm::any_of(whole.dims, has_length)))
      return op.emitError("cannot split an input of shape ")
             << to_string(whole) << " along dimension " << *dim << ", "
             << (size.is_static() ? "which is no number of rows" : nn::opened_by(&op, size))
             << ": only rows of the batch are divided among devices";
    set(argument, chunk(of(input), *dim, region));
  }
  if (failed(visit_block(body))) return failure();
  for (auto [result, value] : llvm::zip(op.getResults(), body.getTerminator()->getOperands())) {
    if (result.use_empty()) {  // never gathered, so the parts needn't fit together
      set(result, of(value));
      continue;
    }
    TensorShape local = of(value);
    auto dim = local.rank() == 0 ? std::optional<int64_t>(0) : normalize_dim(parallel.getDim(), local.rank());
    if (!dim)
      return op.emitError("cannot gather an output of shape ")
             << to_string(local) << " along dimension " << static_cast<int64_t>(parallel.getDim());
    FailureOr<TensorShape> whole = gathered(op, local, *dim, region);
    if (failed(whole)) return failure();
    set(result, *whole);
  }
  return success();
}

/// The body sees the operation's inputs unchanged.
LogicalResult ShapeAnalysis::visit_apply(Operation& op) {
  Block& body = op.getRegion(0).front();
  for (auto [input, argument] : llvm::zip(op.getOperands(), body.getArguments())) set(argument, of(input));
  if (failed(visit_block(body))) return failure();
  for (auto [result, value] : llvm::zip(op.getResults(), body.getTerminator()->getOperands())) set(result, of(value));
  return success();
}

}  // namespace sheaf::ir
