// The largest batch that fits: a search over plans.
#include "tools/estimate/estimate.h"
#include "tools/estimate/planned_program.h"

#include <algorithm>
#include <map>

namespace sheaf {
namespace {

constexpr int64_t kLargestTried = int64_t{1} << 24;

class Search {
 public:
  Search(const Plan& plan, const Program& program, const DeviceSet& devices, double memory, const BindOptions& bind)
      : plan_(plan), program_(program), devices_(devices), memory_(memory), bind_(bind) {}

  void know(int64_t batch, size_t bytes) { known_[batch] = {true, bytes, ""}; }

  LargestBatch run(int64_t start) {
    // [low fits, high doesn't), found by doubling or halving. The smallest step is one row.
    int64_t low = 0, high = 0;
    if (fits(start)) {
      low = start;
      while (high == 0) {
        if (low >= kLargestTried) return found(low, true);
        const int64_t next = std::min(kLargestTried, guess(low));
        (fits(next) ? low : high) = next;
      }
    } else {
      for (high = start; low == 0 && high > 1;) {
        const int64_t next = high / 2;
        (fits(next) ? low : high) = next;
      }
    }
    while (high - low > 1) {
      const int64_t middle = between(low, high);
      (fits(middle) ? low : high) = middle;
    }
    return found(low, false);
  }

 private:
  struct Known {
    bool planned;
    size_t bytes;
    std::string why;
  };

  const Known& need(int64_t batch) {
    const auto found = known_.find(batch);
    if (found != known_.end()) return found->second;
    auto planned = plan_program(plan_, program_, devices_, batch, bind_);
    if (!planned) return known_[batch] = {false, 0, planned.error().message()};
    return known_[batch] = {true, planned->peak_bytes(), ""};
  }

  bool fits(int64_t batch) {
    const Known& known = need(batch);
    return known.planned && static_cast<double>(known.bytes) <= memory_;
  }

  /// Memory mostly grows by a constant number of bytes per row.
  double line_through(int64_t a, int64_t b) {
    const double rise = static_cast<double>(need(b).bytes) - static_cast<double>(need(a).bytes);
    if (rise <= 0) return -1;
    return static_cast<double>(a) + (memory_ - static_cast<double>(need(a).bytes)) / rise * static_cast<double>(b - a);
  }

  /// A guess beyond `low` of where the limit may be reached.
  int64_t guess(int64_t low) {
    auto before = known_.find(low);
    const int64_t doubled = low * 2;
    if (before == known_.begin()) return doubled;
    --before;
    const double at = before->second.planned ? line_through(before->first, low) : -1;
    return at > static_cast<double>(low) + 1 && at < static_cast<double>(kLargestTried)
               ? std::max(low + 1, static_cast<int64_t>(at) + 1)
               : doubled;
  }

  /// Regula falsi, kept well inside the interval: where sizes jump, halving must still make progress.
  int64_t between(int64_t low, int64_t high) {
    const int64_t half = low + (high - low) / 2;
    if (low == 0 || !need(high).planned || high - low < 4 || ++lines_ % 3 == 0) return half;
    const double at = line_through(low, high);
    return std::clamp(static_cast<int64_t>(at), low + 1, high - 1);
  }

  LargestBatch found(int64_t batch, bool at_least) {
    LargestBatch result;
    result.memory_bytes = memory_;
    result.batch = batch;
    result.at_least = at_least;
    result.peak_bytes = batch > 0 ? need(batch).bytes : 0;
    result.plans = static_cast<int>(known_.size());
    size_t before = 0;
    for (const auto& [rows, known] : known_) {
      if (!known.planned) continue;
      result.monotonic &= known.bytes >= before;
      before = known.bytes;
    }
    if (const auto next = known_.find(batch + 1); next != known_.end()) result.limit = next->second.why;
    return result;
  }

  const Plan& plan_;
  const Program& program_;
  const DeviceSet& devices_;
  double memory_;
  const BindOptions& bind_;
  int lines_ = 0;
  std::map<int64_t, Known> known_;
};

}  // namespace

LargestBatch largest_batch(const Plan& plan, const Program& program, const DeviceSet& devices, const Estimate& estimate,
                           double memory_bytes, const EstimateOptions& options) {
  Search search(plan, program, devices, memory_bytes, options.bind);
  size_t peak = 0;
  for (const DeviceEstimate& device : estimate.devices) peak = std::max(peak, device.peak_bytes);
  search.know(estimate.batch, peak);
  return search.run(estimate.batch);
}

}  // namespace sheaf
