// Places outputs over inputs that die there. The input must fill its memory, and only this lane may use it: another lane might
// still be reading.
#include "runtime/bind/rewrites.h"

#include <algorithm>

namespace sheaf {
namespace {

/// When and where the memory of a root is accessed.
struct Touches {
  InstanceId last;
  LaneId lane{-1};       ///< none: nowhere yet
  bool several = false;  ///< more than one lane

  void add(InstanceId instance, LaneId from_lane) {
    last = std::max(last, instance);
    several |= lane && lane != from_lane;
    lane = from_lane;
  }
  void merge(const Touches& other) {
    if (!other.lane) return;
    several |= other.several;
    add(other.last, other.lane);
  }
};

IdVector<TensorId, Touches> find_touches(const BoundProgram& program) {
  IdVector<TensorId, Touches> touches(program.tensors.size());
  for (InstanceId i : program.instances.ids()) {
    const Instance& instance = program.instances[i];
    if (instance.left_out() || instance.is<Instance::Print>()) continue;
    for (const auto* operands : {&instance.inputs, &instance.outputs}) {
      for (TensorId tensor : *operands) touches[program.root(tensor).tensor].add(i, instance.lane);
    }
  }
  return touches;
}

/// The caller's buffer of the second part of a run: results of the first part can't be placed there.
bool comes_later(const Tensor& root, const RunParts& parts) {
  const auto* wanted = root.lies<Tensor::Wanted>();
  return parts.outputs > 0 && wanted && static_cast<size_t>(wanted->output) >= parts.outputs;
}

/// Places `output` of instance `i` over its `input`, if that dies there.
void place_over(BoundProgram& program, const RunParts& parts, InstanceId i, TensorId input, TensorId output,
                IdVector<TensorId, Touches>& touches) {
  const TensorId dying = program.root(input).tensor, target = program.root(output).tensor;
  Touches& seen = touches[dying];
  if (!program.covers_planned_root(input) || seen.last != i || seen.several) return;
  const auto& inputs = program.instances[i].inputs;
  const auto uses =
      std::count_if(inputs.begin(), inputs.end(), [&](TensorId other) { return program.root(other).tensor == dying; });
  // A variable keeps its old value until this instance: no input can be made there.
  if (uses != 1 || target == dying || program.tensors[target].lies<Tensor::Stored>()) return;
  Tensor& made = program.tensors[output];
  Tensor& source = program.tensors[dying];
  if (program.planned(output) && made.spec.bytes <= source.spec.bytes) {
    made.place = Tensor::View{dying};
    seen.merge(touches[output]);
  } else if (source.spec.bytes <= made.spec.bytes && !comes_later(program.tensors[target], parts)) {
    // The output already has a place (a slice of a gather, the caller's buffer): the input is made there.
    source.place = Tensor::View{output};
    touches[target].merge(seen);
  }
}

}  // namespace

Result<void> place_over_inputs(BoundProgram& program, const BindContext& context) {
  auto touches = find_touches(program);
  for (InstanceId i : program.instances.ids()) {
    const Instance& instance = program.instances[i];
    if (!instance.call()) continue;
    for (const auto& [from, to] : instance.call()->in_place) {
      const bool there = from >= 0 && to >= 0 && from < static_cast<int>(instance.inputs.size()) &&
                         to < static_cast<int>(instance.outputs.size());
      if (there)
        place_over(program, context.parts, i, instance.inputs[static_cast<size_t>(from)],
                   instance.outputs[static_cast<size_t>(to)], touches);
    }
  }
  return {};
}

}  // namespace sheaf
