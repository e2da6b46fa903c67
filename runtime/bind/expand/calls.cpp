#include "runtime/bind/expand/calls.h"

#include "runtime/ops/traits.h"
#include "runtime/plan/op_list.h"

#include <algorithm>

namespace sheaf {
namespace {

/// An extent in a step's attributes: a number, or what to_string(Extent) prints.
Result<Extent> attribute_extent(const Json& json) {
  if (json.is_number_integer()) return Extent(json.get<int64_t>());
  if (json.is_string()) return parse_extent(json.get<std::string>());
  return Error("an extent is neither a number nor a string");
}

/// An empty chunk adds zeros to a sum over rows, such as a gradient of a weight. Libraries need not support empty operands, and
/// a kernel without rows writes nothing.
bool sums_nothing(const Step& step, const std::vector<TensorSpec>& inputs, int64_t work) {
  if (step.op == Op::kernel) return work == 0;
  const auto empty = [](const TensorSpec& input) { return element_count(input) == 0; };
  return traits(step.op).sums_rows && std::any_of(inputs.begin(), inputs.end(), empty);
}

Instance::Work work_of(const Step& step, Prepared prepared) {
  if (step.op == Op::kernel) return Instance::KernelCall{call_of(std::move(prepared))};
  return Instance::LibraryCall{call_of(std::move(prepared))};
}

}  // namespace

Calls::Calls(Builder& builder, const Replicas& replicas, Formats& formats, VariableFormats& variables)
    : builder_(builder), replicas_(replicas), formats_(formats), variables_(variables) {
  bool fuses = false;
  for (LaneId lane : builder.devices().lanes()) fuses |= builder.device(lane).info().fuses_norms;
  if (fuses) fusions_ = NormFusions(builder.context().program);
}

bool Calls::fuses(const NormFusion* fusion, const Spot& spot) const {
  return fusion && builder_.device(spot.lane).info().fuses_norms &&
         element_count(builder_.spec(builder_.at(ValueId(fusion->step.inputs[0]), spot.replica))) != 0;
}

Result<void> Calls::call(StepId id, const Spot& spot) {
  if (fuses(fusions_.covering(id), spot)) return {};
  const NormFusion* fusion = fusions_.at(id);
  if (!fuses(fusion, spot)) return call(builder_.step(id), id, spot, {});
  for (ValueId zero : fusion->zeros) {
    SHEAF_ASSIGN(const auto spec, replicas_.spec(zero, spot.replica));
    define_zeros(zero, spec, spot);
  }
  return call(fusion->step, fusion->instead, spot, fusion->forward);
}

Result<void> Calls::call(const Step& step, StepId id, const Spot& spot, StepId norm) {
  SHEAF_ASSIGN(auto sized, this->sized(step, id, spot, norm));
  // An empty chunk: there is nothing to compute, and libraries need not support it.
  const auto& outputs = sized.output_specs;
  const bool any_work =
      std::any_of(outputs.begin(), outputs.end(), [](const TensorSpec& spec) { return element_count(spec) != 0; });
  if (!any_work || sums_nothing(step, sized.input_specs, sized.work)) {
    add_zeros(sized, spot);
    return {};
  }
  const bool all_constant =
      std::all_of(sized.constant.get(), sized.constant.get() + step.inputs.size(), [](bool is) { return is; });
  return step.once && all_constant ? call_once(sized, spot) : add_call(sized, spot);
}

Result<Calls::Sized> Calls::sized(const Step& step, StepId id, const Spot& spot, StepId norm) const {
  Sized sized{step, id, norm, {}, {}, {}, std::make_unique<bool[]>(step.inputs.size()), {}};
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    const int input = step.inputs[i];
    sized.inputs.push_back(input == kMask ? masks_.at({norm, spot.replica}) : builder_.at(ValueId(input), spot.replica));
    sized.input_specs.push_back(builder_.spec(sized.inputs.back()));
    sized.constant[i] = builder_.is_constant(sized.inputs.back());
  }
  for (int output : step.outputs) {
    SHEAF_ASSIGN(auto spec, output == kMask ? Result<TensorSpec>(plain_tensor(DType::uint8, {1}))
                                            : replicas_.spec(ValueId(output), spot.replica));
    sized.output_specs.push_back(std::move(spec));
  }
  if (step.op == Op::kernel) {
    SHEAF_TRY(size_kernel(sized, spot));
    variables_.offer(sized.inputs, sized.input_specs);
  }
  return sized;
}

Result<void> Calls::size_kernel(Sized& sized, const Spot& spot) const {
  const Json& attributes = sized.step.attributes;
  const auto value_of = [&](const Json& json) -> Result<int64_t> {
    SHEAF_ASSIGN(const auto extent, attribute_extent(json));
    return replicas_.evaluate(extent, sized.step.place, spot);
  };
  if (const auto extents = attributes.find("extents"); extents != attributes.end()) {
    for (const Json& json : *extents) {
      SHEAF_ASSIGN(const auto value, value_of(json));
      sized.extents.push_back(value);
    }
  }
  if (const auto work = attributes.find("work"); work != attributes.end()) {
    SHEAF_ASSIGN(sized.work, value_of(*work));
  }
  // Of a share, which is worked on element by element, a run alone.
  const bool share = builder_.context().value(ValueId(sized.step.outputs[0])).layout.kind == ValueLayout::sharded;
  if (share) sized.work = element_count(sized.output_specs[0]);
  sized.gpu_work = sized.work;
  if (const auto work = attributes.find("gpu_work"); work != attributes.end() && !share) {
    SHEAF_ASSIGN(sized.gpu_work, value_of(*work));
  }
  return {};
}

Result<Prepared> Calls::prepare(const Sized& sized, const Spot& spot) const {
  const BindContext& context = builder_.context();
  PrepareRequest request{sized.step,
                         context.plan,
                         sized.input_specs,
                         sized.output_specs,
                         context.devices.threads(spot.lane),
                         context.fast_numerics,
                         {sized.constant.get(), sized.inputs.size()},
                         context.kernels[spot.lane].get(),
                         sized.extents,
                         sized.work,
                         context.explain};
  request.gpu_work = sized.gpu_work;
  request.choices = context.choices;
  request.deterministic = context.deterministic;
  return prepare_on(builder_.device(spot.lane), request);
}

Result<Prepared> Calls::prepare(const Step& step, std::vector<TensorId>& inputs, const std::vector<TensorSpec>& outputs,
                                StepId id, const Spot& spot) {
  const BindContext& context = builder_.context();
  std::vector<TensorSpec> specs;
  for (TensorId input : inputs) specs.push_back(builder_.spec(input));
  const auto constant = std::make_unique<bool[]>(inputs.size());
  const PrepareRequest request{step,
                               context.plan,
                               specs,
                               outputs,
                               context.devices.threads(spot.lane),
                               context.fast_numerics,
                               {constant.get(), inputs.size()},
                               context.kernels[spot.lane].get(),
                               {},
                               0};
  SHEAF_ASSIGN(auto prepared, prepare_on(builder_.device(spot.lane), request));
  SHEAF_TRY(formats_.bring(inputs, prepared.inputs, id, spot));
  return prepared;
}

Result<void> Calls::add_call(Sized& sized, const Spot& spot) {
  const Step& step = sized.step;
  SHEAF_ASSIGN(auto prepared, prepare(sized, spot));
  const bool cast = sized.inputs.size() == 1 && variables_.follows_cast(step, sized.inputs[0], prepared);
  if (!cast) SHEAF_TRY(formats_.bring(sized.inputs, prepared.inputs, sized.id, spot));
  std::vector<TensorId> outputs;
  for (size_t i = 0; i < step.outputs.size(); ++i) {
    const bool mask = step.outputs[i] == kMask;
    const ValueId value(step.outputs[i]);
    outputs.push_back(builder_.add(prepared.outputs[i], mask ? step.layer + ":mask" : builder_.name(value), spot.lane));
    if (mask) {
      masks_[{sized.norm, spot.replica}] = outputs.back();
    } else {
      builder_.define(value, spot.replica, outputs.back());
    }
  }
  if (cast) variables_.note_cast(sized.inputs[0], outputs[0]);
  builder_.add(work_of(step, std::move(prepared)), sized.id, spot, std::move(sized.inputs), outputs);
  return convert_outputs(sized, outputs, spot);
}

Result<void> Calls::convert_outputs(const Sized& sized, const std::vector<TensorId>& made, const Spot& spot) {
  for (size_t i = 0; i < made.size(); ++i) {
    const DType wanted = sized.output_specs[i].dtype;
    const TensorSpec& have = builder_.spec(made[i]);
    if (have.dtype == wanted) continue;
    const TensorSpec want = builder_.device(spot.lane).same_layout(have, wanted);
    SHEAF_ASSIGN(const auto converted, formats_.in_format(made[i], want, sized.id, spot));
    builder_.define(ValueId(sized.step.outputs[i]), spot.replica, converted);
  }
  return {};
}

void Calls::add_zeros(const Sized& sized, const Spot& spot) {
  for (size_t i = 0; i < sized.output_specs.size(); ++i)
    define_zeros(ValueId(sized.step.outputs[i]), sized.output_specs[i], spot);
}

void Calls::define_zeros(ValueId value, const TensorSpec& spec, const Spot& spot) {
  Tensor::Place place = Tensor::Planned{};
  if (spec.bytes != 0) place = Tensor::Stored{builder_.store().zeros(spec, builder_.device(spot.lane)).node};
  builder_.define(value, spot.replica, builder_.add(spec, builder_.name(value), spot.lane, place));
}

Result<void> Calls::call_once(const Sized& sized, const Spot& spot) {
  std::vector<StoredRef> refs;
  std::vector<TensorSpec> specs;
  for (TensorId input : sized.inputs) {
    refs.push_back(builder_.stored_ref(input));
    specs.push_back(builder_.spec(input));
  }
  const auto prepared = [&] { return prepare(sized, spot); };
  SHEAF_ASSIGN(const auto made, builder_.store().derive(sized.step, refs, specs, builder_.device(spot.lane), prepared));
  for (size_t i = 0; i < made.size(); ++i) {
    const ValueId value(sized.step.outputs[i]);
    const NodeId node = made[i].node;
    builder_.define(value, spot.replica,
                    builder_.add(builder_.store().spec(node), builder_.name(value), spot.lane, Tensor::Stored{node}));
  }
  return {};
}

}  // namespace sheaf
