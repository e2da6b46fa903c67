#include "runtime/bind/expand/shares.h"

#include "runtime/bind/buckets.h"
#include "runtime/plan/op_list.h"

#include <algorithm>
#include <numeric>

namespace sheaf {

TensorId Movements::add_run(StepId id, TensorId whole, ValueId result, const Spot& to, LaneId by) {
  const DType dtype = builder_.spec(whole).dtype;
  const Run run = replicas_.run(result, to);
  const TensorSpec flat = plain_tensor(dtype, {element_count(builder_.spec(whole))});
  const TensorId elements = builder_.add_view(whole, 0, flat, builder_.tensor(whole).name, builder_.tensor(whole).lane);
  return add_chunk(id, elements, 0, static_cast<size_t>(run.begin), plain_tensor(dtype, {run.count}), to, by);
}

Result<void> Movements::shard(StepId id) {
  const Step& step = builder_.step(id);
  const ValueId result(step.outputs[0]);
  SHEAF_ASSIGN(const auto places, replicas_.spots(step));
  for (const Spot& spot : places) {
    auto plain = formats_.in_plain(builder_.at(ValueId(step.inputs[0]), spot.replica), id, spot);
    if (!plain) return replicas_.located(std::move(plain.error()), step, spot);
    builder_.define(result, spot.replica, add_run(id, *plain, result, spot));
  }
  return {};
}

Spot Shares::messenger(Spot spot) const {
  spot.lane = builder_.devices().messenger_for(spot.lane);
  return spot;
}

Result<std::vector<Spot>> Shares::sources(const Step& step) const {
  return replicas_.spots(builder_.context().value(ValueId(step.inputs[0])), step.layer, step.location);
}

Result<bool> Shares::crosses(const Step& step) const {
  SHEAF_ASSIGN(const auto from, sources(step));
  SHEAF_ASSIGN(const auto to, replicas_.spots(step));
  const auto apart = [&](const Spot& spot) { return !builder_.same_memory(spot.lane, from.front().lane); };
  return std::ranges::any_of(from, apart) || std::ranges::any_of(to, apart);
}

Result<void> Shares::make_inputs(const Step& step) {
  if (summands_.makes_any(step.inputs)) SHEAF_TRY(make_sums());
  return gathers_.makes_any(step.inputs) ? make_gathers() : Result<void>();
}

Result<void> Shares::make_all() {
  SHEAF_TRY(make_sums());
  return make_gathers();
}

Result<void> Shares::call(StepId id) {
  SHEAF_ASSIGN(const auto places, replicas_.spots(builder_.step(id)));
  for (const Spot& spot : places) {
    auto called = calls_.call(id, messenger(spot));
    if (!called) return replicas_.located(std::move(called.error()), builder_.step(id), spot);
  }
  return {};
}

Result<void> Shares::reduce_scatter(StepId id) {
  const Step& step = builder_.step(id);
  const ValueId value(step.inputs[0]);
  SHEAF_ASSIGN(const auto from, sources(step));
  Summand summand{id, {}};
  for (const Spot& spot : from) {  // each made plain where it is
    auto plain = formats_.in_plain(builder_.at(value, spot.replica), id, spot);
    if (!plain) return replicas_.located(std::move(plain.error()), step, spot);
    summand.wholes.push_back(*plain);
  }
  const TensorSpec& spec = builder_.spec(summand.wholes[0]);
  if (!summands_.empty()) {
    const Summand& first = summands_.members().front();
    const bool alike = builder_.step(first.step).place == step.place && first.wholes.size() == from.size() &&
                       builder_.spec(first.wholes[0]).dtype == spec.dtype;
    if (!alike) SHEAF_TRY(make_sums());
  }
  summands_.add(std::move(summand), step.outputs[0], spec.bytes);
  SHEAF_ASSIGN(const bool crossing, crosses(step));
  return !crossing || summands_.full(kMessageBucketLimits) ? make_sums() : Result<void>();
}

Result<void> Shares::make_sums() {
  if (summands_.empty()) return {};
  const auto& members = summands_.members();
  const StepId first = members.front().step;
  SHEAF_ASSIGN(const auto from, sources(builder_.step(first)));
  SHEAF_ASSIGN(const auto to, replicas_.spots(builder_.step(first)));
  const auto result = [&](const Summand& member) { return ValueId(builder_.step(member.step).outputs[0]); };
  // All moves come before all sums, so that no sum delays another replica's summands. What was made last is moved first: whoever has
  // waited for that waits for nothing else.
  std::vector<size_t> order(members.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto made = [&](size_t m) {
    const auto& writers = builder_.tensor(members[m].wholes[0]).writers;
    return writers.empty() ? InstanceId() : *std::ranges::max_element(writers);
  };
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return made(b) < made(a); });
  std::vector<std::vector<std::vector<TensorId>>> parts(to.size(), std::vector<std::vector<TensorId>>(members.size()));
  for (size_t t = 0; t < to.size(); ++t) {
    for (size_t s = 0; s < from.size(); ++s) {
      const bool sent = messages_.between(from[s].lane, to[t].lane);
      std::vector<TensorId> runs(members.size());
      for (const size_t m : order) {
        const TensorId whole = members[m].wholes[s];
        const Run run = replicas_.run(result(members[m]), to[t]);
        const DType dtype = builder_.spec(whole).dtype;
        runs[m] = sent ? builder_.add_view(whole, static_cast<size_t>(run.begin) * size_of(dtype),
                                           plain_tensor(dtype, {run.count}), builder_.tensor(whole).name, from[s].lane)
                       : movement_.add_run(members[m].step, whole, result(members[m]), to[t], messenger(to[t]).lane);
      }
      if (sent) {
        SHEAF_ASSIGN(runs, this->sent(first, runs, from[s], to[t], /*anew=*/false));
      }
      for (size_t m = 0; m < members.size(); ++m) parts[t][m].push_back(runs[m]);
    }
  }
  for (size_t t = 0; t < to.size(); ++t)
    for (size_t m = 0; m < members.size(); ++m)
      SHEAF_TRY(sums_.add(members[m].step, std::move(parts[t][m]), to[t], messenger(to[t])));
  summands_.close();
  return {};
}

Result<void> Shares::all_gather(StepId id) {
  if (looked_at_.contains(id)) return {};
  const Step& step = builder_.step(id);
  const TensorSpec& spec = builder_.spec(builder_.at(ValueId(step.inputs[0]), 0));
  if (!gathers_.empty()) {
    const Step& first = builder_.step(gathers_.members().front());
    const bool alike = first.place == step.place && builder_.spec(builder_.at(ValueId(first.inputs[0]), 0)).dtype == spec.dtype;
    if (!alike) SHEAF_TRY(make_gathers());
  }
  SHEAF_ASSIGN(const auto whole, replicas_.spec(ValueId(step.outputs[0]), 0));
  gathers_.add(id, step.outputs[0], whole.bytes);
  SHEAF_ASSIGN(const bool crossing, crosses(step));
  return !crossing || gathers_.full(kMessageBucketLimits) ? make_gathers() : Result<void>();
}

Result<void> Shares::look_ahead() {
  const Step& first = builder_.step(gathers_.members().front());
  SHEAF_ASSIGN(const bool crossing, crosses(first));
  if (!crossing) return {};
  const TensorSpec& spec = builder_.spec(builder_.at(ValueId(first.inputs[0]), 0));
  const auto& steps = builder_.context().program.steps;
  for (size_t i = gathers_.members().back().index() + 1; i < steps.size() && !gathers_.full(kMessageBucketLimits); ++i) {
    const StepId id(i);
    const Step& step = steps[i];
    if (step.op != Op::all_gather || looked_at_.contains(id)) continue;
    const ValueId value(step.inputs[0]);
    const bool there = !builder_.program.values[value].empty();
    // What is gathered a second time, for the backward pass, gives its memory back until then.
    const bool again =
        std::ranges::any_of(gathers_.members(), [&](StepId each) { return builder_.step(each).inputs[0] == step.inputs[0]; });
    if (!there || again || step.place != first.place || builder_.spec(builder_.at(value, 0)).dtype != spec.dtype) return {};
    SHEAF_ASSIGN(const auto whole, replicas_.spec(ValueId(step.outputs[0]), 0));
    gathers_.add(id, step.outputs[0], whole.bytes);
    looked_at_.insert(id);
  }
  return {};
}

Result<void> Shares::make_gathers() {
  if (gathers_.empty()) return {};
  SHEAF_TRY(look_ahead());
  Gathered gathered;
  // New values are made by the gradients' order, the last layer's first; the first layer's, which is made last, is waited for first.
  for (size_t m = 0; m < gathers_.members().size(); ++m) SHEAF_TRY(gather(gathers_.members()[m], m, gathered));
  gathers_.close();
  return {};
}

Result<void> Shares::gather(StepId id, size_t member, Gathered& gathered) {
  const Step& step = builder_.step(id);
  return sums_.once_in_each_memory(id, [&](const Spot& spot) -> Result<void> {
    auto whole = joined(id, member, spot, gathered);
    if (!whole) return replicas_.located(std::move(whole.error()), step, spot);
    builder_.define(ValueId(step.outputs[0]), spot.replica, *whole);
    return {};
  });
}

Result<TensorId> Shares::joined(StepId id, size_t member, const Spot& target, Gathered& gathered) {
  const Step& step = builder_.step(id);
  const StepId first = gathers_.members().front();
  const ValueId value(step.inputs[0]), result(step.outputs[0]);
  const std::string& name = builder_.name(result);
  SHEAF_ASSIGN(const auto from, sources(step));
  SHEAF_ASSIGN(const auto spec, replicas_.spec(result, target.replica));
  if (from.size() == 1) return builder_.add_view(builder_.at(value, 0), 0, spec, name, target.lane);
  const TensorId whole = builder_.add(spec, name, target.lane);
  for (const Spot& spot : from) {
    const size_t offset = static_cast<size_t>(replicas_.run(value, spot).begin) * size_of(spec.dtype);
    TensorId part = builder_.at(value, spot.replica);
    const bool sent = messages_.between(spot.lane, target.lane);
    if (sent) {
      auto& runs = gathered[{spot.replica, builder_.device(target.lane).memory_space()}];
      if (runs.empty()) {
        for (const StepId each : gathers_.members())
          runs.push_back(builder_.at(ValueId(builder_.step(each).inputs[0]), spot.replica));
        SHEAF_ASSIGN(runs, this->sent(first, runs, spot, target, /*anew=*/true));
      }
      part = runs[member];
    }
    const size_t bytes = builder_.spec(part).bytes;
    if (bytes == 0) continue;
    // In one memory each replica's lane delivers its run, or makes it in place; from another memory of this process the target's
    // fetches it, and what was sent is there.
    const bool here = builder_.same_memory(spot.lane, target.lane);
    const Spot copier = here ? spot : sent ? target : movement_.who_copies(target, spot.lane);
    Instance::Copy copy{{bytes, 1, 0, 0}, 0, offset};
    copy.placeable = (here || sent) && movement_.may_lie_at(offset, copier.lane);
    builder_.add(copy, first, messenger(copier), {part}, {whole});
  }
  return whole;
}

Result<std::vector<TensorId>> Shares::sent(StepId id, const std::vector<TensorId>& runs, const Spot& from, const Spot& to,
                                           bool anew) {
  constexpr size_t alignment = 64;
  std::vector<size_t> offsets;
  size_t bytes = 0, filled = 0, last = 0;
  for (size_t i = 0; i < runs.size(); ++i) {
    const size_t own = builder_.spec(runs[i]).bytes;
    bytes = own > 0 ? (bytes + alignment - 1) / alignment * alignment : bytes;
    offsets.push_back(bytes);
    bytes += own;
    if (own > 0) ++filled, last = i;
  }
  const auto send = [&](TensorId tensor) -> Result<TensorId> {
    const std::string name = builder_.tensor(tensor).name;
    return anew ? messages_.sent_anew(tensor, name, id, to) : movement_.moved(tensor, name, id, to);
  };
  std::vector<TensorId> there;
  TensorId whole;
  if (filled > 0) {
    SHEAF_ASSIGN(whole, send(filled == 1 ? runs[last] : packed(id, runs, offsets, bytes, from)));
  }
  for (size_t i = 0; i < runs.size(); ++i) {
    const TensorSpec spec = plain_tensor(builder_.spec(runs[i]).dtype, {element_count(builder_.spec(runs[i]))});
    const std::string& name = builder_.tensor(runs[i]).name;
    if (spec.bytes == 0) there.push_back(builder_.add(spec, name, to.lane));
    else there.push_back(filled == 1 ? whole : builder_.add_view(whole, offsets[i], spec, name, to.lane));
  }
  return there;
}

TensorId Shares::packed(StepId id, const std::vector<TensorId>& runs, const std::vector<size_t>& offsets, size_t bytes,
                        const Spot& from) {
  const DType dtype = builder_.spec(runs[0]).dtype;
  const TensorSpec spec = plain_tensor(dtype, {static_cast<int64_t>(bytes / size_of(dtype))});
  const TensorId whole = builder_.add(spec, "runs", from.lane);
  size_t end = 0;
  for (size_t i = 0; i < runs.size(); ++i) {
    const size_t own = builder_.spec(runs[i]).bytes;
    if (own == 0) continue;
    builder_.fill(whole, end, offsets[i], id, messenger(from));
    Instance::Copy copy{{own, 1, 0, 0}, 0, offsets[i]};
    copy.placeable = true;
    builder_.add(copy, id, messenger(from), {runs[i]}, {whole});
    end = offsets[i] + own;
  }
  return whole;
}

}  // namespace sheaf
