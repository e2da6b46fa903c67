// The device contract: what binding and execution ask of a backend. The CPU implements it in runtime/cpu;
// tests/conformance holds what every backend must pass.
//
// A Device is memory plus a way to make operations. A Queue is an ordered sequence of work on it: each lane of a
// run has one. On the CPU a queue does its work before a call returns; on an asynchronous backend (a CUDA stream)
// the calls only enqueue, and order between queues is made with events. Callers may rely on nothing more than
// this: work within a queue happens in order; work after wait(e) happens after the work before record(e); the host
// may read results only after synchronize(). A caller calls wait(e) only after the record(e) that it means.
#pragma once

#include "runtime/bind/op.h"
#include "runtime/device/device_list.h"

#include <cstddef>
#include <memory>
#include <string>

namespace sheaf {

struct DeviceInfo {
  DeviceKind kind = DeviceKind::cpu;
  std::string model;         ///< "AMD EPYC …"
  int cores = 1;             ///< CPU: those this process may use
  std::string isa;           ///< CPU: "x86-64-v4"; CUDA: "sm_90"
  int64_t memory_bytes = 0;
  bool asynchronous = false; ///< queues return before the work is done
};

/// A plan's generated kernels, loaded for one kind of device.
class Kernels : public std::enable_shared_from_this<Kernels> {
 public:
  virtual ~Kernels() = default;
};

/// A point in a queue's work.
class Event {
 public:
  virtual ~Event() = default;
  /// Blocks the calling thread until the work before record() is done.
  virtual void synchronize() = 0;
};

/// A copy of `rows` runs of `row_bytes` bytes, `source_pitch` and `target_pitch` bytes apart.
struct CopyShape {
  size_t row_bytes = 0;
  size_t rows = 1;
  size_t source_pitch = 0;
  size_t target_pitch = 0;
};

/// Ordered work on a device. Used by one thread at a time. None of these calls allocates host memory.
class Queue {
 public:
  virtual ~Queue() = default;
  /// Runs a bound operation of the same device. Buffers: inputs, then outputs, in the device's memory; they and
  /// `scratch` stay valid until the work is done, the array `buffers` itself until the call returns.
  virtual void launch(Executable& executable, void* const* buffers, void* scratch) = 0;
  /// Copies between any two memories that the device can reach: its own and the host's.
  virtual void copy(void* target, const void* source, const CopyShape& shape) = 0;
  virtual void record(Event& event) = 0;
  /// `event` may be another device's, of another kind too.
  virtual void wait(Event& event) = 0;
  /// Returns when all work is done; an error says what failed in it.
  virtual Result<void> synchronize() = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;
  /// Devices with the same number share memory: a buffer of one can be used by the other. 0 is the host's.
  virtual int memory_space() const = 0;
  /// Memory of at least `bytes` (0 allowed) bytes, aligned to 64; an error where there is not enough.
  virtual Result<void*> allocate(size_t bytes) = 0;
  virtual void release(void* memory) = 0;
  /// A queue whose operations use `threads` CPU threads (ignored by other kinds).
  virtual Result<std::unique_ptr<Queue>> open_queue(int threads) = 0;
  virtual Result<std::unique_ptr<Event>> make_event() = 0;
  /// Loads what a plan carries for this kind of device; an error if it holds nothing that this one can run.
  virtual Result<std::shared_ptr<const Kernels>> load_kernels(const Plan& plan) = 0;
  /// Binds a library operation or a generated kernel (`request.kernels` must be this device's) to sizes.
  virtual Result<Prepared> prepare(const PrepareRequest& request) = 0;
  /// An operation that copies a tensor into another format (same dims and dtype).
  virtual Result<Prepared> prepare_reorder(const TensorSpec& from, const TensorSpec& to, int threads) = 0;
};

/// Opens the device that `spec` names. Errors: no backend of this kind in this build, or no such device.
Result<std::shared_ptr<Device>> open_device(const DeviceSpec& spec);

}  // namespace sheaf
