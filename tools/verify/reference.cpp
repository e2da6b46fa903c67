#include "tools/verify/reference.h"

#include "runtime/base/index.h"
#include "runtime/ops/traits.h"
#include "runtime/plan/op_list.h"
#include "tools/verify/operation_tolerance.h"
#include "tools/verify/slices.h"

#include <algorithm>

namespace sheaf {
Result<Reference> Reference::compute(const StepRunner& runner, const Program& program, const Sizes& sizes,
                                     const std::map<std::string, HostTensor>& given, bool fast) {
  Reference reference(runner, program, sizes, fast);
  for (size_t i = 0; i < program.values.size(); ++i) {
    const Value& value = program.values[i];
    if (value.role == Value::temporary) continue;
    const auto found = given.find(value.source.empty() ? value.name : value.source);
    if (found == given.end()) return Error("no data for '" + value.name + "'");
    reference.values_[i].parts = {found->second};
  }
  SHEAF_TRY(reference.find_layouts());
  for (size_t i = 0; i < program.steps.size(); ++i)
    if (auto ok = reference.add(static_cast<int>(i)); !ok) {
      return ok.error().note("in the reference of step " + std::to_string(i) + ", '" + to_string(program.steps[i].op) +
                             "' of layer '" + program.steps[i].layer + "'");
    }
  return reference;
}

Result<void> Reference::find_layouts() {
  for (const Value& value : program_->values) layouts_.push_back(value.layout);
  for (const Step& step : program_->steps) {
    if (step.place.kind == Place::region && moves(step.op)) {
      ValueLayout& made = layouts_[index_of(step.outputs[0])];
      if (made.kind != ValueLayout::whole) continue;
      if (step.op == Op::replicate) made.kind = ValueLayout::replicated;
      if (step.op == Op::scatter && !step.attributes.value("scalar", false)) {
        const int rank = static_cast<int>(program_->values[index_of(step.outputs[0])].shape.size());
        const int dim = step.attributes.value("dim", 0);
        made = {ValueLayout::split, dim < 0 ? dim + rank : dim};
      }
    }
  }
  for (size_t i = 0; i < program_->values.size(); ++i) {
    const Value& value = program_->values[i];
    if (value.place.kind != Place::region) continue;
    if (layouts_[i].kind == ValueLayout::whole) layouts_[i].kind = ValueLayout::local;
    if (layouts_[i].kind != ValueLayout::split) continue;
    // Chunks that don't add up to the whole's size belong to each replica alone.
    SHEAF_ASSIGN(auto bounds, sizes_->bounds(value, layouts_[i].dim));
    SHEAF_ASSIGN(auto whole, sizes_->dims(value, Sizes::kWhole));
    if (bounds.back() != whole[index_of(layouts_[i].dim)]) layouts_[i] = {ValueLayout::local, 0};
  }
  return {};
}

Result<HostTensor> Reference::part(int value, int replica) const {
  const ReferenceValue& have = at(value);
  if (have.by_replica) return have.parts[index_of(replica)];
  if (replica != Sizes::kWhole && layout(value).kind == ValueLayout::sharded) {
    const Run run = sizes_->run(program_->values[index_of(value)], replica);
    return slice(flattened(have.parts[0]), 0, run.begin, run.begin + run.count);
  }
  if (replica == Sizes::kWhole || layout(value).kind != ValueLayout::split) return have.parts[0];
  SHEAF_ASSIGN(auto bounds, sizes_->bounds(program_->values[index_of(value)], layout(value).dim));
  return slice(have.parts[0], layout(value).dim, bounds[index_of(replica)], bounds[index_of(replica) + 1]);
}

Result<std::optional<HostTensor>> Reference::expected(int value, int replica) const {
  if (layout(value).kind == ValueLayout::partial) return std::optional<HostTensor>();
  SHEAF_ASSIGN(auto found, part(value, replica));
  return std::optional<HostTensor>(std::move(found));
}

Result<void> Reference::set_parts(int value, std::vector<HostTensor> parts) {
  ReferenceValue& made = values_[index_of(value)];
  const ValueLayout how = layout(value);
  made.by_replica = how.kind == ValueLayout::local;
  if (made.by_replica || how.kind == ValueLayout::replicated) {
    if (!made.by_replica) parts.resize(1);
    made.parts = std::move(parts);
    return {};
  }
  SHEAF_ASSIGN(auto whole, how.kind == ValueLayout::partial ? sum(parts) : concatenate(parts, how.dim));
  made.parts = {std::move(whole)};
  return {};
}

Result<void> Reference::add(int step) {
  const Op op = program_->steps[index_of(step)].op;
  return moves(op) || op == Op::print ? add_movement(step) : add_step(step);
}

Result<void> Reference::add_movement(int index) {
  const Step& step = program_->steps[index_of(index)];
  const int from = step.inputs[0], to = step.outputs[0];
  const ReferenceValue& source = at(from);
  ReferenceValue& made = values_[index_of(to)];
  made.tolerance = source.tolerance;
  made.opaque = source.opaque;
  const bool scalars = step.attributes.value("scalar", false);
  const bool into_region = step.place.kind == Place::region;
  made.by_replica = into_region && layout(to).kind == ValueLayout::local;
  if (made.by_replica && !source.by_replica) {  // elements of a vector, or chunks of no whole
    const int replicas = static_cast<int>(sizes_->replicas(step.place.index));
    for (int replica = 0; replica < replicas; ++replica) {
      SHEAF_ASSIGN(auto bounds, scalars ? Result<std::vector<int64_t>>(std::vector<int64_t>())
                                        : sizes_->bounds(program_->values[index_of(to)], step.attributes.value("dim", 0)));
      SHEAF_ASSIGN(auto chunk, scalars ? element(source.parts[0], replica)
                                       : slice(source.parts[0], step.attributes.value("dim", 0), bounds[index_of(replica)],
                                               bounds[index_of(replica) + 1]));
      made.parts.push_back(std::move(chunk));
    }
    return {};
  }
  if (traits(step.op).movement.route == Route::among && source.by_replica) {
    SHEAF_ASSIGN(auto total, sum(source.parts));
    made.parts = {std::move(total)};
    return {};
  }
  if (!source.by_replica || into_region) {
    if (source.by_replica && !made.by_replica) return set_parts(to, source.parts);
    made.parts = source.parts;
    return {};
  }
  // Out of the region, from each replica's own value.
  SHEAF_ASSIGN(auto whole, step.op == Op::first    ? Result<HostTensor>(source.parts[0])
                           : step.op == Op::reduce ? sum(source.parts)
                           : scalars               ? stack(source.parts)
                                                   : concatenate(source.parts, step.attributes.value("dim", 0)));
  made.parts = {std::move(whole)};
  return {};
}

Result<std::vector<HostTensor>> Reference::run(int index, int replica, std::vector<double>* tolerances) const {
  SHEAF_ASSIGN(auto bound, runner_->bind(*program_, index, *sizes_, replica));
  std::vector<HostTensor> tensors;
  for (const int input : bound.inputs()) {
    SHEAF_ASSIGN(auto tensor, part(input, replica));
    tensors.push_back(std::move(tensor));
  }
  std::vector<const HostTensor*> inputs;
  for (const HostTensor& tensor : tensors) inputs.push_back(&tensor);
  auto results = bound.run(inputs);
  if (!results || !tolerances) return results;
  const StepRun done{runner_->plan(), *program_, index, *sizes_, replica, std::move(inputs), *results};
  SHEAF_ASSIGN(auto allowed, tolerances_of(*runner_, bound, done, fast_));
  *tolerances = std::move(allowed);
  return results;
}

Result<std::vector<HostTensor>> Reference::on_replica(int step, int replica) const { return run(step, replica, nullptr); }

Result<void> Reference::add_step(int index) {
  const Step& step = program_->steps[index_of(index)];
  for (size_t i = 0; i < step.outputs.size(); ++i) values_[index_of(step.outputs[i])].opaque = is_opaque(*program_, step, i);
  // A library's workspace belongs to one replica if the step that makes it ran by replica: that step runs again with this one.
  const auto own = [&](int value) {
    return at(value).opaque ? at(value).by_replica : layout(value).kind == ValueLayout::local;
  };
  const bool by_replica = step.place.kind == Place::region && (std::any_of(step.inputs.begin(), step.inputs.end(), own) ||
                                                               std::any_of(step.outputs.begin(), step.outputs.end(), own));
  const int replicas = by_replica ? static_cast<int>(sizes_->replicas(step.place.index)) : 1;
  std::vector<std::vector<HostTensor>> parts(step.outputs.size());
  for (int replica = 0; replica < replicas; ++replica) {
    std::vector<double> tolerances;
    SHEAF_ASSIGN(auto results, run(index, by_replica ? replica : Sizes::kWhole, &tolerances));
    for (size_t i = 0; i < parts.size(); ++i) {
      double& tolerance = values_[index_of(step.outputs[i])].tolerance;
      const bool summed = layout(step.outputs[i]).kind == ValueLayout::partial;
      tolerance = summed ? tolerance + tolerances[i] : std::max(tolerance, tolerances[i]);
      parts[i].push_back(std::move(results[i]));
    }
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    if (at(step.outputs[i]).opaque) {
      values_[index_of(step.outputs[i])].by_replica = by_replica;
      continue;
    }
    if (!by_replica) {
      values_[index_of(step.outputs[i])].parts = std::move(parts[i]);
    } else if (auto ok = set_parts(step.outputs[i], std::move(parts[i])); !ok) {
      return ok;
    }
  }
  return {};
}

}  // namespace sheaf
