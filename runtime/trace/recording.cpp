#include "runtime/trace/recording.h"

#include <algorithm>

namespace sheaf {

size_t TracedProgram::operations() const {
  size_t count = 0;
  for (const TracedLane& lane : lanes) count += lane.operations.size();
  return count;
}

Recording::Recording(TracedProgram program, size_t most_operations, std::shared_ptr<const void> owner,
                     std::shared_ptr<int64_t> counter)
    : program_(std::move(program)),
      owner_(std::move(owner)),
      counter_(std::move(counter)),
      capacity_(std::max<size_t>(1, most_operations / std::max<size_t>(1, program_.operations()))) {
  step_times_.resize(capacity_);
  for (const TracedLane& lane : program_.lanes) {
    times_.emplace_back(capacity_ * (lane.operations.size() + 1));
    work_.emplace_back(lane.times_work ? capacity_ * (lane.operations.size() + lane.ahead.size()) : 0);
  }
  next_.resize(times_.size());
  calls_.resize(capacity_);
}

std::span<const LaneTimes> Recording::begin() {
  const size_t at = static_cast<size_t>(steps_) % capacity_;
  for (size_t lane = 0; lane < next_.size(); ++lane) {
    const size_t operations = program_.lanes[lane].operations.size();
    next_[lane] = {times_[lane].data() + at * (operations + 1),
                   work_[lane].empty() ? nullptr : work_[lane].data() + at * (operations + program_.lanes[lane].ahead.size())};
  }
  return next_;
}

void Recording::commit(int64_t begin, int64_t end, std::span<const CallLog::Call> calls) {
  calls_[static_cast<size_t>(steps_) % capacity_].assign(calls.begin(), calls.end());
  step_times_[static_cast<size_t>(steps_) % capacity_] = {begin, end, ++*counter_};
  ++steps_;
}

size_t Recording::kept() const { return std::min(static_cast<size_t>(steps_), capacity_); }

size_t Recording::slot(size_t kept_index) const { return (static_cast<size_t>(steps_) - kept() + kept_index) % capacity_; }

const StepTimes& Recording::step(size_t kept_index) const { return step_times_[slot(kept_index)]; }

std::span<const OperationTimes> Recording::times(size_t kept_index, size_t lane) const {
  const size_t count = program_.lanes[lane].operations.size() + 1;
  return {times_[lane].data() + slot(kept_index) * count, count};
}

std::span<const WorkTimes> Recording::work(size_t kept_index, size_t lane) const {
  if (work_[lane].empty()) return {};
  const size_t count = program_.lanes[lane].operations.size() + program_.lanes[lane].ahead.size();
  return {work_[lane].data() + slot(kept_index) * count, count};
}

std::pair<int64_t, int64_t> Recording::ran(size_t kept_index, size_t lane, size_t operation) const {
  if (const auto known = work(kept_index, lane); !known.empty()) return {known[operation].begin, known[operation].done};
  const OperationTimes& at = times(kept_index, lane)[operation];
  return {at.begin, at.done};
}

}  // namespace sheaf
