// Time under the rooflines: each operation by itself, then the lanes with what they wait for.
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
  Clock(const Graph& graph, const DeviceSet& devices, const DeviceDescriptions& description, Estimate& estimate)
      : graph_(graph), devices_(devices), description_(description), estimate_(estimate) {
    for (int lane = 1; lane < devices.lanes(); ++lane)
      busy_ += devices.device(lane).info().uses_host_cores ? devices.threads(lane) : 0;
    for (size_t i = 0; i < estimate.layers.size(); ++i) layers_.emplace(estimate.layers[i].layer, i);
    by_bound_.resize(estimate.layers.size());
    for (int lane = 0; lane < devices.lanes() && timed_; ++lane) {
      timed_ = devices.device(lane).info().planned.empty() || this->description(lane).known;
      if (!timed_)
        estimate.no_times = "it isn't known how fast " + devices.name(lane) + " is: it isn't here, and --describe doesn't say";
    }
  }

  void measure() {
    std::vector<double> lane_time(index_of(devices_.lanes()), 0), done(graph_.instances.size(), 0);
    // As schedule() has them: what is early comes first on its lane.
    for (const bool early : {true, false}) {
      for (size_t i = 0; i < graph_.instances.size(); ++i) {
        const Instance& instance = graph_.instances[i];
        if (instance.elided || instance.early != early) continue;
        double& now = lane_time[index_of(instance.lane)];
        for (const WaitFor& wait : instance.waits) {
          const double signal = timed_ ? description(instance.lane).seconds_per_wait : 0;
          now = std::max(now, done[index_of(wait.instance)]) + signal;
          estimate_.devices[index_of(instance.lane)].communication_seconds += signal;
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
  const DeviceDescription& description(int lane) const { return description_.of(devices_.device(lane).info()); }

  /// Seconds of one operation, noted with its device and layer.
  double take(size_t i) {
    const Instance& instance = graph_.instances[i];
    if (instance.kind == Instance::print) return 0;
    const OperationInfo& info = estimate_.operations[i];
    const Cost& cost = estimate_.costs[i];
    DeviceEstimate& estimate = estimate_.devices[index_of(instance.lane)];
    estimate.cost += cost;
    ++estimate.operations;
    if (!timed_) return 0;
    const DeviceDescription& device = description(instance.lane);
    const int threads = devices_.threads(instance.lane);
    Roofline roofline = lane_roofline(device, threads, instance.lane == 0 ? threads : busy_, info.op,
                                      multiplied(info.op, info.input_specs), cost.bytes());
    const bool copies = (instance.kind == Instance::copy || instance.kind == Instance::fetch) && info.op != Op::update;
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

  const Graph& graph_;
  const DeviceSet& devices_;
  const DeviceDescriptions& description_;
  Estimate& estimate_;
  bool timed_ = true;  ///< all devices' figures are known
  int busy_ = 0;       ///< threads of all lanes on the host's cores but the host's own
  std::map<std::string, size_t> layers_;
  std::vector<std::array<double, 3>> by_bound_;
};

}  // namespace

void add_times(const Graph& graph, const DeviceSet& devices, const DeviceDescriptions& description, Estimate& estimate) {
  Clock(graph, devices, description, estimate).measure();
}

}  // namespace sheaf
