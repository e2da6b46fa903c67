// The class behind vendor/driver.h.
#pragma once

#include "runtime/cuda/driver.h"
#include "runtime/cuda/vendor/driver_functions.h"
#include "runtime/cuda/vendor/nvtx.h"

#include <deque>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

namespace sheaf::cuda {

/// Device or pinned memory as the driver names it.
inline CUdeviceptr address(const void* memory) { return reinterpret_cast<CUdeviceptr>(memory); }

/// Works in the devices' primary contexts, which cuDNN, cuBLASLt and NCCL use too. They are never released: the driver does
/// that when the process ends.
class NvidiaDriver final : public Driver {
 public:
  explicit NvidiaDriver(const DriverFunctions& functions) : call_(functions) {}
  /// Finds the devices. Errors: there is none.
  Result<void> open();

  Result<void> make_current(int device) override;
  std::string version() override;
  int devices() const override { return static_cast<int>(devices_.size()); }
  const DeviceProperties& properties(int device) const override { return at(device).properties; }
  Result<MemoryInUse> memory(int device) override;

  Result<void*> allocate(int device, size_t bytes) override;
  void release(int device, void* memory) override;
  Result<void*> allocate_pinned(size_t bytes) override;
  void release_pinned(void* memory) override;
  bool is_pinned(const void* memory) override;
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
  Result<bool> done(DriverEvent event) override;
  Result<bool> done(Stream stream) override;
  Result<double> elapsed(DriverEvent from, DriverEvent to) override;
  Result<void> copy(Stream stream, void* target, int target_device, const void* source, int source_device,
                    const CopyShape& shape) override;
  Result<void> fill(Stream stream, void* memory, uint8_t value, size_t bytes) override;
  Result<void> launch(Stream stream, const Launch& launch) override;
  Result<void> begin_capture(Stream stream) override;
  Result<Graph> end_capture(Stream stream) override;
  Result<void> launch(Stream stream, Graph graph) override;
  void destroy(Graph graph) override;
  void push_range(const std::string& name) override { ranges_.push(name.c_str()); }
  void pop_range() override { ranges_.pop(); }

 private:
  struct DeviceState {
    CUdevice handle = 0;
    DeviceProperties properties;
    std::once_flag retained;
    CUcontext context = nullptr;
    CUresult retain_result = CUDA_SUCCESS;
  };
  const DeviceState& at(int device) const { return devices_[static_cast<size_t>(device)]; }
  DeviceState& at(int device) { return devices_[static_cast<size_t>(device)]; }
  Result<CUcontext> context(int device);
  /// Of the stream's device.
  Result<void> make_current(Stream stream);
  /// Calls that need some context, no matter which, use the first device's if the thread has none.
  Result<void> make_any_current();
  Result<void> read_properties(DeviceState& device);
  Result<void> copy_rows(Stream stream, void* target, int target_device, const void* source, int source_device,
                         const CopyShape& shape);
  Result<void> copy_run(Stream stream, void* target, int target_device, const void* source, int source_device, size_t bytes);
  Result<void> result(const char* call, CUresult code) const {
    return code == CUDA_SUCCESS ? Result<void>() : Result<void>(call_.error(call, code));
  }
  Result<bool> is_done(const char* call, CUresult code) const;

  DriverFunctions call_;
  Nvtx ranges_;
  std::deque<DeviceState> devices_;
  std::shared_mutex streams_mutex_;
  std::unordered_map<Stream, int> streams_;  ///< to their devices
};

}  // namespace sheaf::cuda
