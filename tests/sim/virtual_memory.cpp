#include "tests/sim/virtual_memory.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace sheaf::sim {
namespace {

constexpr size_t kRange = size_t{64} << 30;  ///< addresses of a device
constexpr size_t kAlignment = 256;           ///< that cuMemAlloc promises
constexpr size_t kMostPinned = size_t{4} << 30;
constexpr size_t kGuard = 4096;  ///< between allocations
constexpr int kNobody = 0x7b;    ///< contents of unwritten bytes: as f32 1.3e36

/// Addresses that nobody can access. Bypasses the sanitizers, which would make shadow memory for all of it.
std::byte* set_aside() {
  const long address =
      syscall(SYS_mmap, nullptr, kRange, long{PROT_NONE}, long{MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE}, -1L, 0L);
  return address == -1 ? nullptr : reinterpret_cast<std::byte*>(address);
}

}  // namespace

VirtualMemory::VirtualMemory(int devices, int64_t device_bytes, Violation violation)
    : devices_(devices), capacity_(device_bytes), violation_(std::move(violation)) {
  const auto places = static_cast<size_t>(devices) + 1;
  for (int i = 0; i < devices; ++i) ranges_.push_back(set_aside());
  next_.assign(places, 0);
  used_.assign(places, 0);
  peers_.assign(places, std::vector<bool>(places, false));
}

VirtualMemory::~VirtualMemory() {
  for (std::byte* range : ranges_) {
    if (range) syscall(SYS_munmap, range, kRange);
  }
}

void* VirtualMemory::allocate(int device, size_t bytes) {
  const size_t i = index(device);
  if (bytes > (device == kHost ? kMostPinned : static_cast<size_t>(capacity_ - used_[i]))) return nullptr;
  const size_t apart = (bytes + kGuard + kAlignment) / kAlignment * kAlignment;
  if (device != kHost && (!ranges_[i] || next_[i] + apart > kRange)) return nullptr;
  auto storage = std::unique_ptr<std::byte[]>(new (std::nothrow) std::byte[bytes + kAlignment]);
  if (!storage) return nullptr;
  std::byte* begin = storage.get() + (kAlignment - reinterpret_cast<uintptr_t>(storage.get()) % kAlignment) % kAlignment;
  std::byte* address = begin;
  if (device != kHost) {
    address = ranges_[i] + next_[i];
    next_[i] += apart;
  }
  Allocation& made = allocations_[address];
  made.device = device;
  made.bytes = bytes;
  made.storage = std::move(storage);
  made.bytes_begin = begin;
  if (device != kHost) made.written.assign(bytes, false);  // (the host writes unseen)
  made.segments.emplace(0, Segment());
  if (device != kHost) std::memset(begin, kNobody, bytes);
  used_[i] += static_cast<int64_t>(bytes);
  return address;
}

bool VirtualMemory::release(int device, void* memory, const Clock* host) {
  const auto found = allocations_.find(static_cast<const std::byte*>(memory));
  if (found == allocations_.end() || found->second.device != device) {
    violation_("release of memory of " + name(device) + " that isn't allocated (twice?)");
    return false;
  }
  const Touch* pending = nullptr;
  for (const auto& [begin, segment] : found->second.segments) {
    const auto look = [&](const Touch& touch) {
      if (host && touch.what && !host->covers(touch.epoch)) pending = &touch;
    };
    look(segment.write);
    std::for_each(segment.reads.begin(), segment.reads.end(), look);
  }
  if (pending)
    violation_("memory of " + name(device) + " is released while nobody knows whether this is done: " + *pending->what);
  used_[index(device)] -= static_cast<int64_t>(found->second.bytes);
  allocations_.erase(found);
  return true;
}

std::vector<std::string> VirtualMemory::alive() const {
  std::vector<std::string> texts;
  for (const auto& [address, allocation] : allocations_) {
    texts.push_back(std::to_string(allocation.bytes) + " bytes of " + name(allocation.device));
  }
  return texts;
}

VirtualMemory::Place VirtualMemory::find(const void* data) const {
  const auto* address = static_cast<const std::byte*>(data);
  auto found = allocations_.upper_bound(address);
  if (found == allocations_.begin()) return {};
  --found;
  const auto offset = static_cast<size_t>(address - found->first);
  // One past the end is still its own: a range of no bytes may lie there.
  return offset <= found->second.bytes ? Place{&found->second, offset} : Place{};
}

bool VirtualMemory::reachable(const void* data, size_t bytes, int device, int place, const std::string& what) {
  if (bytes == 0) return true;
  const Place at = find(data);
  if (!at.allocation || at.offset == at.allocation->bytes) {
    const bool device_address = std::any_of(ranges_.begin(), ranges_.end(),
                                            [&](const std::byte* range) { return data >= range && data < range + kRange; });
    violation_(what + " touches " + std::to_string(bytes) + " bytes of " +
               (device_address ? "device memory that isn't allocated" : "pageable host memory, or none at all"));
    return false;
  }
  const Allocation& allocation = *at.allocation;
  if (bytes > allocation.bytes - at.offset) {
    violation_(what + " touches " + std::to_string(bytes) + " bytes from byte " + std::to_string(at.offset) +
               " of an allocation of " + std::to_string(allocation.bytes));
    return false;
  }
  if (place != kAnywhere && allocation.device != place) {
    violation_(what + " takes memory of " + name(allocation.device) + " for that of " + name(place));
    return false;
  }
  if (place == kAnywhere && allocation.device != kHost && allocation.device != device &&
      !peers_[index(device)][index(allocation.device)]) {
    violation_(what + " touches memory of " + name(allocation.device) + ", which " + name(device) + " was not let reach");
    return false;
  }
  return true;
}

std::map<size_t, VirtualMemory::Segment>::iterator VirtualMemory::split(Allocation& allocation, size_t begin, size_t end) {
  for (const size_t at : {end, begin}) {
    if (at >= allocation.bytes) continue;
    const auto before = std::prev(allocation.segments.upper_bound(at));
    if (before->first != at) allocation.segments.emplace(at, before->second);
  }
  return allocation.segments.find(begin);
}

void VirtualMemory::touch(const cuda::Access& access, const Epoch& epoch, const Clock& known, const Name& what) {
  const Place at = find(access.data);
  if (!at.allocation || access.bytes == 0 || access.bytes > at.allocation->bytes - at.offset) return;
  auto& allocation = const_cast<Allocation&>(*at.allocation);
  const size_t end = at.offset + access.bytes;
  const std::string* before = nullptr;  // reported once
  const char* how = nullptr;
  for (auto segment = split(allocation, at.offset, end); segment != allocation.segments.end() && segment->first < end;
       ++segment) {
    auto& [write, reads] = segment->second;
    if (!before && write.what && !known.covers(write.epoch)) {
      before = write.what.get();
      how = access.writes ? "overwrites what isn't known to be written yet by" : "reads what isn't known to be written yet by";
    }
    if (access.writes) {
      for (const Touch& read : reads) {
        if (before || known.covers(read.epoch)) continue;
        before = read.what.get();
        how = "overwrites what may still be read by";
      }
      reads.clear();
      write = {epoch, what};
      continue;
    }
    // Only the last read of each stream counts.
    const auto same =
        std::find_if(reads.begin(), reads.end(), [&](const Touch& read) { return read.epoch.stream == epoch.stream; });
    if (same == reads.end()) {
      reads.push_back({epoch, what});
    } else {
      *same = {epoch, what};
    }
  }
  if (before) violation_(*what + " " + how + " " + *before);
}

bool VirtualMemory::quiet(const void* data, size_t bytes, const Clock& host, bool readers_too) const {
  const Place at = find(data);
  if (!at.allocation || bytes == 0) return true;
  auto segment = std::prev(at.allocation->segments.upper_bound(at.offset));
  for (; segment != at.allocation->segments.end() && segment->first < at.offset + bytes; ++segment) {
    const auto& [write, reads] = segment->second;
    if (write.what && !host.covers(write.epoch)) return false;
    const auto pending = [&](const Touch& read) { return !host.covers(read.epoch); };
    if (readers_too && std::any_of(reads.begin(), reads.end(), pending)) return false;
  }
  return true;
}

std::byte* VirtualMemory::bytes_of(const void* data) const {
  const Place at = find(data);
  if (!at.allocation) return nullptr;
  return at.allocation->bytes_begin + at.offset;
}

bool VirtualMemory::written(const void* data, size_t bytes, size_t* first) const {
  const Place at = find(data);
  if (!at.allocation) return false;
  if (at.allocation->device == kHost) return true;
  const auto begin = at.allocation->written.begin() + static_cast<std::ptrdiff_t>(at.offset);
  const auto end = begin + static_cast<std::ptrdiff_t>(bytes);
  const auto found = std::find(begin, end, false);
  if (found == end) return true;
  if (first) *first = static_cast<size_t>(found - begin);
  return false;
}

void VirtualMemory::set_written(const void* data, size_t bytes, bool written) {
  const Place at = find(data);
  if (!at.allocation || at.allocation->device == kHost) return;
  auto& flags = const_cast<Allocation*>(at.allocation)->written;
  const auto begin = flags.begin() + static_cast<std::ptrdiff_t>(at.offset);
  std::fill(begin, begin + static_cast<std::ptrdiff_t>(bytes), written);
}

}  // namespace sheaf::sim
