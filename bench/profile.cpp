#include "profile.h"

#include <algorithm>
#include <chrono>

namespace sheaf::bench {
namespace {

using Clock = std::chrono::steady_clock;

class TimedExecutable final : public Executable {
 public:
  TimedExecutable(std::unique_ptr<Executable> executable, std::shared_ptr<Timing> timing)
      : executable_(std::move(executable)), timing_(std::move(timing)) {}
  void run(void* const* buffers, void* scratch) override {
    const auto start = Clock::now();
    executable_->run(buffers, scratch);
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    timing_->seconds = timing_->runs++ == 0 ? seconds : std::min(timing_->seconds, seconds);
  }
  std::string failure() const override { return executable_->failure(); }
  bool failed() const override { return executable_->failed(); }

 private:
  std::unique_ptr<Executable> executable_;
  std::shared_ptr<Timing> timing_;
};

}  // namespace

Result<Prepared> ProfiledDevice::timed(Result<Prepared> prepared, Timing timing) {
  if (!prepared || !prepared->executable) return prepared;
  timing.implementation = prepared->implementation;
  timings_.push_back(std::make_shared<Timing>(std::move(timing)));
  prepared->executable = std::make_unique<TimedExecutable>(std::move(prepared->executable), timings_.back());
  return prepared;
}

Result<Prepared> ProfiledDevice::prepare(const PrepareRequest& request) {
  return timed(device_->prepare(request), {request.step.layer, request.step.op, ""});
}

Result<Prepared> ProfiledDevice::prepare_reorder(const TensorSpec& from, const TensorSpec& to, int threads) {
  return timed(device_->prepare_reorder(from, to, threads), {"", "reorder", ""});
}

void ProfiledDevice::reset() {
  for (const auto& timing : timings_) timing->runs = 0;
}

std::vector<Timing> ProfiledDevice::timings() const {
  std::vector<Timing> ran;
  for (const auto& timing : timings_) {
    if (timing->runs) ran.push_back(*timing);
  }
  return ran;
}

}  // namespace sheaf::bench
