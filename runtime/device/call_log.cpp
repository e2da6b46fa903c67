#include "runtime/device/call_log.h"

#include <algorithm>

namespace sheaf {

void CallLog::start() {
  count_.store(0, std::memory_order_relaxed);
  on_.store(true, std::memory_order_relaxed);
}

std::span<const CallLog::Call> CallLog::stop() {
  on_.store(false, std::memory_order_relaxed);
  return std::span(calls_).first(std::min(count_.load(std::memory_order_relaxed), calls_.size()));
}

void CallLog::note(const Call& call) {
  const size_t place = count_.fetch_add(1, std::memory_order_relaxed);
  if (place < calls_.size()) calls_[place] = call;
}

}  // namespace sheaf
