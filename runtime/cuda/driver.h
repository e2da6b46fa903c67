// The driver that the CUDA backend needs: memory, streams, events, modules, graphs. There are three implementations: NVIDIA's
// (vendor/driver.h, opened at run time), the recording one of the tests (tests/sim), and none. It mirrors the CUDA
// driver interface call by call, so all logic above it is the same with and without a GPU. This file includes no CUDA header:
// the backend except vendor/ is built everywhere.
#pragma once

#include "runtime/base/error.h"
#include "runtime/device/device.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sheaf::cuda {

// Opaque handles; NVIDIA's own behind vendor/.
using Stream = struct StreamHandle*;
using DriverEvent = struct EventHandle*;
using Module = struct ModuleHandle*;
using Function = struct FunctionHandle*;
using Graph = struct GraphHandle*;  ///< instantiated, ready to be launched

struct DeviceProperties {
  std::string name;          ///< "NVIDIA H200"
  std::string pci_bus_id;    ///< "0000:3b:00.0"
  std::string uuid;          ///< "GPU-8f2c1d…": this device's alone, on all machines
  int major = 0, minor = 0;  ///< compute capability: 9.0 is sm_90
  int multiprocessors = 0;
  int64_t memory_bytes = 0;
  int l2_bytes = 0;
  int shared_bytes_per_block = 0;  ///< without opting in to more
  bool launches_together = false;  ///< Launch::together
};

struct MemoryInUse {
  int64_t free_bytes = 0, total_bytes = 0;
};

struct Launch {
  Function function = nullptr;
  unsigned grid[3] = {1, 1, 1};
  unsigned block = 1;          ///< threads, in one dimension
  unsigned shared_bytes = 0;   ///< dynamic shared memory
  void** arguments = nullptr;  ///< addresses of the parameters; read during the call
  bool together = false;       ///< all blocks are there at once, and wait for each other (a cooperative launch)
};

/// A driver's allocations are aligned to this, as libraries require of scratch memory: cuBLASLt (since 12.9) for its
/// workspace; tensor maps require 128.
inline constexpr size_t kAlignment = 256;
/// The alignment that cuDNN's graphs assume of a tensor.
inline constexpr size_t kOperandAlignment = 16;

/// A range of memory that enqueued work accesses.
struct Access {
  const void* data = nullptr;
  size_t bytes = 0;
  bool writes = false;
  size_t alignment = 1;  ///< required by the work
};

/// The location of a copy's end.
inline constexpr int kHost = -1;

/// Any thread may make every call; a call makes its device current. `device` is numbered as in CUDA_VISIBLE_DEVICES. Errors
/// name the call and the reason ("cuMemAlloc: out of memory"). The calls made in a step (from record() on) allocate no host
/// memory if they succeed.
class Driver {
 public:
  virtual ~Driver() = default;

  /// Makes the device's context the calling thread's, as library operations must before they call a library. Allocates nothing.
  virtual Result<void> make_current(int device) { return {}; }

  /// For logs: "CUDA driver 13.0".
  virtual std::string version() { return {}; }
  virtual int devices() const = 0;
  virtual const DeviceProperties& properties(int device) const = 0;
  virtual Result<MemoryInUse> memory(int device) = 0;

  virtual Result<void*> allocate(int device, size_t bytes) = 0;
  virtual void release(int device, void* memory) = 0;
  /// Page-locked host memory that every device can access.
  virtual Result<void*> allocate_pinned(size_t bytes) = 0;
  virtual void release_pinned(void* memory) = 0;
  /// Whether this is host memory that the caller page-locked with this driver's knowledge.
  virtual bool is_pinned(const void* memory) { return false; }
  /// Lets `device` access `peer`'s memory. False if it can't; copies between them then go through the host.
  virtual Result<bool> enable_peer(int device, int peer) = 0;

  virtual Result<Stream> make_stream(int device) = 0;
  virtual void destroy(Stream stream) = 0;
  /// `timed`: elapsed() may ask when it was reached.
  virtual Result<DriverEvent> make_event(int device, bool timed = false) = 0;
  virtual void destroy(DriverEvent event) = 0;
  /// PTX text; the driver compiles it for `device`. Errors have the compiler's log.
  virtual Result<Module> load(int device, const std::string& ptx) = 0;
  virtual void unload(int device, Module module) = 0;
  /// `device`: the one that the module was loaded on.
  virtual Result<Function> function(int device, Module module, const std::string& name) = 0;

  virtual Result<void> record(DriverEvent event, Stream stream) = 0;
  virtual Result<void> wait(Stream stream, DriverEvent event) = 0;
  /// Whether the work before the last record() is done. An event that was never recorded is done. An error is one of
  /// the work itself: a fault of a kernel, a lost device.
  virtual Result<bool> done(DriverEvent event) = 0;
  virtual Result<bool> done(Stream stream) = 0;
  /// Seconds on the device's clock from `from` to `to`, timed events of one device that are done; negative if `to` came first.
  virtual Result<double> elapsed(DriverEvent from, DriverEvent to) = 0;

  /// Ends are devices or kHost; host memory is pinned.
  virtual Result<void> copy(Stream stream, void* target, int target_device, const void* source, int source_device,
                            const CopyShape& shape) = 0;
  virtual Result<void> fill(Stream stream, void* memory, uint8_t value, size_t bytes) = 0;
  /// Sets a word that other streams may be reading to non-zero, unordered with them: they see it before or after.
  virtual Result<void> raise(Stream stream, int32_t* word) { return fill(stream, word, 1, sizeof *word); }
  virtual Result<void> launch(Stream stream, const Launch& launch) = 0;

  /// Between begin_capture() and end_capture(), work enqueued on `stream` is only recorded. (Per thread: others go on.)
  virtual Result<void> begin_capture(Stream stream) = 0;
  virtual Result<Graph> end_capture(Stream stream) = 0;
  virtual Result<void> launch(Stream stream, Graph graph) = 0;
  virtual void destroy(Graph graph) = 0;

  /// Names what the calling thread asks for from here to pop_range(), for profilers (NVTX). Ranges nest.
  virtual void push_range(const std::string& name) {}
  virtual void pop_range() {}

  /// Tells a driver that checks accesses what the next enqueued work accesses, through watch().
  virtual bool watches() const { return false; }
  virtual void watch(Stream stream, std::span<const Access> accesses, std::string_view what) {}
};

}  // namespace sheaf::cuda
