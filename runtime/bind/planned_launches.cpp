#include "runtime/bind/planned_launches.h"

#include "runtime/bind/side_by_side.h"
#include "runtime/bind/touched.h"
#include "runtime/device/launch_count.h"
#include "runtime/plan/kernel_lookup.h"

#include <map>

namespace sheaf {
namespace {

class Counting {
 public:
  Counting(const PlannedBinding& planned, const Plan& plan, const Program& program, const DeviceSet& devices)
      : planned_(planned), bound_(planned.program), plan_(plan), program_(program), devices_(devices) {
    counts_.resize(bound_.instances.size(), 0);
    for (InstanceId i : bound_.instances.ids()) {
      const Instance& instance = bound_.instances[i];
      if (instance.left_out() || instance.is<Instance::Print>()) continue;
      counts_[i] = instance.call() ? launches_of(instance.call()->executable.get()) : 1;
    }
  }

  IdVector<InstanceId, int> count() {
    for (LaneId lane : devices_.lanes()) {
      if (devices_.device(lane).info().asynchronous) merge(planned_.schedule.lanes[lane]);
    }
    return std::move(counts_);
  }

 private:
  /// What instances must have in common for a device to make one launch of them; empty if it can't.
  std::string many(const Instance& instance) {
    if (instance.can_fail() || instance.collective >= 0) return {};
    const bool conversion = converts(bound_, instance);
    if (!conversion && !instance.is<Instance::KernelCall>()) return {};
    const std::string key = launch_key(bound_, program_, instance);
    if (conversion) return key;
    const auto [known, fresh] = kernels_.try_emplace(key, false);
    if (const Kernel* kernel = fresh ? find_kernel(plan_, key) : nullptr) known->second = launches_many(*kernel);
    return known->second ? key : std::string();
  }

  void merge(const std::vector<InstanceId>& order) {
    std::string last;  // of the launch that might continue
    const Instance* before = nullptr;
    Touched touched;
    for (InstanceId i : order) {
      const Instance& instance = bound_.instances[i];
      const std::string key = many(instance);
      const bool alone =
          before && (before->commits != instance.commits || !planned_.schedule.instances[i].waits.empty() || signalled_);
      std::vector<OperandRange> operands;
      const bool known = !key.empty() && ranges(instance, operands);
      const bool joins = known && key == last && !alone && touched.allows(operands);
      if (joins) counts_[i] = 0;
      else touched = {};
      touched.add(operands);
      last = known ? key : std::string();
      before = &instance;
      signalled_ = planned_.schedule.instances[i].signals;
    }
  }

  /// Addresses as if each arena and each constant had a range of its own. False: some differ between runs.
  bool ranges(const Instance& instance, std::vector<OperandRange>& operands) const {
    const auto add = [&](TensorId tensor, bool writes) {
      const Root root = bound_.root(tensor);
      const Tensor& home = bound_.tensors[root.tensor];
      if (home.lies<Tensor::Given>() || home.lies<Tensor::Wanted>() || home.twin) return false;
      constexpr uintptr_t kStretch = uintptr_t{1} << 44;
      uintptr_t begin = 0;
      if (const auto* stored = home.lies<Tensor::Stored>())
        begin = kStretch * 1024 + (static_cast<uintptr_t>(stored->node.index()) << 40);
      else begin = kStretch * (1 + home.lane.index()) + planned_.memory.root_offsets[root.tensor];
      operands.push_back({reinterpret_cast<const char*>(begin + root.offset), bound_.tensors[tensor].spec.bytes, writes});
      return true;
    };
    for (TensorId tensor : instance.inputs)
      if (!add(tensor, false)) return false;
    for (TensorId tensor : instance.outputs)
      if (!add(tensor, true)) return false;
    return true;
  }

  const PlannedBinding& planned_;
  const BoundProgram& bound_;
  const Plan& plan_;
  const Program& program_;
  const DeviceSet& devices_;
  std::map<std::string, bool> kernels_;  ///< those asked about: whether one launch does several
  bool signalled_ = false;               ///< the instance before it is waited for
  IdVector<InstanceId, int> counts_;
};

}  // namespace

IdVector<InstanceId, int> planned_launches(const PlannedBinding& planned, const Plan& plan, const Program& program,
                                           const DeviceSet& devices) {
  return Counting(planned, plan, program, devices).count();
}

}  // namespace sheaf
