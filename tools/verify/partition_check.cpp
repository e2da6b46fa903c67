#include "tools/verify/partition_check.h"

#include "runtime/base/index.h"
#include "tools/verify/slices.h"

#include <algorithm>
#include <map>

namespace sheaf {
namespace {

/// By value: the step that makes it; -1: none.
std::vector<int> makers_of(const Program& program) {
  std::vector<int> makers(program.values.size(), -1);
  for (size_t i = 0; i < program.steps.size(); ++i)
    for (const int output : program.steps[i].outputs) makers[index_of(output)] = static_cast<int>(i);
  return makers;
}

class Check {
 public:
  Check(const CheckedRun& run, std::vector<ValueDifference>& values, bool alone)
      : run_(run), values_(values), alone_(alone), makers_(makers_of(run.program)) {}

  Result<std::optional<Divergence>> go() {
    Result<void> problem;
    auto done = run_.binding.observe(run_.inputs, run_.outputs, [&](int, std::span<const BoundValue> values) {
      for (const BoundValue& value : values) {
        problem = look(value);
        if (!problem || divergence_) return false;
      }
      return true;
    });
    if (!problem) return problem.error();
    if (!done) return done.error();
    return divergence_;
  }

 private:
  const Value& described(const BoundValue& value) const { return run_.program.values[index_of(value.value)]; }

  Result<void> look(const BoundValue& bound) {
    const ReferenceValue& reference = run_.reference.at(bound.value);
    if (reference.opaque) return {};
    SHEAF_ASSIGN(auto found, make_tensor(bound.spec.dtype, bound.spec.dims));
    SHEAF_TRY(run_.binding.read(bound, found.bytes.data()));
    SHEAF_ASSIGN(auto expected, run_.reference.expected(bound.value, bound.replica));
    if (!expected) return look_at_part(bound, std::move(found));
    if (expected->shape != found.shape) {
      return Error("internal error: '" + described(bound).name + "' is " + shape_text(found.shape) + " on replica " +
                   std::to_string(bound.replica) + ", in the reference " + shape_text(expected->shape));
    }
    const Difference difference = compare(*expected, found, reference.tolerance * run_.factor);
    note(bound.value, difference, 1);
    if (!alone_) return {};
    if (difference.first_beyond >= 0) return blame(bound, difference, *expected, found);
    if (difference.bitwise() || bound.constant) return {};
    return run_.binding.write(bound, expected->bytes.data());
  }

  /// One summand: compared once all have arrived.
  Result<void> look_at_part(const BoundValue& bound, HostTensor found) {
    auto& parts = parts_[bound.value];
    parts.push_back(std::move(found));
    if (static_cast<int64_t>(parts.size()) < run_.sizes.replicas(described(bound).place.index)) return {};
    const ReferenceValue& reference = run_.reference.at(bound.value);
    SHEAF_ASSIGN(auto total, sum(parts));
    const Difference difference = compare(reference.parts[0], total, reference.tolerance * run_.factor);
    note(bound.value, difference, static_cast<int>(parts.size()));
    if (!alone_ || difference.first_beyond < 0) return {};
    return blame_sum(bound, difference, total);
  }

  void note(int value, const Difference& difference, int tensors) {
    ValueDifference& row = values_[index_of(value)];
    if (alone_) {
      row.compared += tensors;
      row.alone.merge(difference);
    } else {
      row.end_to_end.merge(difference);
    }
  }

  Divergence divergence_at(const BoundValue& bound, const Difference& difference, const HostTensor& expected,
                           const HostTensor& found) {
    Divergence result;
    result.check = "operation";
    result.value = described(bound).name;
    result.layer = values_[index_of(bound.value)].layer;
    result.op = values_[index_of(bound.value)].op;
    result.step = makers_[index_of(bound.value)];
    if (result.step >= 0) result.location = run_.program.steps[index_of(result.step)].location;
    result.index = position_of(difference.first_beyond, expected.shape);
    result.expected = number_at(expected, difference.first_beyond);
    result.found = number_at(found, difference.first_beyond);
    result.tolerance = run_.reference.at(bound.value).tolerance * run_.factor;
    return result;
  }

  /// "replica 1 on cpu:1".
  void name_replica(Divergence& divergence, const BoundValue& bound, int replica) const {
    divergence.replica = replica;
    const Region& region = run_.plan.regions[index_of(described(bound).place.index)];
    auto entries = run_.devices.region_entries(region);
    if (entries && replica < static_cast<int>(entries->size()))
      divergence.device = run_.devices.entry_name((*entries)[index_of(replica)]);
  }

  Result<void> blame(const BoundValue& bound, const Difference& difference, const HostTensor& expected,
                     const HostTensor& found) {
    Divergence result = divergence_at(bound, difference, expected, found);
    const ValueLayout layout = run_.reference.layout(bound.value);
    std::string what = "it isn't the unpartitioned program's value";
    if (described(bound).place.kind == Place::region) {
      name_replica(result, bound, bound.replica);
      if (layout.kind == ValueLayout::split) {
        SHEAF_ASSIGN(auto bounds, run_.sizes.bounds(described(bound), layout.dim));
        const int64_t begin = bounds[index_of(bound.replica)], end = bounds[index_of(bound.replica) + 1];
        result.index[index_of(layout.dim)] += begin;
        what = "the replica's chunk should be " + std::to_string(begin) + " to " + std::to_string(end - 1) + " of dimension " +
               std::to_string(layout.dim);
      } else if (layout.kind == ValueLayout::sharded) {
        const Run run = run_.sizes.run(described(bound), bound.replica);
        result.index[0] += run.begin;
        what = "the replica's share should be elements " + std::to_string(run.begin) + " to " +
               std::to_string(run.begin + run.count - 1) + " of the unpartitioned program's value";
      } else if (layout.kind == ValueLayout::replicated) {
        what = "all replicas should have the unpartitioned program's value";
      } else {
        what = "it isn't the layer's result for this replica's rows";
      }
    }
    result.explanation = what;
    divergence_ = std::move(result);
    return {};
  }

  /// Which replica's summand is wrong; if each is right by itself, their sum isn't what the layer should give.
  Result<void> blame_sum(const BoundValue& bound, const Difference& difference, const HostTensor& total) {
    const ReferenceValue& reference = run_.reference.at(bound.value);
    Divergence result = divergence_at(bound, difference, reference.parts[0], total);
    result.explanation = "the replicas' summands, each what its rows give, don't add up to the whole";
    const int step = result.step;
    const auto& outputs = run_.program.steps[index_of(step)].outputs;
    const auto at = static_cast<size_t>(std::find(outputs.begin(), outputs.end(), bound.value) - outputs.begin());
    const auto& parts = parts_.at(bound.value);
    for (int replica = 0; replica < static_cast<int>(parts.size()); ++replica) {
      SHEAF_ASSIGN(auto alone, run_.reference.on_replica(step, replica));
      const Difference off = compare(alone[at], parts[index_of(replica)], reference.tolerance * run_.factor);
      if (off.first_beyond < 0) continue;
      name_replica(result, bound, replica);
      result.index = position_of(off.first_beyond, total.shape);
      result.expected = number_at(alone[at], off.first_beyond);
      result.found = number_at(parts[index_of(replica)], off.first_beyond);
      result.explanation = "the replica's summand isn't what its rows give";
      break;
    }
    divergence_ = std::move(result);
    return {};
  }

  const CheckedRun& run_;
  std::vector<ValueDifference>& values_;
  bool alone_;
  std::vector<int> makers_;
  std::map<int, std::vector<HostTensor>> parts_;  ///< by partial value: the replicas' summands so far
  std::optional<Divergence> divergence_;
};

}  // namespace

std::vector<ValueDifference> values_of(const Program& program) {
  std::vector<ValueDifference> values(program.values.size());
  const std::vector<int> makers = makers_of(program);
  for (size_t i = 0; i < values.size(); ++i) {
    const Value& value = program.values[i];
    values[i].name = value.name;
    values[i].layout = value.layout;
    values[i].layer = value.source.empty() ? value.name : value.source;
    if (makers[i] < 0) continue;
    const Step& step = program.steps[index_of(makers[i])];
    values[i].layer = step.layer.empty() ? "(optimizer)" : step.layer;
    values[i].op = to_string(step.op);
  }
  return values;
}

Result<std::optional<Divergence>> check_operations(const CheckedRun& run, std::vector<ValueDifference>& values) {
  return Check(run, values, true).go();
}

Result<void> measure_end_to_end(const CheckedRun& run, std::vector<ValueDifference>& values) {
  auto done = Check(run, values, false).go();
  return done ? Result<void>() : Result<void>(done.error());
}

}  // namespace sheaf
