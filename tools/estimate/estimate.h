// What a plan will take on given devices with a given batch: memory to the byte, work, data moved, and time as far as it can be
// predicted. No device is touched: nothing is allocated or run.
#pragma once

#include "runtime/bind/memory_profile.h"
#include "runtime/bind/operation_info.h"
#include "runtime/cost/description.h"
#include "tools/estimate/purposes.h"
#include "runtime/plan/plan.h"
#include "sheaf/model.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sheaf {

class DeviceSet;

struct LiveTensor {
  std::string name;   ///< of a value; of scratch memory the layer
  std::string layer;  ///< whose step makes it; empty for tensors that are there from the start
  Value::Purpose kind = Value::Purpose::activations;
  size_t bytes = 0;   ///< in memory
  std::string shape;  ///< "f32 64x3x28x28"; empty for scratch memory
};

/// One device of the list, or the host.
struct DeviceEstimate {
  std::string device;  ///< "host", "cpu:1"
  int threads = 1;
  MemoryByPurpose lasting = {};     ///< there from start to end, outside the arena
  MemoryByPurpose at_peak = {};     ///< in the arena at its peak
  MemoryByPurpose most = {};        ///< in the arena, the most of each class at any time
  size_t arena_bytes = 0;           ///< as a run allocates
  size_t arena_bound = 0;           ///< live at the peak; the rest of the arena is gaps
  size_t peak_bytes = 0;            ///< arena and lasting
  int peak_operation = -1;          ///< in Estimate::operations; -1: the arena is empty
  std::vector<LiveTensor> largest;  ///< at the peak, at most ten, the largest first
  Cost cost;                        ///< of a step
  size_t operations = 0;
  size_t launches = 0;               ///< enqueued, on an asynchronous device
  double compute_seconds = 0;        ///< arithmetic at the device's rate
  double memory_seconds = 0;         ///< traffic at its bandwidth
  double communication_seconds = 0;  ///< copies and sums of data movement, and waits for other lanes' signals
  double overhead_seconds = 0;
  double busy_seconds = 0;  ///< each operation by the larger of its arithmetic and traffic
};

/// Data that an inserted node moves (contract, section 3: what logically goes from one device to another).
struct MovementEstimate {
  std::string id;  ///< as `dump --format json` has it
  std::string op, layer, device, reason;
  std::vector<int64_t> chunks;
  int64_t bytes_moved = 0;
};

struct LayerEstimate {
  std::string layer;
  Cost cost;
  size_t operations = 0;
  double seconds = 0;           ///< over all lanes
  Bound bound = Bound::memory;  ///< of most of that time
};

/// All operations of one kind, on all devices.
struct KindEstimate {
  Op op{};
  size_t operations = 0, launches = 0;
  Cost cost;
  double seconds = 0;
  Bound bound = Bound::memory;  ///< of most of that time
};

struct LargestBatch {
  double memory_bytes = 0;  ///< the limit, per device
  int64_t batch = 0;        ///< 0: not even one row fits
  bool at_least = false;    ///< the search ended there; more would fit
  size_t peak_bytes = 0;    ///< of the fullest device at that batch
  bool monotonic = true;    ///< in all plans that were made, more rows took no less memory
  int plans = 0;
  std::string limit;  ///< if it isn't memory: why a larger batch has no plan
};

/// Operations whose memory is unknown without their device.
struct UncertainMemory {
  Op op{};
  std::string why;                   ///< Prepared::uncertain
  std::vector<std::string> devices;  ///< that run them
  size_t operations = 0;
};

/// A device that is planned for but absent.
struct PlannedDevice {
  std::string device, why;  ///< DeviceInfo::planned
};

/// Those of `devices`, by lane.
std::vector<PlannedDevice> planned_devices(const DeviceSet& devices);

struct Estimate {
  std::string model, program;
  std::vector<std::string> list;  ///< the device list
  int64_t batch = 0;
  int shards = 0;                       ///< logical shards (docs/strategies.md); 0: one for each device
  std::vector<DeviceEstimate> devices;  ///< by lane
  std::vector<LaneMemory> memory;       ///< by lane: over time
  std::vector<OperationInfo> operations;
  std::vector<Cost> costs;    ///< by operation
  std::vector<int> launches;  ///< by operation: planned_launches()
  std::vector<double> ends;   ///< by operation: seconds from the step's beginning until it is done; 0 for one that is left out
  std::vector<MovementEstimate> movements;
  std::vector<LayerEstimate> layers;  ///< in the order of the program
  std::vector<KindEstimate> kinds;    ///< in the order of their first use in the program
  Cost cost;                          ///< of a step, on all devices
  int64_t bytes_moved = 0;
  size_t parameter_bytes = 0;  ///< BindingInfo's: parameters, buffers and optimiser state
  size_t derived_bytes = 0;
  size_t input_bytes = 0, output_bytes = 0;  ///< the caller's own buffers
  std::vector<PlannedDevice> planned;        ///< the absent ones
  std::vector<UncertainMemory> uncertain;
  std::string transport;    ///< how data goes between ranks' devices; empty: there are none with a memory of their own
  double step_seconds = 0;  ///< longest path through all lanes
  std::string no_times;     ///< why no times are estimated (all are 0 then); empty: they are
  std::string description;  ///< where the devices' figures come from
};

struct EstimateOptions {
  BindOptions bind;                               ///< numerics and deterministic of it
  std::optional<DeviceDescriptions> description;  ///< none: guessed_devices(device_model)
  std::string device_model;                       ///< as given to plan_devices()
  int other_threads = 0;                          ///< of other processes on this machine's cores, running meanwhile
};

/// `program` is one of `plan`'s, which has passed check(); `list` are the devices' names as users wrote them, ranges spelt out
/// ({"cpu"}: host-only mode), `devices` the same opened. Errors: as Binding::bind(), except for memory: a program that doesn't
/// fit is estimated too.
Result<Estimate> estimate(const Plan& plan, const Program& program, const std::vector<std::string>& list,
                          const DeviceSet& devices, int64_t batch, const EstimateOptions& options = {});

/// Searches for the largest batch with which no device needs more than `memory_bytes`, by planning: from `estimate` up or down,
/// then in between. A batch that has no plan (a library rejects its sizes) counts as one that doesn't fit.
LargestBatch largest_batch(const Plan& plan, const Program& program, const DeviceSet& devices, const Estimate& estimate,
                           double memory_bytes, const EstimateOptions& options = {});

}  // namespace sheaf
