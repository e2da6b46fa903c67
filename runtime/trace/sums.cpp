#include "runtime/trace/sums.h"

#include <algorithm>
#include <functional>
#include <map>

namespace sheaf {
namespace {

int64_t median(std::vector<int64_t>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

void add(OperationProfile& sum, const OperationProfile& operation) {
  const auto keep_common = [](std::string& of_sum, const std::string& other) {
    if (of_sum != other) of_sum.clear();
  };
  keep_common(sum.lane, operation.lane);
  keep_common(sum.op, operation.op);
  keep_common(sum.layer, operation.layer);
  keep_common(sum.implementation, operation.implementation);
  if (sum.replica != operation.replica) sum.replica = -1;
  sum.operations += operation.operations;
  sum.seconds += operation.seconds;
  sum.flops += operation.flops;
  sum.bytes += operation.bytes;
  sum.least_seconds += operation.least_seconds;
}

std::vector<OperationProfile> sums_by(const Profile& profile, std::string OperationProfile::* key) {
  std::map<std::string, OperationProfile> sums;
  for (const OperationProfile& operation : profile.operations) {
    const auto [at, fresh] = sums.emplace(operation.*key, operation);
    if (!fresh) add(at->second, operation);
  }
  std::vector<OperationProfile> sorted;
  for (auto& [name, sum] : sums) sorted.push_back(std::move(sum));
  std::sort(sorted.begin(), sorted.end(),
            [&](const auto& a, const auto& b) { return a.seconds != b.seconds ? a.seconds > b.seconds : a.*key < b.*key; });
  return sorted;
}

}  // namespace

Profile profile_of(const Recording& recording, const TickScale::Fixed& scale) {
  const TracedProgram& program = recording.program();
  const size_t steps = recording.kept();
  Profile profile{program.program, program.batch, static_cast<int64_t>(steps), 0, 0, {}, {}, program.roofline_source};
  std::vector<int64_t> durations(steps);
  const auto median_of = [&](const std::function<int64_t(size_t step)>& duration) {
    for (size_t s = 0; s < steps; ++s) durations[s] = duration(s);
    return scale.seconds(median(durations));
  };
  profile.step_seconds = median_of([&](size_t s) { return recording.step(s).end - recording.step(s).begin; });
  for (size_t l = 0; l < program.lanes.size(); ++l) {
    const TracedLane& lane = program.lanes[l];
    if (lane.operations.empty()) continue;
    LaneProfile sums{lane.name, 0, 0, lane.flops_per_second, lane.bytes_per_second};
    for (size_t i = 0; i < lane.operations.size(); ++i) {
      const TracedOperation& operation = lane.operations[i];
      const double seconds = median_of([&](size_t s) {
        const auto [begin, done] = recording.ran(s, l, i);
        return done - begin;
      });
      sums.seconds += seconds;
      profile.operations.push_back({lane.name, operation.op, operation.layer, operation.implementation, operation.replica, 1,
                                    seconds, operation.cost.flops, operation.cost.bytes(), operation.least_seconds});
    }
    sums.wait_seconds = median_of([&](size_t s) {
      int64_t waited = 0;
      if (const auto work = recording.work(s, l); !work.empty()) {
        int64_t done = work[0].begin;
        for (size_t i = 0; i < lane.operations.size(); ++i) {
          if (!lane.waits_for[i].empty()) waited += std::max<int64_t>(work[i].begin - done, 0);
          if (!work[i].beside) done = std::max(done, work[i].done);
        }
        return waited;
      }
      const auto times = recording.times(s, l);
      for (size_t i = 0; i < times.size(); ++i) waited += times[i].begin - times[i].ready;
      return waited + times.back().done - times.back().begin;
    });
    profile.lanes.push_back(std::move(sums));
  }
  return profile;
}

std::vector<OperationProfile> by_layer(const Profile& profile) { return sums_by(profile, &OperationProfile::layer); }
std::vector<OperationProfile> by_kind(const Profile& profile) { return sums_by(profile, &OperationProfile::op); }

}  // namespace sheaf
