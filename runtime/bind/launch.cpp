// One step on one replica, prepared by its device.
#include "runtime/bind/expand.h"
#include "runtime/ops/traits.h"
#include "runtime/plan/op_list.h"

#include <algorithm>

namespace sheaf {
namespace {

size_t index_of(int i) { return static_cast<size_t>(i); }

/// An extent in a step's attributes: a number, or what to_string(Extent) prints.
Result<Extent> attribute_extent(const Json& json) {
  if (json.is_number_integer()) return Extent(json.get<int64_t>());
  if (json.is_string()) return parse_extent(json.get<std::string>());
  return Error("an extent is neither a number nor a string");
}

/// What an empty chunk adds to a sum over rows, such as a gradient of a weight, is zeros. Libraries need not know of
/// empty operands, and a kernel that has no rows to go over writes nothing.
bool sums_nothing(const Step& step, const std::vector<TensorSpec>& inputs, int64_t work) {
  if (step.op == Op::kernel) return work == 0;
  const auto empty = [](const TensorSpec& input) { return element_count(input) == 0; };
  return traits(step.op).sums_rows && std::any_of(inputs.begin(), inputs.end(), empty);
}

}  // namespace

bool Expansion::fuses(const NormFusion* fusion, const Spot& spot) const {
  return fusion && context_.devices.device(spot.lane).info().fuses_norms &&
         element_count(graph_.tensors[index_of(at(fusion->step.inputs[0], spot.replica))].spec) != 0;
}

Result<void> Expansion::launch_step(int index, const Spot& spot) {
  if (fuses(fusions_.covering(index), spot)) return {};
  const NormFusion* fusion = fuses(fusions_.at(index), spot) ? fusions_.at(index) : nullptr;
  return fusion ? launch(fusion->step, fusion->instead, spot, fusion->forward)
                : launch(context_.program.steps[index_of(index)], index, spot, -1);
}

Result<void> Expansion::launch(const Step& step, int index, const Spot& spot, int norm) {
  std::vector<int> inputs;
  std::vector<TensorSpec> input_specs, output_specs;
  const auto constant = std::make_unique<bool[]>(step.inputs.size());
  bool all_constant = true;
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    inputs.push_back(step.inputs[i] == kMask ? masks_.at({norm, spot.replica}) : at(step.inputs[i], spot.replica));
    input_specs.push_back(graph_.tensors[index_of(inputs.back())].spec);
    constant[i] = is_constant(inputs.back());
    all_constant &= constant[i];
  }
  bool any_work = false;
  for (int output : step.outputs) {
    SHEAF_ASSIGN(auto spec,
                 output == kMask ? Result<TensorSpec>(plain_tensor(DType::uint8, {1})) : value_spec(output, spot.replica));
    any_work |= element_count(spec) != 0;
    output_specs.push_back(std::move(spec));
  }
  std::vector<int64_t> extents;
  int64_t work = 0, gpu_work = 0;
  if (step.op == Op::kernel) {
    const auto value_of = [&](const Json& json) -> Result<int64_t> {
      SHEAF_ASSIGN(auto extent, attribute_extent(json));
      return symbols_.evaluate(extent, step.place, spot.replica);
    };
    for (const auto& json : step.attributes.value("extents", Json::array())) {
      SHEAF_ASSIGN(auto value, value_of(json));
      extents.push_back(value);
    }
    auto value = value_of(step.attributes.value("work", Json(0)));
    if (!value) return value.error();
    work = *value;
    SHEAF_ASSIGN(gpu_work, step.attributes.contains("gpu_work") ? value_of(step.attributes["gpu_work"]) : value);
  }
  if (step.op == Op::kernel) offer_formats(inputs, input_specs);
  const auto prepare = [&]() -> Result<Prepared> {
    PrepareRequest request{step,
                           context_.plan,
                           input_specs,
                           output_specs,
                           context_.devices.threads(spot.lane),
                           context_.fast_numerics,
                           {constant.get(), step.inputs.size()},
                           context_.kernels[index_of(spot.lane)].get(),
                           extents,
                           work,
                           context_.explain};
    request.gpu_work = gpu_work;
    request.deterministic = context_.deterministic;
    auto prepared = context_.devices.device(spot.lane).prepare(request);
    if (prepared && (prepared->inputs.size() != inputs.size() || prepared->outputs.size() != output_specs.size())) {
      return Error("operation " + op_name(step) + " was prepared for another number of operands");
    }
    return prepared;
  };
  if (!any_work) {  // an empty chunk: there is nothing to compute, and libraries need not know of it
    for (size_t i = 0; i < step.outputs.size(); ++i) {
      define(step.outputs[i], spot.replica,
             add_tensor(output_specs[i], context_.program.values[index_of(step.outputs[i])].name, spot.lane));
    }
    return {};
  }
  if (sums_nothing(step, input_specs, work)) return zero_step(index, spot, output_specs);
  if (step.once && all_constant) return once_step(index, spot, inputs, output_specs, prepare);

  SHEAF_ASSIGN(auto prepared, prepare());
  const bool cast = inputs.size() == 1 && follow_cast(step, inputs[0], prepared);
  for (size_t i = 0; i < inputs.size() && !cast; ++i) {
    SHEAF_ASSIGN(inputs[i], in_format(inputs[i], prepared.inputs[i], index, spot));
  }
  std::vector<int> outputs;
  const int id = static_cast<int>(graph_.instances.size());
  for (size_t i = 0; i < step.outputs.size(); ++i) {
    const bool mask = step.outputs[i] == kMask;
    const std::string name = mask ? step.layer + ":mask" : context_.program.values[index_of(step.outputs[i])].name;
    outputs.push_back(add_tensor(prepared.outputs[i], name, spot.lane));
    graph_.tensors[index_of(outputs.back())].writers = {id};
    if (mask) {
      masks_[{norm, spot.replica}] = outputs.back();
    } else {
      define(step.outputs[i], spot.replica, outputs.back());
    }
  }
  if (cast) unsettled(inputs[0])->casts.push_back(outputs[0]);
  add_launch(index, spot, std::move(inputs), std::move(outputs), std::move(prepared));
  return {};
}

Instance& Expansion::add_launch(int step, const Spot& spot, std::vector<int> inputs, std::vector<int> outputs,
                                Prepared prepared) {
  Instance& instance = add_instance(Instance::launch, step, spot);
  instance.inputs = std::move(inputs);
  instance.outputs = std::move(outputs);
  instance.executable = std::move(prepared.executable);
  instance.scratch_bytes = prepared.scratch_bytes;
  instance.can_fail = prepared.can_fail;
  instance.implementation = std::move(prepared.implementation);
  instance.reason = std::move(prepared.reason);
  instance.uncertain = std::move(prepared.uncertain);
  instance.in_place = std::move(prepared.in_place);
  return instance;
}

Result<void> Expansion::zero_step(int index, const Spot& spot, const std::vector<TensorSpec>& outputs) {
  const Step& step = context_.program.steps[index_of(index)];
  for (size_t i = 0; i < outputs.size(); ++i) {
    const int tensor = add_tensor(outputs[i], context_.program.values[index_of(step.outputs[i])].name, spot.lane);
    define(step.outputs[i], spot.replica, tensor);
    if (outputs[i].bytes == 0) continue;
    graph_.tensors[index_of(tensor)].node = context_.constants.zeros(outputs[i], context_.devices.device(spot.lane)).node;
  }
  return {};
}

Result<void> Expansion::once_step(int index, const Spot& spot, const std::vector<int>& inputs,
                                  const std::vector<TensorSpec>& outputs, const std::function<Result<Prepared>()>& prepare) {
  const Step& step = context_.program.steps[index_of(index)];
  std::vector<ConstantRef> refs;
  std::vector<TensorSpec> specs;
  for (int input : inputs) {
    refs.push_back(constant_ref(input));
    specs.push_back(graph_.tensors[index_of(input)].spec);
  }
  SHEAF_ASSIGN(auto made, context_.constants.derive(step, refs, specs, context_.devices.device(spot.lane), prepare));
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Value& value = context_.program.values[index_of(step.outputs[i])];
    const int tensor = add_tensor(context_.constants.spec(made[i].node), value.name, spot.lane);
    graph_.tensors[index_of(tensor)].node = made[i].node;
    define(step.outputs[i], spot.replica, tensor);
  }
  return {};
}

}  // namespace sheaf
