// One oneDNN primitive with its arguments, ready to run again and again.
#pragma once

#include "runtime/device/operation.h"
#include "runtime/cpu/dnnl/dnnl_format.h"
#include "runtime/machine/thread_pool.h"

#include <cstddef>
#include <vector>

namespace sheaf {

/// The place of an argument: `offset` bytes into the step's buffer `buffer`, or into its scratch.
struct BufferRef {
  static constexpr int scratch = -1;
  int buffer = scratch;
  size_t offset = 0;

  char* resolve(void* const* buffers, void* scratch_base) const {
    return static_cast<char*>(buffer == scratch ? scratch_base : buffers[buffer]) + offset;
  }
};

/// Divides a step's scratch memory: each part 64-byte aligned.
class ScratchPlan {
 public:
  BufferRef take(size_t bytes) {
    BufferRef part{BufferRef::scratch, bytes_};
    bytes_ += (bytes + 63) / 64 * 64;
    return part;
  }
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_ = 0;
};

/// A primitive, its memory objects and the argument array that the C API takes, all made beforehand. A memory
/// object is given a new handle only when the buffer has moved, since that costs more than a small primitive.
class DnnlCall {
 public:
  explicit DnnlCall(dnnl::primitive primitive);
  /// Adds an argument (DNNL_ARG_SRC, …). Leaves out descriptors of size 0, as oneDNN requires.
  DnnlCall& argument(int name, const DnnlDesc& desc, BufferRef where);
  void run(void* const* buffers, void* scratch);

 private:
  dnnl::primitive primitive_;
  dnnl::stream stream_;
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
  std::vector<BufferRef> places_;
  std::vector<void*> handles_;
};

/// Attributes that every primitive here has: scratchpads come from the step's scratch memory.
dnnl::primitive_attr step_attributes();

/// A list of one, the usual case.
inline std::vector<DnnlCall> one_call(DnnlCall call) {
  std::vector<DnnlCall> calls;
  calls.push_back(std::move(call));
  return calls;
}

/// Calls run one after another with a fixed thread count.
class DnnlExecutable final : public Executable {
 public:
  DnnlExecutable(std::vector<DnnlCall> calls, int threads) : calls_(std::move(calls)), threads_(threads) {}
  void run(void* const* buffers, void* scratch) override;

 private:
  std::vector<DnnlCall> calls_;
  int threads_;
};

}  // namespace sheaf
