// Lanes of noted operations (noting_queue.h), for the executor, and a device that merges some.
#pragma once

#include "noting_queue.h"

#include "runtime/bind/launches.h"
#include "runtime/lanes/executor.h"

namespace sheaf {

/// Lanes of noted operations; an operation's slots are one byte each of `memory`.
struct Lanes {
  IdVector<LaneId, LaneProgram> programs;
  std::vector<std::unique_ptr<NotedExecutable>> executables;
  std::vector<std::unique_ptr<NotedEvent>> events;
  std::vector<NotingQueue*> queues;
  int instances = 0;

  /// `overlapping`: of queues on which two runs may be under way.
  explicit Lanes(size_t count, bool overlapping = false) : programs(count) {
    for (LaneProgram& program : programs) {
      std::unique_ptr<NotingQueue> queue;
      if (overlapping) {
        auto made = std::make_unique<OverlappingQueue>();
        program.overlapping = made.get();
        for (Event*& end : program.ends) {
          events.push_back(std::make_unique<NotedEvent>());
          events.back()->name = "end" + std::to_string(events.size() - 1);
          end = events.back().get();
        }
        queue = std::move(made);
      } else {
        queue = std::make_unique<NotingQueue>();
      }
      queues.push_back(queue.get());
      program.queue = std::move(queue);
      program.asynchronous = true;
    }
  }
  NotedExecutable& add(size_t lane, const std::string& name) {
    executables.push_back(std::make_unique<NotedExecutable>(name));
    LaneOperation operation;
    operation.executable = executables.back().get();
    operation.instance = InstanceId(instances++);
    LaneProgram& program = programs[LaneId(lane)];
    operation.first_wait = operation.end_wait = static_cast<uint32_t>(program.waits.size());
    program.operations.push_back(operation);
    return *executables.back();
  }
  LaneOperation& last(size_t lane) { return programs[LaneId(lane)].operations.back(); }
  void signal(size_t lane) {
    events.push_back(std::make_unique<NotedEvent>());
    events.back()->name = "e" + std::to_string(events.size() - 1);
    last(lane).event = events.back().get();
    last(lane).signal = static_cast<int32_t>(programs[LaneId(lane)].operations.size());
  }
  /// The last operation of `lane` waits for the last one that signals on `other`.
  void wait(size_t lane, size_t other, Executable* decider = nullptr) {
    const LaneOperation& source = programs[LaneId(other)].operations.back();
    programs[LaneId(lane)].waits.push_back({LaneId(other), source.signal, source.event, decider});
    last(lane).end_wait = static_cast<uint32_t>(programs[LaneId(lane)].waits.size());
  }
  void commit(size_t lane) {
    last(lane).commits = true;
    last(lane).guarded = true;
  }
  std::unique_ptr<Executor> executor(Device& device, bool record = true) {
    for (LaneProgram& program : programs) {
      const std::vector<std::vector<OperandRange>> none(program.operations.size());
      if (program.asynchronous) merged = form_launches(program, none, device, record);
    }
    return std::make_unique<Executor>(std::move(programs), 4);
  }
  std::vector<std::unique_ptr<Executable>> merged;
};

/// A device that merges operations whose names begin with the same "m…", `most` at once.
class MergingDevice : public Device {
 public:
  const DeviceInfo& info() const override { return info_; }
  int memory_space() const override { return 1; }
  Result<void*> allocate(size_t) override { return Error("no memory"); }
  void release(void*) override {}
  Result<std::unique_ptr<Queue>> open_queue(int, Seconds) override { return Error("no queue"); }
  Result<std::unique_ptr<Event>> make_event() override { return Error("no event"); }
  Result<std::shared_ptr<const Kernels>> load_kernels(const Plan&) override { return Error("no kernels"); }
  Result<Prepared> prepare(const PrepareRequest&) override { return Error("no operation"); }
  Result<Prepared> prepare_reorder(const TensorSpec&, const TensorSpec&, int) override { return Error("no operation"); }
  std::unique_ptr<Executable> merge(std::span<Executable* const> parts) override {
    if (parts.size() > most) return nullptr;
    for (Executable* part : parts) {
      if (static_cast<NotedExecutable*>(part)->name[0] != 'm') return nullptr;
    }
    return std::make_unique<NotedExecutable>("merged" + std::to_string(parts.size()));
  }
  size_t most = 100;

 private:
  DeviceInfo info_;
};

}  // namespace sheaf
