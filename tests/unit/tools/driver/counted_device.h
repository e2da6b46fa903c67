// A CPU device that counts the memory taken from it.
#pragma once

#include "runtime/cpu/cpu_device.h"

#include <map>
#include <mutex>

namespace sheaf {

class CountedDevice : public Device {
 public:
  /// Bytes that are taken now.
  size_t taken() const {
    const std::lock_guard lock(mutex_);
    size_t sum = 0;
    for (const auto& [memory, bytes] : blocks_) sum += bytes;
    return sum;
  }

  Result<void*> allocate(size_t bytes) override {
    auto made = cpu_->allocate(bytes);
    const std::lock_guard lock(mutex_);
    if (made && *made) blocks_[*made] = bytes;
    return made;
  }
  void release(void* memory) override {
    {
      const std::lock_guard lock(mutex_);
      blocks_.erase(memory);
    }
    cpu_->release(memory);
  }

  const DeviceInfo& info() const override { return cpu_->info(); }
  int memory_space() const override { return cpu_->memory_space(); }
  int64_t available_bytes() override { return cpu_->available_bytes(); }
  Result<std::unique_ptr<Queue>> open_queue(int threads, Seconds deadline) override {
    return cpu_->open_queue(threads, deadline);
  }
  Result<std::unique_ptr<Event>> make_event() override { return cpu_->make_event(); }
  Result<std::shared_ptr<const Kernels>> load_kernels(const Plan& plan) override { return cpu_->load_kernels(plan); }
  Result<void> supports(Op op, DType dtype) override { return cpu_->supports(op, dtype); }
  Result<Prepared> prepare(const PrepareRequest& request) override { return cpu_->prepare(request); }
  Result<Prepared> prepare_reorder(const TensorSpec& from, const TensorSpec& to, int threads) override {
    return cpu_->prepare_reorder(from, to, threads);
  }
  TensorSpec same_layout(const TensorSpec& tensor, DType dtype) override { return cpu_->same_layout(tensor, dtype); }
  std::unique_ptr<Executable> merge(std::span<Executable* const> parts) override { return cpu_->merge(parts); }

 private:
  const std::shared_ptr<Device> cpu_ = cpu_device();
  mutable std::mutex mutex_;
  std::map<void*, size_t> blocks_;
};

}  // namespace sheaf
