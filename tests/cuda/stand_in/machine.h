// The machine that the stand-ins for NVIDIA's libraries share: two GPUs whose memory is the host's, and streams whose work is done in
// their order as soon as what it waits for is done. It keeps what a real machine would punish by a crash, a hang or wrong numbers as
// faults, which tests read.
#pragma once

#include <cuda.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace stand_in {

constexpr int kDevices = 2;
constexpr size_t kMemory = size_t{64} << 20;  ///< of each device

/// Held in every call of every stand-in.
std::recursive_mutex& machine();
using Lock = std::lock_guard<std::recursive_mutex>;

/// A call that breaks a rule of its library: "cublasLtMatmul: …".
void fault(std::string what);
/// Those since the last call.
std::vector<std::string> take_faults();
/// A device's clock, which events show. It stands still but for what work is told to take, so that no test depends on how fast the
/// machine is.
std::chrono::microseconds& clock_of(int device);
/// Handles that were made and not destroyed, by kind ("stream", "cublasLtMatmulDesc"); kinds without any are left out.
std::map<std::string, size_t> live();
void count(const char* kind, int change);

/// Handles of one kind. Using one that isn't there is a fault.
template <typename T>
class Handles {
 public:
  explicit Handles(const char* kind) : kind_(kind) {}
  T* make(std::shared_ptr<T> object) {
    T* handle = object.get();
    all_[handle] = std::move(object);
    count(kind_, 1);
    return handle;
  }
  /// Null, and a fault, if there is none.
  std::shared_ptr<T> find(const void* handle, const char* call) {
    const auto found = all_.find(handle);
    if (found != all_.end()) return found->second;
    fault(std::string(call) + ": a " + kind_ + " that isn't there");
    return nullptr;
  }
  bool destroy(const void* handle, const char* call) {
    if (!find(handle, call)) return false;
    all_.erase(handle);
    count(kind_, -1);
    return true;
  }

 private:
  const char* kind_;
  std::map<const void*, std::shared_ptr<T>> all_;
};

/// A piece of a stream's work: is called until it returns true, which ends it.
using Work = std::function<bool()>;

struct Stream {
  int device = 0;
  std::vector<Work> waiting;
  // A capture: its work, the events that it recorded, and whether a call that it forbids has spoilt it.
  bool capturing = false, spoilt = false;
  std::vector<Work> captured;
  std::set<const void*> captured_events;
};

/// Of the context that is current on this thread; -1: none is.
int current_device();
/// Null: no such stream.
std::shared_ptr<Stream> find_stream(CUstream stream, const char* call);
/// Of device memory that has all these bytes; -1: there is none.
int device_of(const void* memory, size_t bytes);
/// Whether a device's kernels and copies may access the memory of device `memory`: its own, or a peer's that its context enabled.
bool reaches(int device, int memory);
/// At the end of the stream's work, or into its capture.
void put(Stream& stream, Work work);
/// Does all work that can be done.
void run();

}  // namespace stand_in
