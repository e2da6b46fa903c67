#include "runtime/device/call_log.h"

#include <algorithm>

namespace sheaf {
namespace {

/// Threads by the order in which they first noted something.
unsigned thread_number() {
  static std::atomic<unsigned> count{0};
  thread_local const unsigned number = ++count;
  return number;
}

}  // namespace

void CallLog::start() {
  count_.store(0, std::memory_order_relaxed);
  on_.store(true, std::memory_order_relaxed);
}

std::span<const CallLog::Call> CallLog::stop() {
  on_.store(false, std::memory_order_relaxed);
  return std::span(calls_).first(std::min(count_.load(std::memory_order_relaxed), calls_.size()));
}

void CallLog::note(Call call) {
  call.thread = thread_number();
  const size_t place = count_.fetch_add(1, std::memory_order_relaxed);
  if (place < calls_.size()) calls_[place] = call;
}

}  // namespace sheaf
