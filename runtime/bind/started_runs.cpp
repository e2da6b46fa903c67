// Runs that are handed over and finished later.
#include "runtime/bind/arena_pool.h"
#include "runtime/bind/binding.h"

#include <algorithm>

namespace sheaf {

Result<void> Binding::start(std::span<const void* const> inputs, std::span<void* const> outputs, const PrintSink* sink,
                            std::span<const void* const> next) {
  settle_all(true);
  if (!overlaps() || started_.size() == 2) return Error("internal error: a run is started that can't be under way");
  SHEAF_TRY(buffers_.take(inputs, outputs));
  SHEAF_TRY(prepare_weights());  // may settle
  if (!executor_->can_start()) settle();
  if (!started_.empty() && started_.back().error) return {};
  if (!executor_->can_start()) {
    auto done = run(inputs, outputs, sink, nullptr, next);
    started_.push_back({true, done ? std::optional<Error>() : done.error(), loss_not_finite_});
    return {};
  }
  const Ahead ahead = ahead_of(inputs, next);
  executor_->start(sink, ahead);
  started_.emplace_back();
  store_->under_way(this);
  if (pool_) pool_->unfinished = this;
  if (!ahead.next.empty()) came_.assign(next.begin(), next.end());
  note_updates();  // who reads variables waits for this run
  return {};
}

void Binding::end_oldest() {
  const auto oldest = std::ranges::find(started_, false, &Started::done);
  oldest->done = true;
  if (!executor_->finish()) {
    oldest->error = failed_run();
    oldest->loss_not_finite = loss_not_finite_;
    started_.erase(oldest + 1, started_.end());
    came_.clear();
  }
  if (executor_->under_way() > 0) return;
  if (pool_ && pool_->unfinished == this) pool_->unfinished = nullptr;
  if (store_->unfinished() == this) store_->under_way(nullptr);
}

void Binding::settle() {
  while (executor_->under_way() > 0) end_oldest();
}

void Binding::settle_all(bool others) {
  if (!others) settle();
  const Unfinished* runs = store_->unfinished();
  if (runs && runs != this) (void)store_->lock();
  if (pool_ && pool_->unfinished && pool_->unfinished != this) pool_->unfinished->settle();
}

Result<void> Binding::finish() {
  if (started_.empty()) return Error("no run is under way: none was started, or an earlier one failed");
  if (!started_.front().done) end_oldest();
  const Started run = std::move(started_.front());
  started_.erase(started_.begin());
  loss_not_finite_ = run.loss_not_finite;
  return run.error ? Result<void>(*run.error) : Result<void>();
}

}  // namespace sheaf
