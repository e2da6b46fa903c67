// A tensor in another dtype: gradients that a library writes as narrow as its operands, biases that it wants as narrow as its result.
#include "runtime/cuda/channel_sums.h"
#include "runtime/cuda/merged_launch.h"
#include "runtime/cuda/own_operations.h"

namespace sheaf::cuda {
namespace {

constexpr unsigned kThreads = 256;
constexpr int kVector = 8;  ///< elements that a thread does at once

class Conversion final : public Operation, public Mergeable {
 public:
  Conversion(std::shared_ptr<OwnKernels> kernels, KernelCall call, Function many, int64_t elements)
      : kernels_(std::move(kernels)), call_(std::move(call)), many_(many), elements_(elements) {}
  Result<void> enqueue(const Enqueue& at) override {
    return elements_ == 0 ? Result<void>() : call_.enqueue(kernels_->driver(), at);
  }
  std::optional<ManyLaunch> many() const override {
    return ManyLaunch{many_, kernels_, 2, elements_, int(kThreads) * kVector, kThreads};
  }

 private:
  std::shared_ptr<OwnKernels> kernels_;
  KernelCall call_;
  Function many_;
  int64_t elements_;
};

}  // namespace

Prepared prepare_own_conversion(const TensorSpec& from, const TensorSpec& to, const std::shared_ptr<OwnKernels>& kernels) {
  const bool widens = to.dtype == DType::float32;
  const DType narrow = widens ? from.dtype : to.dtype;
  require((widens || from.dtype == DType::float32) && (narrow == DType::bfloat16 || narrow == DType::float16),
          "a conversion is between float32 and bfloat16 or float16");
  Prepared prepared;
  prepared.inputs = {from};
  prepared.outputs = {to};
  prepared.implementation = widens ? "widen" : "narrow";
  prepared.reason = "the project's own kernel, by vectors of eight elements";
  if (!kernels) return prepared;
  const std::string name = (widens ? "widen_" : "narrow_") + kernel_suffix(narrow);
  const int64_t elements = element_count(from);
  const MemoryRef y{1, 0}, x{0, 0};
  prepared.executable = std::make_unique<Conversion>(
      kernels, widens ? widen_call(*kernels, y, x, narrow, elements) : narrow_call(*kernels, y, x, narrow, elements),
      own_kernel(*kernels, "convert", name + "_many"), elements);
  return prepared;
}

}  // namespace sheaf::cuda
