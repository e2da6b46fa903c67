// What one operation may touch while it is executed: what it was announced to touch, no more.
#pragma once

#include "tests/ptx/emulator.h"
#include "tests/sim/virtual_memory.h"

#include <string>
#include <vector>

namespace sheaf::sim {

/// Made for the accesses that watch() announced. Asked for every access of its kernels, and by host functions for each of
/// their operands as a whole. An output counts as unwritten from the first write to it in the operation on; one that
/// nothing is written to (guarded work that doesn't happen) stays what it was.
class OperationMemory final : public ptx::Memory {
 public:
  OperationMemory(VirtualMemory& memory, const Violation& violation, Name what, const std::vector<cuda::Access>& accesses);
  void* access(uint64_t address, size_t bytes, bool writes) override;
  std::string explain(uint64_t address, size_t bytes, bool writes) override;
  template <typename T>
  T* at(const void* address, size_t count, bool writes) {
    return static_cast<T*>(access(reinterpret_cast<uintptr_t>(address), count * sizeof(T), writes));
  }
  const std::string& what() const { return *what_; }

 private:
  struct Operand {
    cuda::Access access;
    std::byte* bytes = nullptr;  ///< of the host
    bool fresh = false;          ///< what it held before is of no interest
    bool wrote = false;
  };
  Operand* find(uint64_t address, size_t bytes, bool writes);

  VirtualMemory& memory_;
  const Violation& violation_;
  Name what_;
  std::vector<Operand> operands_;
};

}  // namespace sheaf::sim
