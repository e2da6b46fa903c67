// Time under the rooflines: each operation by itself, then the lanes with their waits.
#include "runtime/base/index.h"
#include "runtime/device/launch_count.h"
#include "runtime/ops/traits.h"
#include "runtime/plan/kernel_lookup.h"
#include "runtime/plan/op_list.h"
#include "tools/estimate/measures.h"
#include "tools/estimate/reuse.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <string_view>

namespace sheaf {
namespace {

class Clock {
 public:
  Clock(const Plan& plan, const PlannedBinding& binding, const DeviceSet& devices, const DeviceDescriptions& description,
        int other_threads, Estimate& estimate)
      : plan_(plan),
        binding_(binding),
        devices_(devices),
        description_(description),
        others_(other_threads),
        estimate_(estimate),
        reuse_(binding.program, step_bytes(binding.program, devices, estimate)) {
    for (int entry = 0; entry < devices.entries(); ++entry) {  // lanes for messages compute little
      const LaneId lane = devices.lane_of_entry(entry);
      if (lane != kHostLane) busy_ += devices.device(lane).info().uses_host_cores ? devices.threads(lane) : 0;
    }
    for (size_t i = 0; i < estimate.layers.size(); ++i) layers_.emplace(estimate.layers[i].layer, i);
    by_bound_.resize(estimate.layers.size());
    for (LaneId lane : devices.lanes()) {
      if (!timed_) break;
      timed_ = devices.device(lane).info().planned.empty() || this->description(lane).known;
      if (!timed_)
        estimate.no_times = "it isn't known how fast " + devices.name(lane) +
                            " is: it isn't here, and neither --device-model nor --describe says";
    }
  }

  void measure() {
    const auto& instances = binding_.program.instances;
    IdVector<LaneId, double> lane_time(devices_.lanes().size(), 0);
    IdVector<LaneId, double> ahead(devices_.lanes().size(), 0);  // copies for the next run, beside this one
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
        if (const auto* copy = instance.is<Instance::Copy>(); copy && copy->ahead) {
          ahead[instance.lane] += take(i);
          done[i] = now;
        } else {
          done[i] = now += take(i);
        }
      }
    }
    for (const double time : done) estimate_.ends.push_back(time);
    for (const auto& times : {lane_time, ahead})
      for (const double time : times) estimate_.step_seconds = std::max(estimate_.step_seconds, time);
    for (size_t l = 0; l < by_bound_.size(); ++l) estimate_.layers[l].bound = most(by_bound_[l]);
    for (size_t k = 0; k < kind_bounds_.size(); ++k) estimate_.kinds[k].bound = most(kind_bounds_[k]);
  }

 private:
  static IdVector<LaneId, double> step_bytes(const BoundProgram& program, const DeviceSet& devices, const Estimate& estimate) {
    IdVector<LaneId, double> bytes(devices.lanes().size(), 0);
    for (InstanceId i : program.instances.ids()) bytes[program.instances[i].lane] += estimate.costs[i.index()].bytes();
    return bytes;
  }

  using ByBound = std::array<double, 3>;  ///< seconds

  static Bound most(const ByBound& seconds) {
    return static_cast<Bound>(std::max_element(seconds.begin(), seconds.end()) - seconds.begin());
  }

  /// Whether a copy goes between the host's memory and another.
  bool crosses(const Instance& instance) const {
    const auto on_host = [&](TensorId tensor) {
      const Tensor& home = binding_.program.home(tensor);
      return home.lies<Tensor::Given>() || home.lies<Tensor::Wanted>() || devices_.device(home.lane).info().shares_host_memory;
    };
    return on_host(instance.inputs[0]) != on_host(instance.outputs[0]);
  }

  /// The index among Estimate::kinds of the operations of the same kind as `op`.
  size_t kind_of(Op op) {
    const auto [known, fresh] = kinds_.try_emplace(op, estimate_.kinds.size());
    if (fresh) {
      estimate_.kinds.emplace_back().op = op;
      kind_bounds_.emplace_back();
    }
    return known->second;
  }

  /// The rate at which a generated kernel moves what its threads request, one or more items of each operand at a time; no bound
  /// if that isn't known.
  double bytes_in_flight_per_second(const DeviceDescription& device, const OperationInfo& info) const {
    const Kernel* kernel = info.op == Op::kernel ? find_kernel(plan_, info.kernel) : nullptr;
    if (!kernel || kernel->gpu_block <= 0 || device.threads == 0 || device.seconds_of_latency == 0 || info.output_specs.empty())
      return std::numeric_limits<double>::infinity();
    size_t bytes = 0;  // that a thread requests for one item
    for (const TensorSpec& input : info.input_specs)
      bytes += input.dims == info.output_specs[0].dims ? size_of(input.dtype) : 0;
    const double items = std::max(1.0, double(kernel->gpu_items) / kernel->gpu_block);
    return device.threads * items * double(std::max<size_t>(bytes, 1)) / device.seconds_of_latency;
  }

  const DeviceDescription& description(LaneId lane) const { return description_.of(devices_.device(lane).info()); }

  /// Seconds of one operation, recorded with its device and layer.
  double take(InstanceId i) {
    const Instance& instance = binding_.program.instances[i];
    if (instance.is<Instance::Print>()) return 0;
    const OperationInfo& info = estimate_.operations[i.index()];
    const Cost& cost = estimate_.costs[i.index()];
    DeviceEstimate& estimate = estimate_.devices[instance.lane.index()];
    estimate.cost += cost;
    ++estimate.operations;
    const bool queued = devices_.device(instance.lane).info().asynchronous;
    const int launches = estimate_.launches[i.index()];
    if (queued) estimate.launches += static_cast<size_t>(launches);
    const size_t kind = kind_of(info.op);
    KindEstimate& alike = estimate_.kinds[kind];
    ++alike.operations;
    alike.cost += cost;
    if (queued) alike.launches += static_cast<size_t>(launches);
    if (!timed_) return 0;
    const DeviceDescription& device = description(instance.lane);
    const int threads = devices_.threads(instance.lane);
    const bool on_cores = devices_.device(instance.lane).info().uses_host_cores;
    const int busy = !on_cores || instance.lane == kHostLane ? threads : busy_;
    const int crowd = on_cores ? busy + others_ : busy;
    const double cached = reuse_.cached_bytes(instance, cost, lane_cache(device, threads, crowd));
    const DType dtype = multiplied(info.op, info.input_specs);
    Roofline roofline = lane_roofline(device, threads, crowd, info.op, dtype, cost.bytes(), cached);
    const Selection* selection = instance.call() ? instance.call()->selection.get() : nullptr;
    roofline.flops_per_second *=
        channels_share(device, info.op, dtype, channels_of(info.op, info.input_specs, info.output_specs),
                       selection ? std::string_view(selection->name()) : std::string_view());
    const bool copies = (instance.is<Instance::Copy>() || instance.is<Instance::Fetch>()) && info.op != Op::update;
    if (copies) {  // a byte read and written counts as one byte copied
      const bool host = device.host_bytes_per_second > 0 && crosses(instance);
      roofline.bytes_per_second = 2 * (host ? device.host_bytes_per_second : device.copy_bytes_per_second);
    }
    const bool sends = instance.is<Instance::Send>(), receives = instance.is<Instance::Receive>();
    if (sends) roofline.bytes_per_second = device.copy_bytes_per_second;
    if (receives) roofline.bytes_per_second = std::numeric_limits<double>::infinity();  // it lasts as long as the sending does
    roofline.bytes_per_second = std::min(roofline.bytes_per_second, bytes_in_flight_per_second(device, info));
    const int meetings = instance.call() ? meetings_of(instance.call()->executable.get()) : 0;
    if (queued) roofline.seconds_per_operation *= launches + kMeetingInLaunches * meetings;
    const double time = seconds(roofline, cost), memory = cost.bytes() / roofline.bytes_per_second;
    estimate.compute_seconds += compute_seconds(roofline, cost);
    (copies || sends || moves(info.op) ? estimate.communication_seconds : estimate.memory_seconds) += memory;
    estimate.overhead_seconds += roofline.seconds_per_operation;
    estimate.busy_seconds += time;
    const size_t layer = layers_.at(info.layer);
    estimate_.layers[layer].seconds += time;
    const auto bound = static_cast<size_t>(bound_by(roofline, cost));
    by_bound_[layer][bound] += time;
    alike.seconds += time;
    kind_bounds_[kind][bound] += time;
    return time;
  }

  const Plan& plan_;
  const PlannedBinding& binding_;
  const DeviceSet& devices_;
  const DeviceDescriptions& description_;
  const int others_;
  Estimate& estimate_;
  Reuse reuse_;
  bool timed_ = true;  ///< all devices' figures are known
  int busy_ = 0;       ///< threads of all lanes on the host's cores except the host's own
  std::map<std::string, size_t> layers_;
  std::vector<ByBound> by_bound_;
  std::map<Op, size_t> kinds_;
  std::vector<ByBound> kind_bounds_;
};

}  // namespace

void add_times(const Plan& plan, const PlannedBinding& planned, const DeviceSet& devices, const DeviceDescriptions& description,
               int other_threads, Estimate& estimate) {
  Clock(plan, planned, devices, description, other_threads, estimate).measure();
}

}  // namespace sheaf
