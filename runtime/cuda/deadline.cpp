#include "runtime/cuda/deadline.h"

#include <atomic>

namespace sheaf::cuda {
namespace {
std::atomic<double> seconds_allowed{300};
}  // namespace

void set_deadline(std::chrono::duration<double> seconds) { seconds_allowed.store(seconds.count(), std::memory_order_relaxed); }

std::chrono::duration<double> deadline() {
  return std::chrono::duration<double>(seconds_allowed.load(std::memory_order_relaxed));
}

}  // namespace sheaf::cuda
