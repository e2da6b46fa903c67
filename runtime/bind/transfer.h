// Brings tensors from one memory and format to another outside of a program's operations, for loading, saving, setting and
// inspection.
#pragma once

#include "runtime/device/device.h"

#include <utility>

namespace sheaf {

/// Memory of a device, released at the end.
class DeviceBuffer {
 public:
  /// Errors: too little memory.
  static Result<DeviceBuffer> make(Device& device, size_t bytes);
  DeviceBuffer(DeviceBuffer&& other) noexcept : device_(other.device_), memory_(std::exchange(other.memory_, nullptr)) {}
  DeviceBuffer& operator=(DeviceBuffer&&) = delete;
  ~DeviceBuffer() {
    if (memory_) device_.release(memory_);
  }
  void* get() const { return memory_; }

 private:
  DeviceBuffer(Device& device, void* memory) : device_(device), memory_(memory) {}
  Device& device_;
  void* memory_;
};

/// A tensor in a device's memory, and a queue of that device.
struct TensorPlace {
  Device& device;
  Queue& queue;
  TensorSpec spec;
  void* data = nullptr;
};

/// Whether the devices understand each other's formats: both have one kind.
bool share_formats(const Device& a, const Device& b);

/// Copies `from` to `to`, which has the same dims and dtype, and returns when that is done. The work that makes `from` must
/// already be done. Between memories of two kinds a tensor must be plain. Errors: a device's.
Result<void> transfer(const TensorPlace& from, const TensorPlace& to);

}  // namespace sheaf
