// The memory that one operation may access while it is executed: only what was announced.
#pragma once

#include "tests/ptx/emulator.h"
#include "tests/sim/virtual_memory.h"

#include <string>
#include <vector>

namespace sheaf::sim {

/// Made for the accesses that watch() announced. Asked about every access of its kernels, and by host functions about each of
/// their operands as a whole. An output counts as unwritten from the first write to it in the operation on; one that is never
/// written (guarded work that doesn't happen) stays as it was.
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
    bool fresh = false;          ///< its previous contents don't matter
    bool wrote = false;
  };
  Operand* find(uint64_t address, size_t bytes, bool writes);

  VirtualMemory& memory_;
  const Violation& violation_;
  Name what_;
  std::vector<Operand> operands_;
};

}  // namespace sheaf::sim
