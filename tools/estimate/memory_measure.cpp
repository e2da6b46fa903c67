// Memory by device and class, the worst moment, and what is live then.
#include "tools/estimate/measures.h"

#include "runtime/base/index.h"

#include <algorithm>

namespace sheaf {
namespace {

constexpr size_t kLargest = 10;

std::string shape_of(const TensorSpec& spec) {
  std::string text(name_of(spec.dtype));
  text += ' ';
  for (size_t i = 0; i < spec.dims.size(); ++i) text += (i ? "x" : "") + std::to_string(spec.dims[i]);
  return spec.dims.empty() ? text + "scalar" : text;
}

class LaneMeasure {
 public:
  LaneMeasure(const Plan& plan, const PlannedProgram& planned, const IdVector<TensorId, Value::Purpose>& purposes,
              const Estimate& estimate, LaneId lane)
      : plan_(plan),
        binding_(planned.binding),
        arena_(binding_.memory.lanes[lane]),
        store_(*planned.store),
        purposes_(purposes),
        estimate_(estimate),
        lane_(lane) {}

  void add_to(DeviceEstimate& device) {
    const ArenaPeak peak = peak_of(arena_);
    device.arena_bytes = arena_.bytes;
    device.arena_bound = arena_.lower_bound;
    const auto& order = binding_.schedule.lanes[lane_];
    if (!order.empty() && !peak.blocks.empty())
      device.peak_operation = order[std::min(peak.position, order.size() - 1)].number();
    for (size_t block : peak.blocks) {
      device.at_peak[purpose_of(arena_.blocks[block])] += arena_size(arena_.blocks[block].bytes, arena_.alignment);
      device.largest.push_back(live(arena_.blocks[block]));
    }
    device.most = most_by_purpose();
  }

  /// Parameters and other data outside the arena.
  void add_lasting(DeviceEstimate& device, int memory_space) const {
    for (const VariableStore::Node& node : store_.nodes()) {
      if (node.device->memory_space() != memory_space || store_.bytes_of(node) == 0) continue;
      const std::string name = node.name.empty() ? "made from weights" : node.name;
      device.largest.push_back({name, "", sheaf::purpose_of(plan_, node), node.spec.bytes, shape_of(node.spec)});
    }
  }

 private:
  size_t purpose_of(const ArenaBlock& block) const {
    return static_cast<size_t>(!block.tensor ? Value::Purpose::workspace : purposes_[block.tensor]);
  }

  LiveTensor live(const ArenaBlock& block) const {
    const auto kind = static_cast<Value::Purpose>(purpose_of(block));
    if (!block.tensor) {
      const std::string& layer = estimate_.operations[block.instance.index()].layer;
      return {"scratch memory", layer, kind, arena_size(block.bytes, arena_.alignment), ""};
    }
    const Tensor& tensor = binding_.program.tensors[block.tensor];
    const std::string layer = tensor.writers.empty() ? "" : estimate_.operations[tensor.writers.front().index()].layer;
    return {tensor.name, layer, kind, arena_size(block.bytes, arena_.alignment), shape_of(tensor.spec)};
  }

  MemoryByPurpose most_by_purpose() const {
    MemoryByPurpose most = {};
    for (size_t kind = 0; kind < kPurposes; ++kind) {
      ArenaProblem problem;
      problem.alignment = arena_.alignment;
      for (const ArenaBlock& block : arena_.blocks) {
        if (purpose_of(block) == kind) problem.buffers.push_back({block.bytes, block.begin, block.end});
      }
      most[kind] = problem.lower_bound();
    }
    return most;
  }

  const Plan& plan_;
  const PlannedBinding& binding_;
  const LaneArena& arena_;
  const VariableStore& store_;
  const IdVector<TensorId, Value::Purpose>& purposes_;
  const Estimate& estimate_;
  LaneId lane_;
};

}  // namespace

void add_memory(const Plan& plan, const PlannedProgram& planned, const Program& program, const DeviceSet& devices,
                Estimate& estimate) {
  const auto purposes = purposes_of_tensors(planned.binding.program, plan, program, *planned.store);
  for (LaneId lane : devices.lanes()) {
    DeviceEstimate device;
    device.device = devices.name(lane);
    device.threads = devices.threads(lane);
    device.lasting = planned.lasting[lane];
    LaneMeasure measure(plan, planned, purposes, estimate, lane);
    measure.add_to(device);
    if (sum(device.lasting) > 0) measure.add_lasting(device, devices.device(lane).memory_space());
    device.peak_bytes = device.arena_bytes + sum(device.lasting);
    std::sort(device.largest.begin(), device.largest.end(), [](const LiveTensor& a, const LiveTensor& b) {
      return a.bytes != b.bytes ? a.bytes > b.bytes : a.name < b.name;
    });
    if (device.largest.size() > kLargest) device.largest.resize(kLargest);
    estimate.devices.push_back(std::move(device));
  }
}

}  // namespace sheaf
