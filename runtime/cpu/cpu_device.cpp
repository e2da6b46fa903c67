#include "runtime/cpu/cpu_device.h"

#include "runtime/device/cpu_info.h"
#include "runtime/machine/isa.h"
#include "runtime/cpu/kernel_op.h"
#include "runtime/cpu/dnnl/dnnl_format.h"
#include "runtime/cpu/ops/ops.h"
#include "runtime/machine/thread_pool.h"
#include "runtime/plan/op_list.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace sheaf {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kHugePage = size_t{2} << 20;
constexpr int64_t kParallelCopyBytes = 1 << 18;  ///< least bytes a copying thread gets

/// Work is done before a call returns, so record() has nothing to note: who calls wait() knows that it was called.
class CpuEvent : public Event {
 public:
  Result<void> synchronize() override { return {}; }
};

class CpuQueue : public Queue {
 public:
  explicit CpuQueue(int threads) : threads_(threads) {}

  void launch(Executable& executable, void* const* buffers, void* scratch, bool) override { executable.run(buffers, scratch); }

  void copy(void* target, const void* source, const CopyShape& shape, bool) override {
    if (shape.row_bytes == 0 || shape.rows == 0) return;
    auto* to = static_cast<char*>(target);
    auto* from = static_cast<const char*>(source);
    if (shape.rows == 1) {
      parallel_for(static_cast<int64_t>(shape.row_bytes), kParallelCopyBytes, threads_,
                   [=](int64_t begin, int64_t end) { std::memcpy(to + begin, from + begin, size_t(end - begin)); });
      return;
    }
    const auto grain = static_cast<int64_t>(kParallelCopyBytes / shape.row_bytes + 1);
    parallel_for(static_cast<int64_t>(shape.rows), grain, threads_, [&](int64_t begin, int64_t end) {
      for (auto row = static_cast<size_t>(begin); row < static_cast<size_t>(end); ++row) {
        std::memcpy(to + row * shape.target_pitch, from + row * shape.source_pitch, shape.row_bytes);
      }
    });
  }

  void record(Event&) override {}
  Result<void> wait(Event& event) override { return event.synchronize(); }
  Result<void> synchronize() override { return {}; }

 private:
  int threads_;
};

class CpuDevice : public Device {
 public:
  const DeviceInfo& info() const override { return cpu_info(); }
  int memory_space() const override { return 0; }

  Result<void*> allocate(size_t bytes) override {
    // Linux would promise more than there is, and end the process when it is used.
    if (bytes > static_cast<size_t>(info().memory_bytes)) {
      return Error(std::to_string(bytes) + " bytes of memory are needed; the host has " + std::to_string(info().memory_bytes));
    }
    // Large buffers on huge pages: an arena is walked through on each step, and 4 KiB pages miss the TLB.
    const size_t alignment = bytes >= 2 * kHugePage ? kHugePage : kAlignment;
    const size_t rounded = bytes == 0 ? kAlignment : (bytes + alignment - 1) / alignment * alignment;
    void* memory = std::aligned_alloc(alignment, rounded);
    if (!memory) return Error("the host has no " + std::to_string(bytes) + " bytes of memory left");
    if (alignment == kHugePage) madvise(memory, rounded, MADV_HUGEPAGE);
    return memory;
  }
  void release(void* memory) override { std::free(memory); }

  Result<std::unique_ptr<Queue>> open_queue(int threads, Seconds) override {
    return std::unique_ptr<Queue>(std::make_unique<CpuQueue>(threads));
  }
  Result<std::unique_ptr<Event>> make_event() override { return std::unique_ptr<Event>(std::make_unique<CpuEvent>()); }

  Result<std::shared_ptr<const Kernels>> load_kernels(const Plan& plan) override { return load_cpu_kernels(plan); }

  Result<void> supports(Op op, DType dtype) override { return supports_cpu_library_op(op, dtype); }
  Result<Prepared> prepare(const PrepareRequest& request) override {
    const TeamSize team(request.threads);  // oneDNN splits work by the size that it sees here
    if (request.step.op == Op::kernel) return prepare_cpu_kernel(request);
    return prepare_cpu_library_op(request);
  }

  TensorSpec same_layout(const TensorSpec& tensor, DType dtype) override { return same_layout_of(tensor, dtype); }
  Result<Prepared> prepare_reorder(const TensorSpec& from, const TensorSpec& to, int threads) override {
    const TeamSize team(threads);
    return prepare_cpu_reorder(from, to, threads);
  }

 private:
};

}  // namespace

std::shared_ptr<Device> cpu_device() {
  static const std::shared_ptr<Device> device = std::make_shared<CpuDevice>();
  return device;
}

}  // namespace sheaf
