// Operands of the CPU's operations that do a simulated GPU's work.
#pragma once

#include "runtime/cpu/cpu_device.h"
#include "tests/sim/relayout.h"

#include <memory>

namespace sheaf::sim {

/// Host memory, aligned as operations of the CPU need it.
class HostBuffer {
 public:
  explicit HostBuffer(size_t bytes) : memory_(cpu_device()->allocate(bytes)) {}
  ~HostBuffer() {
    if (memory_) cpu_device()->release(*memory_);
  }
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;
  void* get() const { return memory_ ? *memory_ : nullptr; }

 private:
  Result<void*> memory_;
};

/// An operand on its way between the GPU's format and the CPU's.
struct HostOperand {
  TensorSpec gpu, cpu, plain;
  Prepared reorder;  ///< between plain and `cpu`; none if they are the same
  std::shared_ptr<HostBuffer> own, between;
  bool direct() const { return same_form(gpu, cpu); }

  Result<void> prepare(bool input) {
    plain = plain_tensor(cpu.dtype, gpu.dims);
    if (direct()) return {};
    own = std::make_shared<HostBuffer>(cpu.bytes);
    if (cpu.plain()) return {};
    between = std::make_shared<HostBuffer>(plain.bytes);
    auto made = input ? cpu_device()->prepare_reorder(plain, cpu, 1) : cpu_device()->prepare_reorder(cpu, plain, 1);
    if (!made) return made.error();
    reorder = std::move(*made);
    return {};
  }
  /// The CPU's buffer with the contents of `bytes`.
  void* taken(void* bytes) {
    if (direct()) return bytes;
    if (cpu.plain()) {
      relayout(gpu, bytes, plain, own->get());
      return own->get();
    }
    relayout(gpu, bytes, plain, between->get());
    reordered(between->get(), own->get());
    return own->get();
  }
  void* place(void* bytes) { return direct() ? bytes : own->get(); }
  void give(void* bytes) {
    if (direct()) return;
    if (!cpu.plain()) reordered(own->get(), between->get());
    relayout(plain, cpu.plain() ? own->get() : between->get(), gpu, bytes);
  }

 private:
  void reordered(void* from, void* to) {
    const HostBuffer scratch(reorder.scratch_bytes);
    void* buffers[] = {from, to};
    reorder.executable->run(buffers, scratch.get());
  }
};

}  // namespace sheaf::sim
