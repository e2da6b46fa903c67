#include "runtime/cuda/logged_driver.h"

#include "runtime/machine/tick_clock.h"

namespace sheaf::cuda {
namespace {

/// Notes a call from its begin to the end of the scope.
class Noted {
 public:
  Noted(CallLog& log, const char* name, int device = -1)
      : log_(log.on() ? &log : nullptr), call_{name, device, log_ ? ticks() : 0} {}
  ~Noted() {
    if (!log_) return;
    call_.end = ticks();
    log_->note(call_);
  }
  Noted(const Noted&) = delete;
  Noted& operator=(const Noted&) = delete;

 private:
  CallLog* log_;
  CallLog::Call call_;
};

}  // namespace

Result<MemoryInUse> LoggedDriver::memory(int device) {
  const Noted noted(log_, "cuMemGetInfo", device);
  return driver_->memory(device);
}

Result<void*> LoggedDriver::allocate(int device, size_t bytes) {
  const Noted noted(log_, "cuMemAlloc", device);
  return driver_->allocate(device, bytes);
}

void LoggedDriver::release(int device, void* memory) {
  const Noted noted(log_, "cuMemFree", device);
  driver_->release(device, memory);
}

Result<void*> LoggedDriver::allocate_pinned(size_t bytes) {
  const Noted noted(log_, "cuMemHostAlloc");
  return driver_->allocate_pinned(bytes);
}

void LoggedDriver::release_pinned(void* memory) {
  const Noted noted(log_, "cuMemFreeHost");
  driver_->release_pinned(memory);
}

Result<bool> LoggedDriver::enable_peer(int device, int peer) {
  const Noted noted(log_, "cuCtxEnablePeerAccess", device);
  return driver_->enable_peer(device, peer);
}

Result<Stream> LoggedDriver::make_stream(int device) {
  const Noted noted(log_, "cuStreamCreate", device);
  return driver_->make_stream(device);
}

void LoggedDriver::destroy(Stream stream) {
  const Noted noted(log_, "cuStreamDestroy");
  driver_->destroy(stream);
}

Result<DriverEvent> LoggedDriver::make_event(int device, bool timed) {
  const Noted noted(log_, "cuEventCreate", device);
  return driver_->make_event(device, timed);
}

void LoggedDriver::destroy(DriverEvent event) {
  const Noted noted(log_, "cuEventDestroy");
  driver_->destroy(event);
}

Result<Module> LoggedDriver::load(int device, const std::string& ptx) {
  const Noted noted(log_, "cuModuleLoadData", device);
  return driver_->load(device, ptx);
}

void LoggedDriver::unload(int device, Module module) {
  const Noted noted(log_, "cuModuleUnload", device);
  driver_->unload(device, module);
}

Result<Function> LoggedDriver::function(int device, Module module, const std::string& name) {
  const Noted noted(log_, "cuModuleGetFunction");
  return driver_->function(device, module, name);
}

Result<void> LoggedDriver::record(DriverEvent event, Stream stream) {
  const Noted noted(log_, "cuEventRecord");
  return driver_->record(event, stream);
}

Result<void> LoggedDriver::wait(Stream stream, DriverEvent event) {
  const Noted noted(log_, "cuStreamWaitEvent");
  return driver_->wait(stream, event);
}

Result<void> LoggedDriver::copy(Stream stream, void* target, int target_device, const void* source, int source_device,
                                const CopyShape& shape) {
  const Noted noted(log_, "cuMemcpyAsync", target_device == kHost ? source_device : target_device);
  return driver_->copy(stream, target, target_device, source, source_device, shape);
}

Result<void> LoggedDriver::fill(Stream stream, void* memory, uint8_t value, size_t bytes) {
  const Noted noted(log_, "cuMemsetD8Async");
  return driver_->fill(stream, memory, value, bytes);
}

Result<void> LoggedDriver::launch(Stream stream, const Launch& launch) {
  const Noted noted(log_, "cuLaunchKernel");
  return driver_->launch(stream, launch);
}

Result<void> LoggedDriver::begin_capture(Stream stream) {
  const Noted noted(log_, "cuStreamBeginCapture");
  return driver_->begin_capture(stream);
}

Result<Graph> LoggedDriver::end_capture(Stream stream) {
  const Noted noted(log_, "cuStreamEndCapture, cuGraphInstantiate");
  return driver_->end_capture(stream);
}

Result<void> LoggedDriver::launch(Stream stream, Graph graph) {
  const Noted noted(log_, "cuGraphLaunch");
  return driver_->launch(stream, graph);
}

void LoggedDriver::destroy(Graph graph) {
  const Noted noted(log_, "cuGraphExecDestroy");
  driver_->destroy(graph);
}

}  // namespace sheaf::cuda
