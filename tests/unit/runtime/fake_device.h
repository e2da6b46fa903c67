// A backend that the CPU isn't: memory of its own, and queues that work later, on threads of their own.
#pragma once

#include "runtime/cpu/cpu_device.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace sheaf {

class FakeEvent : public Event {
 public:
  Result<void> synchronize() override {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return done == recorded; });
    return {};
  }
  std::mutex mutex;
  std::condition_variable changed;
  int recorded = 0, done = 0;
};

/// An operation that knows how many operands it has, so that the queue can keep their addresses.
struct FakeExecutable : Executable {
  std::unique_ptr<Executable> operation;
  size_t operands = 0;
  void run(void* const* buffers, void* scratch) override { operation->run(buffers, scratch); }
  bool failed() const override { return operation->failed(); }
  std::string failure() const override { return operation->failure(); }
};

inline Result<Prepared> counted(Result<Prepared> prepared) {
  if (!prepared) return prepared;
  auto executable = std::make_unique<FakeExecutable>();
  executable->operation = std::move(prepared->executable);
  executable->operands = prepared->inputs.size() + prepared->outputs.size();
  prepared->executable = std::move(executable);
  return prepared;
}

class FakeQueue : public Queue {
 public:
  FakeQueue() : worker_([this] { work(); }) {}
  ~FakeQueue() override {
    enqueue(nullptr);
    worker_.join();
  }

  void launch(Executable& executable, void* const* buffers, void* scratch, bool) override {
    const std::vector<void*> kept(buffers, buffers + static_cast<FakeExecutable&>(executable).operands);
    enqueue([&executable, kept, scratch] { executable.run(kept.data(), scratch); });
  }
  void copy(void* target, const void* source, const CopyShape& shape, bool) override {
    enqueue([=] {
      for (size_t row = 0; row < shape.rows; ++row) {
        std::memcpy(static_cast<char*>(target) + row * shape.target_pitch,
                    static_cast<const char*>(source) + row * shape.source_pitch, shape.row_bytes);
      }
    });
  }
  void record(Event& event) override {
    auto& fake = static_cast<FakeEvent&>(event);
    const std::lock_guard lock(fake.mutex);
    const int number = ++fake.recorded;
    enqueue([&fake, number] {
      const std::lock_guard done_lock(fake.mutex);
      fake.done = number;
      fake.changed.notify_all();
    });
  }
  Result<void> wait(Event& event) override {
    enqueue([&event] { EXPECT_TRUE(event.synchronize()); });
    return {};
  }
  Result<void> synchronize() override {
    FakeEvent end;
    record(end);
    if (auto ok = end.synchronize(); !ok) return ok;
    const std::lock_guard lock(end.mutex);  // the worker has let go of it
    if (failing) return Error("the device fell off the bus");
    return {};
  }
  static inline std::atomic<bool> failing{false};

 private:
  void enqueue(std::function<void()> job) {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
    changed_.notify_one();
  }
  void work() {
    for (int count = 0;; ++count) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return !jobs_.empty(); });
      auto job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      if (!job) return;
      if (count % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));  // nobody may rely on speed
      job();
    }
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  std::thread worker_;
};

class FakeDevice : public Device {
 public:
  explicit FakeDevice(int space, std::shared_ptr<Device> operations = cpu_device())
      : space_(space), operations_(std::move(operations)) {
    info_.kind = DeviceKind::cuda;
    info_.asynchronous = true;
  }
  ~FakeDevice() override { EXPECT_EQ(allocated, 0) << "memory was not given back"; }
  const DeviceInfo& info() const override { return info_; }
  int memory_space() const override { return space_; }
  Result<void*> allocate(size_t bytes) override {
    ++allocated;
    return cpu_device()->allocate(bytes);
  }
  void release(void* memory) override {
    --allocated;
    cpu_device()->release(memory);
  }
  Result<std::unique_ptr<Queue>> open_queue(int) override { return std::unique_ptr<Queue>(new FakeQueue); }
  Result<std::unique_ptr<Event>> make_event() override { return std::unique_ptr<Event>(new FakeEvent); }
  Result<std::shared_ptr<const Kernels>> load_kernels(const Plan& plan) override { return operations_->load_kernels(plan); }
  Result<Prepared> prepare(const PrepareRequest& request) override {
    PrepareRequest single = request;
    single.threads = 1;
    if (fail_layer == request.step.layer) return Error("not today");
    return counted(operations_->prepare(single));
  }
  Result<Prepared> prepare_reorder(const TensorSpec& from, const TensorSpec& to, int) override {
    return counted(cpu_device()->prepare_reorder(from, to, 1));
  }
  int allocated = 0;
  std::string fail_layer;

 private:
  DeviceInfo info_;
  int space_;
  std::shared_ptr<Device> operations_;  ///< who makes them
};

}  // namespace sheaf
