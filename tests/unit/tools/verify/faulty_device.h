// A CPU device with memory of its own, whose copies and operations a test can spoil.
#pragma once

#include "runtime/device/device_set.h"
#include "runtime/cpu/cpu_device.h"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace sheaf {

/// Sees each copy into a device's memory before it is made, and may change it; false: it isn't made. Copies to the host, which
/// verification itself uses to read values, are left alone.
using CopyFault = std::function<bool(char*& target, const char*& source, const CopyShape& shape)>;

/// Sees each operation before it runs, and may change its operands. `inputs` are the first of `buffers`.
using OperationFault = std::function<void(Op op, std::span<const TensorSpec> inputs, void* const* buffers)>;

/// The faults of a test's device.
struct Faults {
  CopyFault copy;
  OperationFault operation;
};

/// An operation as it was prepared.
struct PreparedOperation {
  Op op;
  std::vector<TensorSpec> inputs;
};
using PreparedOperations = std::map<const Executable*, PreparedOperation>;

/// The allocations of a test's devices, by their end.
class DeviceMemory {
 public:
  void add(void* begin, size_t bytes) {
    const std::lock_guard lock(mutex_);
    ends_[static_cast<char*>(begin) + bytes] = static_cast<char*>(begin);
  }
  void remove(void* begin) {
    const std::lock_guard lock(mutex_);
    std::erase_if(ends_, [&](const auto& range) { return range.second == begin; });
  }
  bool holds(const void* address) const {
    const std::lock_guard lock(mutex_);
    const auto range = ends_.upper_bound(static_cast<const char*>(address));
    return range != ends_.end() && range->second <= address;
  }

 private:
  mutable std::mutex mutex_;
  std::map<const char*, const char*> ends_;
};

class FaultyQueue : public Queue {
 public:
  FaultyQueue(std::unique_ptr<Queue> queue, Faults faults, std::shared_ptr<DeviceMemory> memory,
              std::shared_ptr<PreparedOperations> operations)
      : queue_(std::move(queue)), faults_(std::move(faults)), memory_(std::move(memory)), operations_(std::move(operations)) {}
  void launch(Executable& executable, void* const* buffers, void* scratch, bool guarded) override {
    if (const auto known = operations_->find(&executable); faults_.operation && known != operations_->end())
      faults_.operation(known->second.op, known->second.inputs, buffers);
    queue_->launch(executable, buffers, scratch, guarded);
  }
  void copy(void* target, const void* source, const CopyShape& shape, bool guarded) override {
    auto* to = static_cast<char*>(target);
    const auto* from = static_cast<const char*>(source);
    if (!faults_.copy || !memory_->holds(target) || faults_.copy(to, from, shape)) queue_->copy(to, from, shape, guarded);
  }
  void record(Event& event) override { queue_->record(event); }
  Result<void> wait(Event& event) override { return queue_->wait(event); }
  Result<void> synchronize() override { return queue_->synchronize(); }

 private:
  std::unique_ptr<Queue> queue_;
  Faults faults_;
  std::shared_ptr<DeviceMemory> memory_;
  std::shared_ptr<PreparedOperations> operations_;
};

class FaultyDevice : public Device {
 public:
  FaultyDevice(int space, Faults faults, std::shared_ptr<DeviceMemory> memory)
      : space_(space), faults_(std::move(faults)), memory_(std::move(memory)), info_(cpu_device()->info()) {
    info_.shares_host_memory = false;
  }
  const DeviceInfo& info() const override { return info_; }
  int memory_space() const override { return space_; }
  Result<void*> allocate(size_t bytes) override {
    auto made = cpu_device()->allocate(bytes);
    if (made) memory_->add(*made, bytes);
    return made;
  }
  void release(void* memory) override {
    memory_->remove(memory);
    cpu_device()->release(memory);
  }
  Result<std::unique_ptr<Queue>> open_queue(int threads, Seconds deadline) override {
    auto queue = cpu_device()->open_queue(threads, deadline);
    if (!queue) return queue.error();
    return std::unique_ptr<Queue>(new FaultyQueue(std::move(*queue), faults_, memory_, operations_));
  }
  Result<std::unique_ptr<Event>> make_event() override { return cpu_device()->make_event(); }
  Result<std::shared_ptr<const Kernels>> load_kernels(const Plan& plan) override { return cpu_device()->load_kernels(plan); }
  Result<Prepared> prepare(const PrepareRequest& request) override {
    auto prepared = cpu_device()->prepare(request);
    if (prepared && prepared->executable) (*operations_)[prepared->executable.get()] = {request.step.op, prepared->inputs};
    return prepared;
  }
  Result<Prepared> prepare_reorder(const TensorSpec& from, const TensorSpec& to, int threads) override {
    return cpu_device()->prepare_reorder(from, to, threads);
  }

 private:
  int space_;
  Faults faults_;
  std::shared_ptr<DeviceMemory> memory_;
  DeviceInfo info_;
  std::shared_ptr<PreparedOperations> operations_ = std::make_shared<PreparedOperations>();
};

/// Two devices, each with its own memory; the second one may be faulty.
inline std::shared_ptr<const DeviceSet> two_devices(Faults faults) {
  auto memory = std::make_shared<DeviceMemory>();
  std::vector<std::shared_ptr<Device>> devices = {std::make_shared<FaultyDevice>(101, Faults(), memory),
                                                  std::make_shared<FaultyDevice>(102, std::move(faults), memory)};
  return std::make_shared<const DeviceSet>(cpu_device(), std::move(devices), std::vector<std::string>{"test:0", "test:1"}, 2);
}

}  // namespace sheaf
