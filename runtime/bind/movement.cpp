// replicate, first, transfer, view and print: what moves whole tensors, or only gives them another name.
#include "runtime/bind/expand.h"

#include <algorithm>

namespace sheaf {
namespace {

size_t index_of(int i) { return static_cast<size_t>(i); }

constexpr size_t kOperandAlignment = 16;  ///< docs/cuda.md

std::string torch_size(const std::vector<int64_t>& dims) {
  std::string text = "torch.Size([";
  for (size_t i = 0; i < dims.size(); ++i) text += (i ? ", " : "") + std::to_string(dims[i]);
  return text + "])";
}

}  // namespace

bool Expansion::same_memory(int lane_a, int lane_b) const {
  return context_.devices.device(lane_a).memory_space() == context_.devices.device(lane_b).memory_space();
}

bool Expansion::may_lie_at(size_t offset, int lane) const {
  return !context_.devices.device(lane).info().asynchronous || offset % kOperandAlignment == 0;
}

Expansion::Spot Expansion::who_copies(Spot spot, int other) const {
  const int host = context_.devices.host().memory_space();
  const bool in_host_memory = context_.devices.device(spot.lane).memory_space() == host;
  if (in_host_memory && context_.devices.device(other).memory_space() != host) spot.lane = other;
  return spot;
}

Result<int> Expansion::moved(int tensor, const std::string& name, int step, const Spot& spot) {
  const int lane = graph_.tensors[index_of(tensor)].lane;
  Device& device = context_.devices.device(spot.lane);
  ConstantStore& constants = context_.constants;
  if (is_constant(tensor) && constants.memory_space(constant_ref(tensor).node) != device.memory_space()) {
    TensorSpec spec = graph_.tensors[index_of(tensor)].spec;
    ConstantRef source = constant_ref(tensor);
    Device& home = constants.device(source.node);
    if (!spec.plain() && !share_formats(home, device)) {
      const TensorSpec plain = plain_tensor(spec.dtype, spec.dims);
      SHEAF_ASSIGN(auto reordered, constants.reorder(source, spec, plain, home));
      spec = plain;
      source = reordered;
    }
    const ConstantRef ref = constants.copy_to(source, spec, device);
    const int copy = add_tensor(spec, name, spot.lane);
    graph_.tensors[index_of(copy)].node = ref.node;
    return copy;
  }
  if (same_memory(lane, spot.lane) || is_constant(tensor)) {
    return add_view(tensor, 0, graph_.tensors[index_of(tensor)].spec, name, spot.lane);
  }
  // Formats belong to a backend, so what crosses to a device of another kind is plain.
  Spot source;
  source.lane = lane;
  Result<int> sent = tensor;
  if (!share_formats(context_.devices.device(lane), device)) sent = in_plain(tensor, step, source);
  if (!sent) return sent.error();
  const TensorSpec spec = graph_.tensors[index_of(*sent)].spec;
  const int copy = add_tensor(spec, name, spot.lane);
  const int id = static_cast<int>(graph_.instances.size());
  graph_.tensors[index_of(copy)].writers = {id};
  if (Unsettled* group = unsettled(*sent)) {
    const int root = graph_.root(*sent).tensor;
    const bool cast = std::find(group->casts.begin(), group->casts.end(), root) != group->casts.end();
    (cast ? group->casts : group->roots).push_back(copy);
    if (!cast) group->instances.push_back(id);
  }
  Instance& instance = add_instance(Instance::copy, step, who_copies(spot, lane));
  instance.inputs = {*sent};
  instance.outputs = {copy};
  instance.copy_shape = {spec.bytes, 1, 0, 0};
  return copy;
}

Result<void> Expansion::replicate(int index) {
  const Step& step = context_.program.steps[index_of(index)];
  SHEAF_ASSIGN(auto places, spots(step.place, step.layer, step.location));
  for (const Spot& spot : places) {
    const std::string& name = context_.program.values[index_of(step.outputs[0])].name;
    auto local = moved(at(step.inputs[0], 0), name, index, spot);
    if (!local) return located(std::move(local.error()), step, spot);
    define(step.outputs[0], spot.replica, *local);
  }
  return {};
}

Result<void> Expansion::view(int index, const Spot& spot) {
  const Step& step = context_.program.steps[index_of(index)];
  SHEAF_ASSIGN(auto plain, in_plain(at(step.inputs[0], spot.replica), index, spot));
  SHEAF_ASSIGN(auto spec, value_spec(step.outputs[0], spot.replica));
  if (spec.bytes != graph_.tensors[index_of(plain)].spec.bytes) {
    return Error("layer '" + step.layer + "': a view of " + std::to_string(graph_.tensors[index_of(plain)].spec.bytes) +
                 " bytes as " + std::to_string(spec.bytes));
  }
  const std::string& name = context_.program.values[index_of(step.outputs[0])].name;
  define(step.outputs[0], spot.replica, add_view(plain, 0, std::move(spec), name, spot.lane));
  return {};
}

Result<void> Expansion::print(int index, const Spot& spot) {
  const Step& step = context_.program.steps[index_of(index)];
  std::string text = step.attributes.value("text", std::string());
  std::string line;
  for (size_t i = 0; i < text.size(); ++i) {
    size_t digits = i + 1;
    while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') ++digits;
    const bool reference = text[i] == '{' && digits > i + 1 && digits - i < 8 && digits < text.size() && text[digits] == '}';
    const size_t input = reference ? std::stoul(text.substr(i + 1, digits - i - 1)) : 0;
    if (!reference || input >= step.inputs.size()) {
      line += text[i];
      continue;
    }
    line += torch_size(graph_.tensors[index_of(at(step.inputs[input], spot.replica))].spec.dims);
    i = digits;
  }
  const int id = static_cast<int>(graph_.instances.size());
  Instance& instance = add_instance(Instance::print, index, spot);
  instance.text = line + "\n";
  for (int input : step.inputs) instance.inputs.push_back(at(input, spot.replica));
  const int x = at(step.inputs[0], spot.replica);
  const std::string& name = context_.program.values[index_of(step.outputs[0])].name;
  const int passed = add_view(x, 0, graph_.tensors[index_of(x)].spec, name, spot.lane);
  graph_.tensors[index_of(passed)].writers.push_back(id);  // what comes after the layer comes after its line
  define(step.outputs[0], spot.replica, passed);
  return {};
}

}  // namespace sheaf
