#include "runtime/bind/rewrites.h"

namespace sheaf {

Result<void> place_gathered_parts(BoundProgram& program, const BindContext&) {
  for (Instance& instance : program.instances) {
    auto* copy = std::get_if<Instance::Copy>(&instance.work);
    if (!copy || !copy->placeable) continue;
    const TensorId part = instance.inputs[0], whole = instance.outputs[0];
    const TensorId root = program.root(part).tensor;
    if (!program.covers_planned_root(part) || root == program.root(whole).tensor) continue;
    program.tensors[root].place = Tensor::View{whole, copy->target_offset};
    copy->left_out = true;
  }
  return {};
}

}  // namespace sheaf
