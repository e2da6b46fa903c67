// Time under the rooflines: each operation by itself, then the lanes with their waits.
#include "runtime/base/index.h"
#include "runtime/ops/traits.h"
#include "runtime/plan/op_list.h"
#include "tools/estimate/measures.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

namespace sheaf {
namespace {

class Clock {
 public:
  Clock(const PlannedBinding& binding, const DeviceSet& devices, const DeviceDescriptions& description, Estimate& estimate)
      : binding_(binding), devices_(devices), description_(description), estimate_(estimate) {
    for (LaneId lane : devices.lanes())
      if (lane != kHostLane) busy_ += devices.device(lane).info().uses_host_cores ? devices.threads(lane) : 0;
    for (size_t i = 0; i < estimate.layers.size(); ++i) layers_.emplace(estimate.layers[i].layer, i);
    by_bound_.resize(estimate.layers.size());
    for (LaneId lane : devices.lanes()) {
      if (!timed_) break;
      timed_ = devices.device(lane).info().planned.empty() || this->description(lane).known;
      if (!timed_)
        estimate.no_times = "it isn't known how fast " + devices.name(lane) + " is: it isn't here, and --describe doesn't say";
    }
  }

  void measure() {
    const auto& instances = binding_.program.instances;
    IdVector<LaneId, double> lane_time(devices_.lanes().size(), 0);
    IdVector<InstanceId, double> done(instances.size(), 0);
    // As in schedule(): early operations come first on their lane.
    for (const bool early : {true, false}) {
      for (InstanceId i : instances.ids()) {
        const Instance& instance = instances[i];
        if (instance.left_out() || instance.early != early) continue;
        double& now = lane_time[instance.lane];
        for (const WaitFor& wait : binding_.schedule.instances[i].waits) {
          const double signal = timed_ ? description(instance.lane).seconds_per_wait : 0;
          now = std::max(now, done[wait.instance]) + signal;
          estimate_.devices[instance.lane.index()].communication_seconds += signal;
        }
        done[i] = now += take(i);
      }
    }
    for (double time : lane_time) estimate_.step_seconds = std::max(estimate_.step_seconds, time);
    for (size_t l = 0; l < by_bound_.size(); ++l) {
      const auto most = std::max_element(by_bound_[l].begin(), by_bound_[l].end());
      estimate_.layers[l].bound = static_cast<Bound>(most - by_bound_[l].begin());
    }
  }

 private:
  const DeviceDescription& description(LaneId lane) const { return description_.of(devices_.device(lane).info()); }

  /// Seconds of one operation, noted with its device and layer.
  double take(InstanceId i) {
    const Instance& instance = binding_.program.instances[i];
    if (instance.is<Instance::Print>()) return 0;
    const OperationInfo& info = estimate_.operations[i.index()];
    const Cost& cost = estimate_.costs[i.index()];
    DeviceEstimate& estimate = estimate_.devices[instance.lane.index()];
    estimate.cost += cost;
    ++estimate.operations;
    if (!timed_) return 0;
    const DeviceDescription& device = description(instance.lane);
    const int threads = devices_.threads(instance.lane);
    Roofline roofline = lane_roofline(device, threads, instance.lane == kHostLane ? threads : busy_, info.op,
                                      multiplied(info.op, info.input_specs), cost.bytes());
    const bool copies = (instance.is<Instance::Copy>() || instance.is<Instance::Fetch>()) && info.op != Op::update;
    if (copies) roofline.bytes_per_second = 2 * device.copy_bytes_per_second;  // read and written count as one byte copied
    const double time = seconds(roofline, cost), memory = cost.bytes() / roofline.bytes_per_second;
    estimate.compute_seconds += cost.flops / roofline.flops_per_second;
    (copies || moves(info.op) ? estimate.communication_seconds : estimate.memory_seconds) += memory;
    estimate.overhead_seconds += roofline.seconds_per_operation;
    estimate.busy_seconds += time;
    const size_t layer = layers_.at(info.layer);
    estimate_.layers[layer].seconds += time;
    by_bound_[layer][static_cast<size_t>(bound_by(roofline, cost))] += time;
    return time;
  }

  const PlannedBinding& binding_;
  const DeviceSet& devices_;
  const DeviceDescriptions& description_;
  Estimate& estimate_;
  bool timed_ = true;  ///< all devices' figures are known
  int busy_ = 0;       ///< threads of all lanes on the host's cores except the host's own
  std::map<std::string, size_t> layers_;
  std::vector<std::array<double, 3>> by_bound_;
};

}  // namespace

void add_times(const PlannedBinding& planned, const DeviceSet& devices, const DeviceDescriptions& description,
               Estimate& estimate) {
  Clock(planned, devices, description, estimate).measure();
}

}  // namespace sheaf
