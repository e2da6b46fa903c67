// A driver that logs each call to another one while a trace is recorded.
#pragma once

#include "runtime/cuda/driver.h"
#include "runtime/device/call_log.h"

#include <memory>

namespace sheaf::cuda {

/// Forwards to `driver`. Polls (done()) are not logged: the trace shows a wait's length as "synchronize".
class LoggedDriver final : public Driver {
 public:
  explicit LoggedDriver(std::unique_ptr<Driver> driver) : driver_(std::move(driver)) {}
  CallLog& log() { return log_; }

  std::string version() override { return driver_->version(); }
  int devices() const override { return driver_->devices(); }
  const DeviceProperties& properties(int device) const override { return driver_->properties(device); }
  Result<void> make_current(int device) override { return driver_->make_current(device); }
  bool is_pinned(const void* memory) override { return driver_->is_pinned(memory); }
  Result<MemoryInUse> memory(int device) override;
  Result<void*> allocate(int device, size_t bytes) override;
  void release(int device, void* memory) override;
  Result<void*> allocate_pinned(size_t bytes) override;
  void release_pinned(void* memory) override;
  Result<bool> enable_peer(int device, int peer) override;
  Result<Stream> make_stream(int device) override;
  void destroy(Stream stream) override;
  Result<DriverEvent> make_event(int device, bool timed) override;
  void destroy(DriverEvent event) override;
  Result<Module> load(int device, const std::string& ptx) override;
  void unload(int device, Module module) override;
  Result<Function> function(int device, Module module, const std::string& name) override;
  Result<void> record(DriverEvent event, Stream stream) override;
  Result<void> wait(Stream stream, DriverEvent event) override;
  Result<bool> done(DriverEvent event) override { return driver_->done(event); }
  Result<bool> done(Stream stream) override { return driver_->done(stream); }
  Result<double> elapsed(DriverEvent from, DriverEvent to) override { return driver_->elapsed(from, to); }
  Result<void> copy(Stream stream, void* target, int target_device, const void* source, int source_device,
                    const CopyShape& shape) override;
  Result<void> fill(Stream stream, void* memory, uint8_t value, size_t bytes) override;
  Result<void> raise(Stream stream, int32_t* word) override { return driver_->raise(stream, word); }
  Result<void> launch(Stream stream, const Launch& launch) override;
  Result<void> begin_capture(Stream stream) override;
  Result<Graph> end_capture(Stream stream) override;
  Result<void> launch(Stream stream, Graph graph) override;
  void destroy(Graph graph) override;
  void push_range(const std::string& name) override { driver_->push_range(name); }
  void pop_range() override { driver_->pop_range(); }
  bool watches() const override { return driver_->watches(); }
  void watch(Stream stream, std::span<const Access> accesses, std::string_view what) override {
    driver_->watch(stream, accesses, what);
  }

 private:
  std::unique_ptr<Driver> driver_;
  CallLog log_;
};

}  // namespace sheaf::cuda
