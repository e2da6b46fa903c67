// Launches of the project's own kernels as parts of operations: their arguments are resolved when they are enqueued.
#pragma once

#include "runtime/steps/step_operands.h"
#include "runtime/cuda/operation.h"
#include "runtime/cuda/own_kernels.h"
#include "runtime/device/launch_count.h"

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace sheaf::cuda {

/// A place in one of an operation's buffers or in its scratch memory.
struct MemoryRef {
  static constexpr int kNone = -1, kScratch = -2;
  int buffer = kNone;  ///< inputs, then outputs
  size_t offset = 0;   ///< bytes

  char* resolve(const Enqueue& at) const {
    if (buffer == kNone) return nullptr;
    return static_cast<char*>(buffer == kScratch ? at.scratch : at.buffers[buffer]) + offset;
  }
};

/// Takes `bytes` of scratch memory, aligned to 256, after the `used` bytes that are already taken.
MemoryRef take_scratch(size_t& used, size_t bytes);

/// One launch. Its parameters are given in their order. Used by one thread at a time.
class KernelCall {
 public:
  KernelCall(Function function, std::array<uint64_t, 3> grid, unsigned block = 256);

  KernelCall& address(MemoryRef where);
  /// One parameter, an array of `slots` addresses of which the first are these.
  KernelCall& addresses(const std::vector<MemoryRef>& where, size_t slots);
  template <typename T>
  KernelCall& value(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    return bytes(&value, sizeof value, alignof(T));
  }
  /// Enqueue::guard.
  KernelCall& guard();
  /// Launch::together.
  KernelCall& together();

  Result<void> enqueue(Driver& driver, const Enqueue& at);

 private:
  KernelCall& bytes(const void* data, size_t size, size_t alignment);

  struct Patch {
    size_t at;  ///< in image_
    MemoryRef where;
    bool guard;
  };
  Launch launch_;
  std::vector<unsigned char> image_;  ///< of the parameters
  std::vector<size_t> parameters_;    ///< where in image_ each begins
  std::vector<void*> arguments_;
  std::vector<Patch> patches_;
};

/// An operation that consists only of such launches.
class KernelOperation final : public Operation, public CountsLaunches {
 public:
  KernelOperation(std::shared_ptr<OwnKernels> kernels, std::vector<KernelCall> calls, bool guardable, double bytes_again = 0,
                  int meetings = 0)
      : kernels_(std::move(kernels)),
        calls_(std::move(calls)),
        guardable_(guardable),
        bytes_again_(bytes_again),
        meetings_(meetings) {}
  Result<void> enqueue(const Enqueue& at) override;
  bool guardable() const override { return guardable_; }
  int launches() const override { return static_cast<int>(calls_.size()); }
  double bytes_again() const override { return bytes_again_; }
  int meetings() const override { return meetings_; }

  std::shared_ptr<const void> keeps;  ///< what its launches take for their own

 private:
  std::shared_ptr<OwnKernels> kernels_;
  std::vector<KernelCall> calls_;
  bool guardable_;
  double bytes_again_;
  int meetings_;
};

/// "f32", "bf16" or "f16", the suffix of kernels' names; empty for other dtypes.
std::string kernel_suffix(DType dtype);

/// The kernel `name` of `file`; throws OperationError if it is unavailable.
Function own_kernel(OwnKernels& kernels, const char* file, const std::string& name);

/// y = x0 + x1 + …, in their order, rounded after each addition; y may be x0. Up to kAddends.
inline constexpr size_t kAddends = 16;
KernelCall sum_call(OwnKernels& kernels, MemoryRef y, const std::vector<MemoryRef>& addends, DType dtype, uint64_t elements);

/// An activation of docs/steps.md in the kernels' form.
struct KernelActivation {
  enum Kind : int32_t { none, relu, elu, silu, gelu, gelu_tanh, tanh, sigmoid, hardtanh } kind = none;
  float alpha = 0, beta = 0;  ///< relu: slope below 0; elu: alpha; hardtanh: bounds
  std::string name;           ///< as the step has it: "leaky_relu"
};

/// The step's attribute `activation`; empty if it has none. Throws OperationError.
std::optional<KernelActivation> kernel_activation_of(const Step& step);

/// y = activation(x + bias + residual), all but the bias (f32) of `dtype`; y may be x or the residual.
struct ActivationCall {
  MemoryRef y, x, bias, residual;  ///< bias and residual may be none
  DType dtype = DType::float32;
  int64_t elements = 0;
  int64_t inner = 1, channels = 1;  ///< element i has bias (i / inner) % channels
  KernelActivation activation;
};
/// Throws OperationError.
void add_activation(std::vector<KernelCall>& calls, OwnKernels& kernels, const ActivationCall& call);

}  // namespace sheaf::cuda
