#include "codegen/plan/element_chain.h"

#include "codegen/plan/program_builder.h"
#include "runtime/base/extent_product.h"

using namespace mlir;

namespace sheaf::codegen {

using kernels::Operand;
using kernels::ScalarBody;
using kernels::Shape;

Operand operand_of(const ir::TensorShape& shape) {
  return {dtype_of(shape.element), Shape(shape.dims.begin(), shape.dims.end())};
}

sheaf::Symbol offset_symbol(const sheaf::Symbol& chunk) {
  // rows0 → first0, rows0_1 → first0_1.
  return {"first" + chunk.name.substr(std::string_view("rows").size()), sheaf::Symbol::offset, chunk.region, chunk.of};
}

namespace {

/// [C] along dimension 1 of [N, C, h, w] → [1, C, 1, 1], which broadcasts correctly in PyTorch's order.
Shape aligned_shape(nn::ElementwiseOpInterface op, unsigned operand, const ir::TensorShape& shape, int64_t result_rank) {
  Shape aligned(result_rank, Extent(1));
  SmallVector<int64_t> dims = op.operandDims(operand, shape.rank(), result_rank);
  for (int64_t i = 0; i < shape.rank(); ++i) aligned[dims[i]] = shape.dims[i];
  return aligned;
}

}  // namespace

void ElementChain::add(Operation& op, const ir::ShapeAnalysis& shapes) {
  ops_.push_back(&op);
  auto elementwise = cast<nn::ElementwiseOpInterface>(op);
  located_ |= elementwise.usesCoordinates();
  sized_ |= elementwise.usesSizes();
  for (OpOperand& operand : op.getOpOperands()) {
    auto argument = dyn_cast<BlockArgument>(operand.get());
    if (!argument || argument == element_ || !elementwise.operandIsRead(operand.getOperandNumber())) continue;
    Shape aligned = aligned_shape(elementwise, operand.getOperandNumber(), shapes.of(argument), shape_.rank());
    index_of_[&operand] = index(argument, aligned);
  }
}

std::string ElementChain::name() const {
  std::string name;
  for (Operation* op : ops_) {
    std::string own = op->getName().stripDialect().str();
    if (auto map = dyn_cast<nn::MapOp>(op)) own = map.getFunction().str();
    if (auto dual = dyn_cast<nn::MapBackwardOp>(op)) own = dual.getFunction().str() + "_backward";
    name += (name.empty() ? "" : "_") + own;
  }
  return name;
}

std::vector<Extent> ElementChain::coordinates(const ir::ShapeAnalysis& shapes) const {
  std::vector<Extent> offsets;
  if (!located_) return offsets;
  for (const Extent& dim : shape_.dims) {
    Extent offset;
    for (const auto& [term, factor] : dim.terms) {
      Extent begin = factor;
      bool split = false;
      for (const std::string& name : factors_of(term)) {
        auto chunk = llvm::find_if(shapes.symbols(), [&](const sheaf::Symbol& symbol) {
          return symbol.name == name && symbol.kind == sheaf::Symbol::chunk;
        });
        const bool is_chunk = chunk != shapes.symbols().end();
        split |= is_chunk;
        begin = multiplied(begin, Extent::symbol(is_chunk ? offset_symbol(*chunk).name : name));
      }
      if (split) offset = offset + begin;
    }
    offsets.push_back(offset);
  }
  return offsets;
}

std::vector<Extent> ElementChain::sizes() const {
  return sized_ ? std::vector<Extent>(shape_.dims.begin(), shape_.dims.end()) : std::vector<Extent>();
}

ScalarBody ElementChain::body(SmallVector<mlir::Value> outputs) const {
  return [chain = *this, outputs](OpBuilder& builder, mlir::Location loc, ValueRange scalars) {
    DenseMap<mlir::Value, mlir::Value> made;
    size_t first = 0;
    if (chain.element_) made[chain.element_] = scalars[first++];
    for (Operation* op : chain.ops_) {
      auto elementwise = cast<nn::ElementwiseOpInterface>(op);
      SmallVector<mlir::Value> elements;
      for (OpOperand& operand : op->getOpOperands()) {
        auto found = chain.index_of_.find(&operand);
        if (!elementwise.operandIsRead(operand.getOperandNumber())) elements.push_back(nullptr);
        else elements.push_back(found != chain.index_of_.end() ? scalars[first + found->second] : made[operand.get()]);
      }
      const ValueRange place = scalars.drop_front(first + chain.inputs_.size());
      if (elementwise.usesSizes()) llvm::append_range(elements, place);
      else if (elementwise.usesCoordinates()) llvm::append_range(elements, place.take_front(chain.shape_.rank()));
      made[op->getResult(0)] = elementwise.buildScalar(builder, loc, elements);
    }
    SmallVector<mlir::Value> results;
    for (mlir::Value output : outputs) results.push_back(made[output]);
    return results;
  };
}

kernels::Fusion ElementChain::fusion(mlir::Value output, const ir::ShapeAnalysis& shapes,
                                     std::vector<mlir::Value>& operands) const {
  kernels::Fusion fusion;
  if (empty()) return fusion;
  for (const auto& [argument, aligned] : inputs_) {
    fusion.operands.push_back({dtype_of(shapes.of(argument).element), aligned});
    operands.push_back(argument);
  }
  fusion.body = body({output});
  fusion.coordinates = coordinates(shapes);
  fusion.sizes = sizes();
  return fusion;
}

size_t ElementChain::index(BlockArgument argument, const Shape& aligned) {
  for (size_t i = 0; i < inputs_.size(); ++i)
    if (inputs_[i].first == argument && inputs_[i].second == aligned) return i;
  inputs_.push_back({argument, aligned});
  return inputs_.size() - 1;
}

}  // namespace sheaf::codegen
