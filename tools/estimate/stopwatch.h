// Times something that takes the same time again and again (internal to tools/estimate).
#pragma once

#include <algorithm>
#include <chrono>

namespace sheaf {

inline double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Seconds of one call: the best of some rounds, each long enough for the clock. The best, because disturbances only ever add time;
/// those that last longer than all rounds are the caller's matter (calibrate()).
template <typename Work>
double least_seconds(const Work& work) {
  constexpr double kRound = 1e-3, kTotal = 0.03;
  constexpr int kRounds = 5;
  work();
  double least = 1e9;
  const double start = now_seconds();
  for (int round = 0; round < kRounds || now_seconds() - start < kTotal; ++round) {
    int calls = 0;
    const double begin = now_seconds();
    double end = begin;
    for (; end - begin < kRound; end = now_seconds()) {
      work();
      ++calls;
    }
    least = std::min(least, (end - begin) / calls);
  }
  return least;
}

}  // namespace sheaf
