#include "tools/estimate/cluster_strategies.h"

#include "runtime/bind/buckets.h"

#include <algorithm>
#include <cmath>

namespace sheaf {
namespace {

/// Parameters, or gradients, that are sent together: which ones, and their bytes.
struct Bucket {
  std::vector<size_t> members;
  double bytes = 0;
};

template <typename Part>
std::vector<Bucket> buckets_of(const std::vector<Part>& parts, std::span<const size_t> limits) {
  std::vector<size_t> sizes;
  for (const Part& part : parts) sizes.push_back(static_cast<size_t>(part.bytes));
  std::vector<Bucket> buckets;
  for (std::vector<size_t>& members : assign_buckets(sizes, limits)) {
    Bucket bucket;
    for (const size_t i : members) bucket.bytes += parts[i].bytes;
    bucket.members = std::move(members);
    buckets.push_back(std::move(bucket));
  }
  return buckets;
}

/// Bytes that are live, or free, from one operation to another.
struct Held {
  double bytes;
  int from, to;  ///< both included
};

class Pricing {
 public:
  Pricing(const TrainingStep& step, int devices, const Collectives& collectives)
      : step_(step), devices_(devices), collectives_(collectives), operations_(step.seconds) {
    last_ = static_cast<int>(operations_.size());  // the updates, as one operation
    for (const StepGradient& gradient : step.gradients) gradients_ += gradient.bytes;
    for (const StepParameter& parameter : step.parameters) parameters_ += parameter.bytes;
  }

  StrategyEstimate run(Strategy strategy, const StepMemory& memory) {
    StrategyEstimate result;
    result.strategy = strategy;
    const bool gathers = strategy == Strategy::fully_sharded, shares = gathers || strategy == Strategy::sharded;
    operations_.push_back(shares ? step_.update_seconds / devices_ : step_.update_seconds);
    if (strategy == Strategy::data_parallel) to_and_from_the_first();
    else reduce_gradients(shares);
    if (gathers) gather_parameters();
    else if (shares) transfers_.push_back({collectives_.all_gather(parameters_), last_, last_ + 1});
    std::stable_sort(transfers_.begin(), transfers_.end(),
                     [](const Transfer& a, const Transfer& b) { return a.after < b.after; });
    const Simulated simulated = simulate(operations_, transfers_);
    result.step_seconds = simulated.seconds;
    const double computes = step_.compute_seconds();
    double share_of_computation = 0;
    for (const double seconds : operations_) share_of_computation += seconds;
    result.exposed_seconds = std::max(0.0, simulated.seconds - share_of_computation);
    result.efficiency = computes / simulated.seconds;
    for (const Transfer& transfer : transfers_) {
      result.communication_seconds += transfer.cost.seconds();
      result.sent_bytes += transfer.cost.sent_bytes;
      result.collectives += transfer.cost.parts.empty() ? 0 : 1;
    }
    const double kept = 1.0 / devices_;
    result.optimizer_bytes = memory.optimizer * (shares ? kept : 1);
    result.parameter_bytes = memory.parameters - (gathers ? parameters_ * (1 - kept) : 0);
    const double others = memory.lasting - memory.optimizer - memory.parameters;
    result.peak_bytes =
        result.optimizer_bytes + result.parameter_bytes + others + arena(simulated, shares, gathers) + memory.arena_gaps;
    return result;
  }

 private:
  /// The first device has the parameters and adds up gradients; all others wait for it.
  void to_and_from_the_first() {
    transfers_.push_back({collectives_.broadcast(parameters_), -1, 0});
    CollectiveCost back = collectives_.gather(gradients_);
    if (devices_ > 1) back += collectives_.sum_of_all(gradients_);
    transfers_.push_back({back, last_ - 1, last_});
  }

  void reduce_gradients(bool to_owners) {
    buckets_ = buckets_of(step_.gradients, collectives_.buckets());
    for (const Bucket& bucket : buckets_) {
      int ready = -1;
      for (const size_t i : bucket.members) ready = std::max(ready, step_.gradients[i].ready);
      transfers_.push_back(
          {to_owners ? collectives_.reduce_scatter(bucket.bytes) : collectives_.all_reduce(bucket.bytes), ready, last_});
    }
  }

  /// Each bucket is gathered before its first reader in the forward pass, and again for the backward pass. While one is read,
  /// the next one is gathered; the one after that follows when the first is dropped.
  void gather_parameters() {
    std::vector<StepParameter> order = step_.parameters;
    gather_for(order, &StepParameter::forward);
    std::erase_if(order, [](const StepParameter& parameter) { return parameter.backward[0] < 0; });
    std::stable_sort(order.begin(), order.end(),
                     [](const StepParameter& a, const StepParameter& b) { return a.backward[0] < b.backward[0]; });
    gather_for(order, &StepParameter::backward);
  }

  void gather_for(const std::vector<StepParameter>& parameters, int (StepParameter::*uses)[2]) {
    std::vector<int> dropped;  // after which operation
    for (const Bucket& bucket : buckets_of(parameters, collectives_.buckets())) {
      int first = last_, end = -1;
      for (const size_t i : bucket.members) {
        first = std::min(first, (parameters[i].*uses)[0]);
        end = std::max(end, (parameters[i].*uses)[1]);
      }
      const int begin = dropped.size() >= 2 ? dropped[dropped.size() - 2] : before_pass_;
      dropped.push_back(std::max(end, dropped.empty() ? end : dropped.back()));
      const int after = std::min(begin, first - 1);
      transfers_.push_back({collectives_.all_gather(bucket.bytes), after, first});
      held_.push_back({bucket.bytes, after + 1, end});
    }
    before_pass_ = dropped.empty() ? before_pass_ : dropped.back();
  }

  /// The peak: what is live in one device's step plus what is gathered, less what was given away.
  double arena(const Simulated& simulated, bool shares, bool gathers) const {
    std::vector<double> change(operations_.size() + 2, 0);
    const auto add = [&](double bytes, int from, int to) {
      change[static_cast<size_t>(std::clamp(from, 0, last_ + 1))] += bytes;
      change[static_cast<size_t>(std::clamp(to + 1, 0, last_ + 1))] -= bytes;
    };
    if (gathers)
      for (const Held& held : held_) add(held.bytes, held.from, held.to);
    // Reducing a bucket needs its operands and as much again for what comes in. With shares, one share stays.
    size_t bucket = 0;
    for (size_t t = 0; t < transfers_.size() && bucket < buckets_.size() && devices_ > 1; ++t) {
      if (transfers_[t].before != last_) continue;
      const double bytes = buckets_[bucket++].bytes;
      add(bytes, simulated.begun[t], simulated.completed[t]);
      if (shares) add(-bytes * (1 - 1.0 / devices_), simulated.completed[t] + 1, last_);
    }
    if (buckets_.empty()) add(bytes_of_parts(), last_, last_);
    double most = 0, extra = 0;
    for (size_t i = 0; i < operations_.size(); ++i) {
      extra += change[i];
      const double live = i < step_.live.size() ? step_.live[i] : gradients_;
      most = std::max(most, live + extra);
    }
    return most;
  }

  /// How much of all others' gradients the first device holds at once: for one bucket.
  double bytes_of_parts() const {
    double most = 0;
    for (const Bucket& bucket : buckets_of(step_.gradients, collectives_.buckets())) most = std::max(most, bucket.bytes);
    return most * (devices_ - 1);
  }

  const TrainingStep& step_;
  const int devices_;
  const Collectives& collectives_;
  std::vector<double> operations_;
  int last_ = 0;
  int before_pass_ = -1;  ///< the operation after which the pass's first buckets may be gathered
  double gradients_ = 0, parameters_ = 0;
  std::vector<Bucket> buckets_;
  std::vector<Transfer> transfers_;
  std::vector<Held> held_;
};

}  // namespace

StrategyEstimate price_strategy(Strategy strategy, const TrainingStep& step, const StepMemory& memory, int devices,
                                const Collectives& collectives) {
  return Pricing(step, devices, collectives).run(strategy, memory);
}

}  // namespace sheaf
