#include "runtime/bind/expand/calls.h"

#include "runtime/ops/traits.h"
#include "runtime/plan/narrow_read.h"
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

/// A kernel that reads no tensor makes the same of the same sizes in every run, such as the inverse of a number of rows. It runs once if
/// its result is so small that keeping it costs less than a launch does.
bool made_of_nothing(const Step& step, const std::vector<TensorSpec>& outputs) {
  constexpr size_t kMost = 4096;  ///< bytes
  const auto small = [](const TensorSpec& output) { return output.bytes <= kMost; };
  return step.op == Op::kernel && step.inputs.empty() && std::all_of(outputs.begin(), outputs.end(), small);
}

Instance::Work work_of(const Step& step, Prepared prepared) {
  if (step.op == Op::kernel) return Instance::KernelCall{call_of(std::move(prepared)), step.kernel};
  return Instance::LibraryCall{call_of(std::move(prepared))};
}

}  // namespace

Calls::Calls(Builder& builder, const Replicas& replicas, Formats& formats, VariableFormats& variables)
    : builder_(builder),
      replicas_(replicas),
      formats_(formats),
      variables_(variables),
      narrow_reads_(builder.context().program) {
  bool fuses = false;
  for (LaneId lane : builder.devices().lanes()) fuses |= builder.device(lane).info().fuses_norms;
  if (!fuses) return;
  fusions_ = NormFusions(builder.context().program);
  joins_ = ConvNorms(builder.context().program, fusions_);
}

bool Calls::fuses(const NormFusion* fusion, const Spot& spot) const {
  if (!fusion || !builder_.device(spot.lane).info().fuses_norms) return false;
  const auto first = replicas_.spec(ValueId(fusion->step.inputs[0]), spot.replica);
  return first && element_count(*first) != 0;
}

std::optional<Step> Calls::joined(StepId id, const Spot& spot) const {
  const NormFusion* fusion = fusions_.at(id);
  return joins_.joined(id, fusion ? fusion->step : builder_.step(id), [&](StepId norm) {
    const auto found = joined_.find({norm, spot.replica});
    return found == joined_.end() ? Joined::nothing : found->second;
  });
}

Result<void> Calls::choose_joined(StepId convolution, const Spot& spot) {
  const ConvNorm* found = joins_.behind(convolution);
  if (!found || !builder_.device(spot.lane).info().fuses_norms) return {};
  SHEAF_ASSIGN(const auto x, spec(builder_.step(found->norm).inputs[0], spot));
  if (element_count(x) == 0) return {};
  const auto has = [&](StepId id) {
    const auto step = joined(id, spot);
    return step && can_prepare(*step, id, spot);
  };
  Joined& level = joined_[{found->norm, spot.replica}];
  if (found->most() == Joined::whole) {
    // The next convolution makes statistics in any case; whether it does more is asked when it is its turn.
    Joined& next = joined_[{joins_.behind(found->next)->norm, spot.replica}];
    level = Joined::whole;
    next = Joined::statistics;
    const bool all = has(found->conv) && has(found->next) && has(found->next_weight) && has(found->data);
    next = Joined::nothing;
    if (all) return {};
  }
  if (found->most() >= Joined::gradient) {
    level = Joined::gradient;
    if (has(found->conv) && has(found->data)) return {};
  }
  level = Joined::statistics;
  if (!has(found->conv)) level = Joined::nothing;
  return {};
}

bool Calls::can_prepare(const Step& step, StepId id, const Spot& spot) const {
  Sized sized{step, id, {}, {}, {}, std::make_unique<bool[]>(step.inputs.size()), {}};
  for (const auto* operands : {&step.inputs, &step.outputs}) {
    for (int operand : *operands) {
      auto spec = this->spec(operand, spot);
      if (!spec) return false;
      (operands == &step.inputs ? sized.input_specs : sized.output_specs).push_back(std::move(*spec));
    }
  }
  sized.inputs.resize(step.inputs.size());
  return bool(prepare(sized, spot));
}

Result<TensorSpec> Calls::spec(int operand, const Spot& spot) const {
  if (!is_left(operand)) return replicas_.spec(ValueId(operand), spot.replica);
  const Step& norm = builder_.step(left_by_whom(operand));
  SHEAF_ASSIGN(const auto x, replicas_.spec(ValueId(norm.inputs[0]), spot.replica));
  const int64_t channels = x.dims[1];
  switch (what_is_left(operand)) {
    case Left::mask: return plain_tensor(DType::uint8, {1});
    case Left::moments: return plain_tensor(DType::float32, {2, channels});
    case Left::factors: return plain_tensor(x.dtype, {2, channels});
    case Left::slopes: return plain_tensor(DType::float32, {3, channels});
  }
  return Error("nothing of this kind is left");
}

Result<void> Calls::call(StepId id, const Spot& spot) {
  SHEAF_TRY(choose_joined(id, spot));
  const NormFusion* fusion = fusions_.at(id);
  if (!fuses(fusion, spot)) fusion = nullptr;
  const auto instead = joined(id, spot);
  if (instead ? instead->outputs.empty() : fuses(fusions_.covering(id), spot)) return {};
  for (ValueId zero : fusion ? fusion->zeros : std::vector<ValueId>()) {
    SHEAF_ASSIGN(const auto spec, replicas_.spec(zero, spot.replica));
    define_zeros(zero, spec, spot);
  }
  if (instead) return call(*instead, id, spot);
  return fusion ? call(fusion->step, fusion->instead, spot) : call(as_made(id, spot), id, spot);
}

const Step& Calls::as_made(StepId id, const Spot& spot) {
  const Step& step = builder_.step(id);
  const auto narrow = step.op == Op::kernel ? narrow_read(step) : std::nullopt;
  if (!narrow || builder_.spec(builder_.at(ValueId(step.inputs[narrow->input]), spot.replica)).dtype != narrow->dtype)
    return step;
  return narrowed_.try_emplace(id, narrowed(step, *narrow)).first->second;
}

bool Calls::stays_narrow(ValueId value, DType dtype) const {
  if (builder_.context().observe) return false;  // what is observed has the plan's types
  return narrow_reads_.all_take(value, dtype, [&](StepId sum) {
    const Step& step = builder_.step(sum);
    const auto summands = replicas_.spots(builder_.context().value(ValueId(step.inputs[0])).place, step.layer, step.location);
    return summands && summands->size() == 1;
  });
}

Result<void> Calls::call(const Step& step, StepId id, const Spot& spot) {
  SHEAF_ASSIGN(auto sized, this->sized(step, id, spot));
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
  return (step.once && all_constant) || made_of_nothing(step, outputs) ? call_once(sized, spot) : add_call(sized, spot);
}

Result<Calls::Sized> Calls::sized(const Step& step, StepId id, const Spot& spot) const {
  Sized sized{step, id, {}, {}, {}, std::make_unique<bool[]>(step.inputs.size()), {}};
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    const int input = step.inputs[i];
    sized.inputs.push_back(is_left(input) ? left_.at({input, spot.replica}) : builder_.at(ValueId(input), spot.replica));
    sized.input_specs.push_back(builder_.spec(sized.inputs.back()));
    sized.constant[i] = builder_.is_constant(sized.inputs.back());
  }
  for (int output : step.outputs) {
    SHEAF_ASSIGN(auto spec, this->spec(output, spot));
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
  // For a share, which is processed element by element, just a run.
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

std::string Calls::name_of(int operand) const {
  if (!is_left(operand)) return builder_.name(ValueId(operand));
  static constexpr const char* kNames[] = {":mask", ":moments", ":factors", ":slopes"};
  return builder_.step(left_by_whom(operand)).layer + kNames[size_t(what_is_left(operand))];
}

Result<void> Calls::add_call(Sized& sized, const Spot& spot) {
  const Step& step = sized.step;
  SHEAF_ASSIGN(auto prepared, prepare(sized, spot));
  const bool cast = sized.inputs.size() == 1 && variables_.follows_cast(step, sized.inputs[0], prepared);
  if (!cast) SHEAF_TRY(formats_.bring(sized.inputs, prepared.inputs, sized.id, spot));
  std::vector<TensorId> outputs;
  for (size_t i = 0; i < step.outputs.size(); ++i) {
    const int output = step.outputs[i];
    outputs.push_back(builder_.add(prepared.outputs[i], name_of(output), spot.lane));
    if (is_left(output)) {
      left_[{output, spot.replica}] = outputs.back();
    } else {
      builder_.define(ValueId(output), spot.replica, outputs.back());
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
    if (have.dtype == wanted || stays_narrow(ValueId(sized.step.outputs[i]), have.dtype)) continue;
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
  std::vector<int64_t> sizes = sized.extents;
  sizes.push_back(sized.work);
  const Step& step = builder_.context().lasting_step(sized.id);
  SHEAF_ASSIGN(const auto made, builder_.store().derive(step, refs, sizes, specs, builder_.device(spot.lane), prepared));
  for (size_t i = 0; i < made.size(); ++i) {
    const ValueId value(sized.step.outputs[i]);
    const NodeId node = made[i].node;
    builder_.define(value, spot.replica,
                    builder_.add(builder_.store().spec(node), builder_.name(value), spot.lane, Tensor::Stored{node}));
  }
  return {};
}

}  // namespace sheaf
