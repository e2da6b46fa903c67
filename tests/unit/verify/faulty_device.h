// A CPU device with memory of its own, whose copies a test can spoil.
#pragma once

#include "runtime/device/device_set.h"
#include "runtime/cpu/cpu_device.h"

#include <functional>
#include <map>
#include <memory>
#include <mutex>

namespace sheaf {

/// Sees each copy into a device's memory before it is made, and may change it; false: it isn't made. Copies to the host, by
/// which verification itself looks at values, are left alone.
using CopyFault = std::function<bool(char*& target, const char*& source, const CopyShape& shape)>;

/// What the devices of a test have allocated, by where it ends.
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
  FaultyQueue(std::unique_ptr<Queue> queue, CopyFault fault, std::shared_ptr<DeviceMemory> memory)
      : queue_(std::move(queue)), fault_(std::move(fault)), memory_(std::move(memory)) {}
  void launch(Executable& executable, void* const* buffers, void* scratch, bool guarded) override {
    queue_->launch(executable, buffers, scratch, guarded);
  }
  void copy(void* target, const void* source, const CopyShape& shape, bool guarded) override {
    auto* to = static_cast<char*>(target);
    const auto* from = static_cast<const char*>(source);
    if (!fault_ || !memory_->holds(target) || fault_(to, from, shape)) queue_->copy(to, from, shape, guarded);
  }
  void record(Event& event) override { queue_->record(event); }
  Result<void> wait(Event& event) override { return queue_->wait(event); }
  Result<void> synchronize() override { return queue_->synchronize(); }

 private:
  std::unique_ptr<Queue> queue_;
  CopyFault fault_;
  std::shared_ptr<DeviceMemory> memory_;
};

class FaultyDevice : public Device {
 public:
  FaultyDevice(int space, CopyFault fault, std::shared_ptr<DeviceMemory> memory)
      : space_(space), fault_(std::move(fault)), memory_(std::move(memory)) {}
  const DeviceInfo& info() const override { return cpu_device()->info(); }
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
  Result<std::unique_ptr<Queue>> open_queue(int threads) override {
    auto queue = cpu_device()->open_queue(threads);
    if (!queue) return queue.error();
    return std::unique_ptr<Queue>(new FaultyQueue(std::move(*queue), fault_, memory_));
  }
  Result<std::unique_ptr<Event>> make_event() override { return cpu_device()->make_event(); }
  Result<std::shared_ptr<const Kernels>> load_kernels(const Plan& plan) override { return cpu_device()->load_kernels(plan); }
  Result<Prepared> prepare(const PrepareRequest& request) override { return cpu_device()->prepare(request); }
  Result<Prepared> prepare_reorder(const TensorSpec& from, const TensorSpec& to, int threads) override {
    return cpu_device()->prepare_reorder(from, to, threads);
  }

 private:
  int space_;
  CopyFault fault_;
  std::shared_ptr<DeviceMemory> memory_;
};

/// Two devices, each with its own memory; the second one's copies may be spoilt.
inline std::shared_ptr<const DeviceSet> two_devices(CopyFault fault) {
  auto memory = std::make_shared<DeviceMemory>();
  std::vector<std::shared_ptr<Device>> devices = {std::make_shared<FaultyDevice>(101, CopyFault(), memory),
                                                  std::make_shared<FaultyDevice>(102, std::move(fault), memory)};
  return std::make_shared<const DeviceSet>(cpu_device(), std::move(devices), std::vector<std::string>{"test:0", "test:1"}, 2);
}

}  // namespace sheaf
