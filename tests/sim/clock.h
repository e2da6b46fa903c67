// Vector clocks: what is known to be done when something begins.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sheaf::sim {

/// A point in a stream: its `time`-th piece of work.
struct Epoch {
  size_t stream = 0;
  uint32_t time = 0;
};

/// For each stream, up to which piece of work everything is done.
class Clock {
 public:
  bool covers(const Epoch& epoch) const { return epoch.stream < times_.size() && times_[epoch.stream] >= epoch.time; }
  bool covers_all(const Clock& other) const {
    for (size_t i = 0; i < other.times_.size(); ++i)
      if (other.times_[i] > (i < times_.size() ? times_[i] : 0)) return false;
    return true;
  }
  void join(const Clock& other) {
    if (times_.size() < other.times_.size()) times_.resize(other.times_.size());
    for (size_t i = 0; i < other.times_.size(); ++i) times_[i] = std::max(times_[i], other.times_[i]);
  }
  Epoch advance(size_t stream) {
    if (times_.size() <= stream) times_.resize(stream + 1);
    return {stream, ++times_[stream]};
  }

 private:
  std::vector<uint32_t> times_;
};

}  // namespace sheaf::sim
