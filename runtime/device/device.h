// The device contract: what binding and execution need from a backend. The CPU implements it in runtime/cpu; every backend must
// pass tests/conformance.
//
// A Device is memory plus a way to make operations. A Queue is an ordered sequence of work on it: each lane of a
// run has one. On the CPU a queue does its work before a call returns; on an asynchronous backend (a CUDA stream)
// the calls only enqueue, and events order work between queues. Callers may rely on nothing more than
// this: work within a queue happens in order; work after wait(e) happens after the work before record(e); the host
// may read results only after synchronize(). Call wait(e) only after the matching record(e).
#pragma once

#include "runtime/device/operation.h"
#include "runtime/device/device_list.h"
#include "runtime/device/rank_link.h"
#include "runtime/world/world.h"

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sheaf {

struct DeviceInfo {
  std::string kind;   ///< its backend's name, for people and for descriptions by kind; decides nothing
  std::string model;  ///< "AMD EPYC …"
  int cores = 1;      ///< of the host that this process may use; 1 for other devices
  std::string isa;    ///< "x86-64-v4", "sm_90"
  std::string
      library;  ///< what its operations come from, and the instructions that this uses: "oneDNN 2.6.3, AVX-512 with bf16"
  int64_t memory_bytes = 0;
  int multiprocessors = 0;  ///< of a GPU
  size_t alignment = 64;    ///< of allocations, and required by its operations of scratch memory; a power of 2, at least 64

  // Abilities and behaviour.
  bool asynchronous = false;        ///< queues return before the work is done
  bool shares_host_memory = false;  ///< its memory is the host's
  bool uses_host_cores = false;     ///< its operations run on host threads, which its lanes divide
  /// prepare() accepts batch norm with the addition and ReLU around it (runtime/bind/fuse_norms.h): batch_norm_train with
  /// `activation`, `residual` and a mask as its workspace, batch_norm_backward with `activation` and the residual's gradient.
  bool fuses_norms = false;
  bool looks_up_numbers = false;  ///< it has prepare_numbers()
  /// Among what runs it, there may be something that moves data straight to other processes' devices (RankLink); link_identity() knows.
  bool links_ranks = false;
  /// For a device that is only planned for (plan_device()): why, and as what. Empty: it is present and open.
  std::string planned;
};

using Seconds = std::chrono::duration<double>;
/// How long a wait may last without any progress, unless a binding says otherwise.
inline constexpr Seconds kDeadline{300};

/// A plan's generated kernels, loaded for one kind of device.
class Kernels : public std::enable_shared_from_this<Kernels> {
 public:
  virtual ~Kernels() = default;
};

/// A point in a queue's work.
class Event {
 public:
  virtual ~Event() = default;
  /// Blocks the calling thread until the work before record() is done. Errors: the work failed, or it was not done by
  /// the queue's deadline.
  virtual Result<void> synchronize() = 0;
};

/// Recorded work of a queue, launched as a whole, again and again (a CUDA graph).
class RecordedWork {
 public:
  virtual ~RecordedWork() = default;
};

class CallLog;

/// When the work of a call to a queue ran on the device, in ticks of the host's clock (runtime/machine/tick_clock.h).
struct WorkTimes {
  int64_t begin = 0, done = 0;
  bool beside = false;  ///< among copies that run beside the other work
};

/// A copy of `rows` runs of `row_bytes` bytes, `source_pitch` and `target_pitch` bytes apart.
struct CopyShape {
  size_t row_bytes = 0;
  size_t rows = 1;
  size_t source_pitch = 0;
  size_t target_pitch = 0;
};

/// A run of bytes within the target of Queue::fetch().
struct CopyPart {
  size_t offset = 0, bytes = 0;
};

/// Ordered work on a device. Used by one thread at a time. None of these calls allocates host memory, except those that begin
/// and end a recording. A call's failure is kept: synchronize() reports the first.
class Queue {
 public:
  virtual ~Queue() = default;
  /// Begins a run: no operation of it has failed yet. (Asynchronous queues clear the flag that `guarded` work reads.)
  virtual void begin_run() {}
  /// Runs a bound operation of the same device. Buffers: inputs, then outputs, in the device's memory; they and
  /// `scratch` stay valid until the work is done, the array `buffers` itself until the call returns. `guarded`, on an
  /// asynchronous queue: it does nothing if an operation of this queue has failed since begin_run().
  virtual void launch(Executable& executable, void* const* buffers, void* scratch, bool guarded = false) = 0;
  /// Copies between any two memories that the device can reach: its own, the host's, another device's of its kind.
  virtual void copy(void* target, const void* source, const CopyShape& shape, bool guarded = false) = 0;
  /// As copy(), from the host's memory to memory that no work in this queue touches: so it waits for none of it.
  virtual void copy_ahead(void* target, const void* source, const CopyShape& shape) { copy(target, source, shape); }
  /// Copies several pieces of the host's memory to their places in `target`; a queue that stages host data does so in one
  /// transfer. The bytes between them are unspecified. For small data: a batch's labels, a learning rate.
  virtual void fetch(void* target, const void* const* sources, std::span<const CopyPart> parts) {
    for (size_t i = 0; i < parts.size(); ++i) {
      copy(static_cast<char*>(target) + parts[i].offset, sources[i], {parts[i].bytes, 1, 0, 0});
    }
  }
  virtual void record(Event& event) = 0;
  /// `event` may be another device's, even of another kind. Errors, if this queue has to block for it: as Event::synchronize().
  virtual Result<void> wait(Event& event) = 0;
  /// Returns when all work is done; an error says what failed in it, or what ran last when the deadline passed.
  virtual Result<void> synchronize() = 0;

  /// Whether this queue can record work; the functions below are for queues that can.
  virtual bool records() const { return false; }
  /// From here to end_recording(), launch() and copy() within the device only record their work.
  virtual Result<void> begin_recording() { return Error("this queue cannot record work"); }
  virtual Result<std::unique_ptr<RecordedWork>> end_recording() { return Error("this queue cannot record work"); }
  virtual void replay(RecordedWork& work) {}

  /// Whether this queue can say when its work ran; the functions below are for queues that can.
  virtual bool times_work() const { return false; }
  /// The calls from here to end_timed() are one piece of work whose times are wanted. Not while recording.
  virtual void begin_timed() {}
  virtual void end_timed() {}
  /// After synchronize(): the times of the pieces since begin_run(), in their order; `times` has room for all. Errors: as
  /// synchronize().
  virtual Result<void> work_times(std::span<WorkTimes> times) { return Error("this queue cannot time work"); }
};

/// Several distinct devices of one kind exchange buffers in one call. `buffers`: for each of `parts`, one buffer per
/// member.
struct CollectiveRequest {
  enum Kind {
    broadcast,  ///< root's buffers to all others'
    gather,     ///< every other member's buffers to root's: the root has one for each part and other member
    reduce,     ///< the sum of all members' buffers to root's, in the library's order
  } kind = broadcast;
  int root = 0;               ///< a rank: position among the members
  std::vector<size_t> parts;  ///< bytes of each
  DType dtype = DType::float32;
  std::string what;              ///< for messages and explain: "gradients of 12 parameters"
  Seconds deadline = kDeadline;  ///< for a first run, if preparing needs one
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;
  /// The log of calls to its driver while a trace is recorded (runtime/device/call_log.h); null: there is no
  /// driver. Devices may share one.
  virtual CallLog* call_log() { return nullptr; }
  /// What its operations come from, with versions, as far as it has been opened: "cuDNN 9.19.0, cuBLASLt 13.0.2, CUDA driver 13.0".
  virtual std::string software() { return info().library; }
  /// Bytes that could be allocated now, as far as known.
  virtual int64_t available_bytes() { return info().memory_bytes; }
  /// Devices with the same number share memory: a buffer of one can be used by the other. 0 is the host's.
  virtual int memory_space() const = 0;
  /// Its place in a world of several processes; null: it belongs to this process, as if there were no other.
  virtual const WorldMember* member() const { return nullptr; }
  /// Memory of at least `bytes` (0 allowed) bytes, aligned as info() says; an error if there is not enough.
  virtual Result<void*> allocate(size_t bytes) = 0;
  virtual void release(void* memory) = 0;
  /// A queue whose operations use `threads` host threads, if the device runs on the host's cores. A wait for it that sees no
  /// progress for `deadline` ends with an error; devices whose queues work synchronously need none.
  virtual Result<std::unique_ptr<Queue>> open_queue(int threads, Seconds deadline = kDeadline) = 0;
  virtual Result<std::unique_ptr<Event>> make_event() = 0;
  /// Loads a plan's kernels for this kind of device; an error if none of them runs on this one.
  virtual Result<std::shared_ptr<const Kernels>> load_kernels(const Plan& plan) = 0;
  /// Whether it has `op`, a library operation, for a first input of type `dtype`: then prepare() accepts it, sizes permitting.
  /// The error says why not, and where possible how to fix it.
  virtual Result<void> supports(Op op, DType dtype) { return {}; }
  /// Binds a library operation that it supports, or a generated kernel (`request.kernels` must be this device's), to sizes.
  /// Errors leave the layer and the operation to the caller: see prepare_on().
  virtual Result<Prepared> prepare(const PrepareRequest& request) = 0;
  /// An operation that copies a tensor into another format (same dims and dtype), or into another dtype (same dims and format), where
  /// the device's own operations want that.
  virtual Result<Prepared> prepare_reorder(const TensorSpec& from, const TensorSpec& to, int threads) = 0;
  /// The spec of a tensor of `dtype` with the same element layout as `tensor`; plain if there is no such format.
  virtual TensorSpec same_layout(const TensorSpec& tensor, DType dtype) { return plain_tensor(dtype, tensor.dims); }
  /// One operation that does the work of all `parts` in one launch; their buffers follow each other. Null if there is none: the
  /// parts are not the same generated kernel over elements, or the same change of dtype. The parts stay as they are.
  virtual std::unique_ptr<Executable> merge(std::span<Executable* const> parts) { return nullptr; }
  /// By member, starting with this device: the operation that it launches. An empty list if these devices have no
  /// collectives: then copies do the work. Buffers of an operation: broadcast: the parts'; gather: root: for each other member
  /// its parts, in rank order; others: their parts; reduce: the parts', root's also being the results.
  virtual Result<std::vector<Prepared>> prepare_collective(const CollectiveRequest& request, std::span<Device* const> members) {
    return std::vector<Prepared>{};
  }
  /// An operation that makes plain `bytes` the numbers that they stand for, in float32, or rounded to bf16 or f16: `numbers` are those of each
  /// byte, 256 for each index of the second dimension, at most three, or for all.
  virtual Result<Prepared> prepare_numbers(const TensorSpec& bytes, const TensorSpec& to, std::span<const float> numbers) {
    return Error("this device looks up no numbers");
  }

  /// Who it is among the devices of a world. Errors: why it can't exchange data with other processes' devices.
  virtual Result<LinkIdentity> link_identity() { return Error("devices of its kind have no link between processes"); }
  /// What one rank makes and all give to join_link(), each once.
  virtual Result<std::string> new_link() { return Error("devices of its kind have no link between processes"); }
  /// This device as `member`'s. All ranks together. Errors: also that not all have joined within `limit`.
  virtual Result<std::shared_ptr<RankLink>> join_link(const std::string& link, const WorldMember& member, Seconds limit) {
    return Error("devices of its kind have no link between processes");
  }
};

/// Stands for another process's device: it has neither memory nor working queues.
inline bool elsewhere(const Device& device) { return device.member() && !device.member()->here(); }

/// A device for logs: {"kind", "model", "isa", "software"}, without what isn't known.
Json log_entry(Device& device);

/// Asks whether `device` supports the operation, then prepares it. Errors: "layer 'x': operation 'conv': " and why, at the
/// step's place.
Result<Prepared> prepare_on(Device& device, const PrepareRequest& request);

}  // namespace sheaf
