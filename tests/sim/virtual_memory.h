// The memory of virtual GPUs, and page-locked host memory, with the state of every byte: whether it was written, by whom, and
// who reads it. Device memory has addresses that the host cannot access; its bytes are elsewhere.
#pragma once

#include "runtime/cuda/driver.h"
#include "tests/sim/clock.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace sheaf::sim {

using cuda::kHost;
using Violation = std::function<void(const std::string&)>;

/// Work that accesses memory, as messages name it: "layer 'fc', operation linear in stream 2 of cuda:1".
using Name = std::shared_ptr<const std::string>;

class VirtualMemory {
 public:
  /// `device_bytes`: of each device. `violation` receives reports of misuse.
  VirtualMemory(int devices, int64_t device_bytes, Violation violation);
  ~VirtualMemory();
  VirtualMemory(const VirtualMemory&) = delete;
  VirtualMemory& operator=(const VirtualMemory&) = delete;

  /// Of a device or kHost. Null if there isn't enough. Its bytes are unwritten. No address is returned twice.
  void* allocate(int device, size_t bytes);
  /// `host`: what the host knows to be done; null if that doesn't matter because the device is gone. False if there is no such
  /// allocation.
  bool release(int device, void* memory, const Clock* host);
  int64_t used(int device) const { return used_[index(device)]; }
  int64_t capacity() const { return capacity_; }
  size_t allocations() const { return allocations_.size(); }
  /// "12 bytes of cuda:0", for each.
  std::vector<std::string> alive() const;

  /// Whether work may access a range from `device` at all: it is within one living allocation, of that device, of the host, or
  /// of a peer. `place`: where it must be, or kAnywhere. Reports and returns false if not.
  static constexpr int kAnywhere = -2;
  bool reachable(const void* data, size_t bytes, int device, int place, const std::string& what);
  /// Records work at `epoch`, before which `known` is done, that accesses a range; reports unordered accesses.
  void touch(const cuda::Access& access, const Epoch& epoch, const Clock& known, const Name& what);
  /// Whether the host knows all work done that accesses a range, or only the work that writes there.
  bool quiet(const void* data, size_t bytes, const Clock& host, bool readers_too) const;

  /// The bytes behind an address; null if it is in no allocation.
  std::byte* bytes_of(const void* data) const;
  /// Whether all bytes of a range were written; `first` is then the first that wasn't.
  bool written(const void* data, size_t bytes, size_t* first = nullptr) const;
  void set_written(const void* data, size_t bytes, bool written);
  void let_reach(int device, int peer) { peers_[index(device)][index(peer)] = true; }

 private:
  struct Touch {
    Epoch epoch;
    Name what;
  };
  struct Segment {  ///< to the beginning of the next one
    Touch write;
    std::vector<Touch> reads;
  };
  struct Allocation {
    int device = kHost;
    size_t bytes = 0;
    std::unique_ptr<std::byte[]> storage;
    std::byte* bytes_begin = nullptr;  ///< in it, aligned like the address
    std::vector<bool> written;
    std::map<size_t, Segment> segments;
  };
  struct Place {
    const Allocation* allocation = nullptr;
    size_t offset = 0;
  };

  size_t index(int device) const { return static_cast<size_t>(device == kHost ? devices_ : device); }
  static std::string name(int device) { return device == kHost ? "the host" : "cuda:" + std::to_string(device); }
  Place find(const void* data) const;
  /// Splits segments so that they begin at `begin` and `end`; returns the first of them.
  static std::map<size_t, Segment>::iterator split(Allocation& allocation, size_t begin, size_t end);

  int devices_;
  int64_t capacity_;
  Violation violation_;
  std::vector<std::byte*> ranges_;  ///< by device: addresses set aside
  std::vector<size_t> next_;        ///< by device: used part of them
  std::vector<int64_t> used_;
  std::vector<std::vector<bool>> peers_;
  std::map<const std::byte*, Allocation> allocations_;
};

}  // namespace sheaf::sim
