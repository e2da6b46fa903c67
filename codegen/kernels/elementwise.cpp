#include "codegen/kernels/builders.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace sheaf::kernels {

using namespace mlir;

Result<std::vector<Loop>> separate(const Shape& shape, const std::vector<Shape>& operands, size_t first, size_t last) {
  if (first == last) return collapse(shape, operands, first, last);
  std::vector<Loop> loops;
  for (size_t dim = first; dim < last; ++dim) {
    SHEAF_ASSIGN(auto loop, collapse(shape, operands, dim, dim + 1));
    loops.push_back(loop.front());
  }
  return loops;
}

Emitter::Values located(Emitter& e, llvm::ArrayRef<Value> indices, const std::vector<Extent>& coordinates,
                        const std::vector<Extent>& sizes) {
  Emitter::Values places;
  const auto add = [&](Value index) {
    places.push_back(e.builder.create<arith::IndexCastOp>(e.loc, e.builder.getI64Type(), index));
  };
  for (size_t d = 0; d < coordinates.size(); ++d) add(e.add(indices[d], e.size(coordinates[d])));
  for (const Extent& size : sizes) add(e.size(size));
  return places;
}

Result<KernelUse> build(Emitter& e, const ElementwiseSpec& spec) {
  if (!spec.body || spec.outputs.empty()) return Error(spec.name + ": an element-wise kernel needs a body and an output");
  std::vector<Shape> shapes;
  for (const Operand& input : spec.inputs) shapes.push_back(input.shape);
  for (size_t i = 0; i < spec.outputs.size(); ++i) shapes.push_back(spec.shape);
  const bool knows_place = !spec.coordinates.empty();
  if (knows_place && spec.coordinates.size() != spec.shape.size())
    return Error(spec.name + ": coordinates must be as many as the dimensions");
  auto collapsed = (knows_place ? separate : collapse)(spec.shape, shapes, 0, spec.shape.size());
  if (!collapsed) return Error(spec.name + ": " + collapsed.error().message());
  const std::vector<Loop>& loops = *collapsed;

  for (const Operand& input : spec.inputs) e.add_buffer(input.dtype);
  for (DType output : spec.outputs) e.add_buffer(output);
  e.start();

  std::string problem;
  auto element = [&](llvm::ArrayRef<Value> indices, Value flat, size_t flattened) {
    Emitter::Values scalars;
    for (size_t i = 0; i < spec.inputs.size(); ++i)
      scalars.push_back(e.load(static_cast<int>(i), e.offset(i, loops, indices, flat, flattened)));
    llvm::append_range(scalars, located(e, indices, spec.coordinates, spec.sizes));
    Emitter::Values results = spec.body(e.builder, e.loc, scalars);
    if (results.size() != spec.outputs.size()) {
      problem = spec.name + ": the body gave " + std::to_string(results.size()) + " results for " +
                std::to_string(spec.outputs.size()) + " outputs";
      return;
    }
    for (size_t i = 0; i < results.size(); ++i) {
      size_t operand = spec.inputs.size() + i;
      e.store(static_cast<int>(operand), e.offset(operand, loops, indices, flat, flattened), results[i]);
    }
  };

  KernelUse use;
  size_t last = loops.size() - 1;
  if (last == 0) {
    use.work = loops[0].size;
    e.parallel(e.begin(), e.end(), [&](Value i) { element({i}, {}, 0); });
  } else {
    // The outer loops form one range, so that there is enough to share out whatever their sizes; the innermost one runs inside,
    // as does any whose size makes the product non-linear. On a GPU each thread takes an element.
    Prefix prefix = linear_prefix(loops, e.for_gpu() ? loops.size() : last);
    if (prefix.loops <= last) e.set_schedule(gpu_rows(loops[last].size));
    use.work = prefix.size;
    e.parallel(e.begin(), e.end(), [&](Value flat) {
      Emitter::Values indices = e.decompose(flat, loops, prefix.loops);
      std::function<void(size_t)> inner = [&](size_t level) {
        if (level == loops.size()) return element(indices, flat, prefix.loops);
        e.parallel(e.constant(0), e.size(loops[level].size), [&](Value i) {
          indices.push_back(i);
          inner(level + 1);
          indices.pop_back();
        });
      };
      inner(prefix.loops);
    });
    use.grain = typical_size(loops, prefix.loops);  // elements of one work item
  }
  if (!problem.empty()) return Error(problem);
  use.grain = grain_for(use.grain * e.cost());

  auto moves = [&](size_t operand) { return llvm::all_of(loops, [&](const Loop& loop) { return loop.moves[operand]; }); };
  use.elementwise = last == 0 && !knows_place;
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    if (!moves(i)) continue;
    for (size_t o = 0; o < spec.outputs.size(); ++o) {
      if (size_of(spec.inputs[i].dtype) != size_of(spec.outputs[o])) continue;
      use.in_place.emplace_back(static_cast<int>(i), static_cast<int>(o));
      e.allow_in_place(static_cast<int>(i), static_cast<int>(spec.inputs.size() + o));
    }
  }
  return use;
}

void FusedBody::add_buffers() {
  for (const Operand& operand : fusion_.operands) buffers_.push_back(emitter_.add_buffer(operand.dtype));
}

Value FusedBody::apply(Value value, llvm::function_ref<Value(size_t)> offset_of, llvm::ArrayRef<Value> indices) const {
  if (!fusion_.body) return value;
  Emitter::Values scalars{value};
  for (size_t i = 0; i < buffers_.size(); ++i) scalars.push_back(emitter_.load(buffers_[i], offset_of(i)));
  llvm::append_range(scalars, located(emitter_, indices, fusion_.coordinates, fusion_.sizes));
  return fusion_.body(emitter_.builder, emitter_.loc, scalars).front();
}

Result<void> check_same_shape(const std::string& kernel, const Fusion& fusion, const Shape& shape) {
  for (const Operand& operand : fusion.operands)
    if (operand.shape != shape) return Error(kernel + ": an operand fused into it has another shape");
  if (!fusion.coordinates.empty()) return Error(kernel + ": ops fused into it cannot know their position");
  return {};
}

}  // namespace sheaf::kernels
