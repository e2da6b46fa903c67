// A trainer's steps that are started and finished later.
#include "runtime/base/exception.h"
#include "runtime/training/trainer_state.h"

#include <cmath>

namespace sheaf {
namespace {

bool is_update(const Result<float>& loss) { return loss && std::isfinite(*loss); }

}  // namespace

void Trainer::State::end_started() {
  for (size_t i = 0; i < started.size(); ++i) {
    if (!started[i].loss) started[i].loss = started[i].step->finish();
    if (is_update(*started[i].loss)) continue;
    for (; started.size() > i + 1; started.pop_back()) progress.steps -= started.back().counted;
  }
}

bool Trainer::State::started_failed() const {
  return !started.empty() && started.back().loss && !is_update(*started.back().loss);
}

Result<void> Trainer::State::check_none_started(const char* what) const {
  if (started.empty()) return {};
  return Error(std::string(what) + " comes after steps that were started: call finish() for each of the " +
               std::to_string(started.size()) + " first");
}

Result<void> Trainer::State::start(const BoundSize& size, std::span<const void* const> values, const RunOptions& run,
                                   std::span<const void* const> next) {
  SHEAF_TRY(check_count(values.size()));
  if (!next.empty()) SHEAF_TRY(check_count(next.size()));
  if (started.size() == kMostStarted) return check_none_started("a third step");
  SHEAF_ASSIGN(auto* step, step_of(size));
  const bool overlaps = step->overlaps() && !run.trace;
  // Others come one after another.
  if (!overlaps || (!started.empty() && started.back().step != step)) end_started();
  if (started_failed()) return {};  // a step after one that failed is forgotten
  set_settings();
  if (overlaps) {
    SHEAF_TRY(step->start(values, run, next));
    started.push_back({step, {}, true});
  } else {
    auto loss = step->run(values, run, next);
    const bool counts = is_update(loss);
    started.push_back({step, std::move(loss), counts});
  }
  progress.steps += started.back().counted;
  return {};
}

Result<void> Trainer::start_rows(int64_t rows, std::span<const void* const> values, const RunOptions& options,
                                 std::span<const void* const> next) try {
  return state_->start(state_->of_rows(rows), values, options, next);
} catch (...) {
  return error_of_exception();
}

Result<void> Trainer::start(std::span<const TensorView> values, const RunOptions& options) try {
  SHEAF_ASSIGN(const auto size, state_->take(values));
  return state_->start(size, state_->buffers, options, {});
} catch (...) {
  return error_of_exception();
}

Result<float> Trainer::finish() try {
  State& state = *state_;
  if (state.started.empty()) return Error("no step is under way: none was started, or one before it failed");
  State::Started& oldest = state.started.front();
  auto loss = oldest.loss ? *std::move(oldest.loss) : oldest.step->finish();
  if (is_update(loss)) {
    state.started.erase(state.started.begin());
    return loss;
  }
  for (const State::Started& step : state.started) state.progress.steps -= step.counted;
  state.started.clear();
  return loss;
} catch (...) {
  return error_of_exception();
}

size_t Trainer::started() const { return state_->started.size(); }

bool Trainer::overlaps() const { return whole().overlaps(); }

}  // namespace sheaf
