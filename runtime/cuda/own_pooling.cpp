// Pooling by the project's own kernels (kernels/pooling.cu).
#include "runtime/cuda/format.h"
#include "runtime/cuda/own_operations.h"
#include "runtime/ops/pooling.h"
#include "runtime/steps/pool_shape.h"

#include <algorithm>

namespace sheaf::cuda {
namespace {

/// kernels/pooling.cu has the same struct.
struct Pool {
  int32_t x[3], y[3], kernel[3], stride[3], padding[3], dilation[3];
  int32_t channels, channels_last, adaptive, count_include_pad, divisor;
};

/// What max_pool_train keeps: for each element of y which element of its window it was.
class PoolWorkspace final : public Format {
 public:
  PoolWorkspace(bool channels_last, size_t bytes) : channels_last(channels_last), bytes(bytes) {}
  bool equals(const Format& other) const override {
    const auto* that = dynamic_cast<const PoolWorkspace*>(&other);
    return that && that->channels_last == channels_last && that->bytes == bytes;
  }
  std::string name() const override { return "places of maxima"; }

  const bool channels_last;  ///< the layouts of x and y
  const size_t bytes;
};

int32_t narrow(int64_t size) {
  require(size <= INT32_MAX, "a size of " + std::to_string(size) + " is too large for pooling");
  return int32_t(size);
}

/// Sizes along depth, height and width from as many dims as there are.
void fill(int32_t (&to)[3], const Dims& from, size_t skip, int32_t otherwise) {
  std::fill(to, to + 3, otherwise);
  const size_t count = from.size() - skip;
  for (size_t i = 0; i < count; ++i) to[3 - count + i] = narrow(from[skip + i]);
}

class PoolBuilder {
 public:
  PoolBuilder(const PrepareRequest& request, const std::shared_ptr<OwnKernels>& kernels)
      : operands_(request),
        op_(request.step.op),
        kernels_(kernels),
        backward_(traits(op_).pass == Pass::backward),
        max_(takes_maximum(op_)),
        suffix_(kernel_suffix(operands_.dtype())) {
    require(!suffix_.empty(), "pooling is of floating-point numbers");
    read();
  }

  Prepared build(const std::string& why) {
    prepared_ = operands_.prepared();
    const int at_hand = operands_.find(backward_ ? "dy" : "x");
    channels_last_ = is_channels_last(operands_.request.inputs[size_t(at_hand)]);
    // A dy of one position per channel is the same in both layouts: then dx is as the convolutions before it want it.
    if (backward_ && product(sizes_.y, 2, sizes_.y.size()) == 1) channels_last_ = true;
    if (traits(op_).pass == Pass::training) give_workspace();
    if (max_ && backward_) take_workspace();
    if (channels_last_) {
      prepared_.inputs[size_t(at_hand)] = channels_last(prepared_.inputs[size_t(at_hand)]);
      prepared_.outputs[0] = channels_last(prepared_.outputs[0]);
    }
    prepared_.implementation = std::string("pooling kernel") + (channels_last_ ? ", channels last" : "");
    prepared_.reason = "the project's own kernel: " + why;
    if (lanes() > 1) prepared_.reason += "; by vectors of " + std::to_string(lanes()) + " channels";
    if (kernels_) launch();
    return std::move(prepared_);
  }

 private:
  void read() {
    const Dims x = backward_ ? pooled_from(operands_) : operands_.operand("x").dims;
    const Dims y = backward_ ? operands_.operand("dy").dims : operands_.output().dims;
    if (is_adaptive(op_)) {
      adaptive_pooling_of(x, y, sizes_);
      pool_.adaptive = 1;
    } else {
      sizes_ = pooling_of(operands_, x, y);
      pool_.count_include_pad = operands_.flag("count_include_pad", true);
      pool_.divisor = max_ ? 0 : int32_t(operands_.integer("divisor_override", 0));
      require(max_ || !sizes_.dilated(), "avg_pool has no dilation");
    }
    fill(pool_.x, x, 2, 1);
    fill(pool_.y, y, 2, 1);
    fill(pool_.kernel, sizes_.kernel, 0, 1);
    fill(pool_.stride, sizes_.stride, 0, 1);
    fill(pool_.padding, sizes_.padding_begin, 0, 0);
    fill(pool_.dilation, sizes_.dilation, 0, 1);
    pool_.channels = narrow(x[1]);
    narrow(product(x, 1, x.size()));  // of an image: the kernels count positions and channels in 32 bits
    narrow(product(y, 1, y.size()));
    narrow(product(sizes_.kernel, 0, sizes_.kernel.size()));
  }

  /// Bytes of a place within a window.
  size_t tap_bytes() const { return product(sizes_.kernel, 0, sizes_.kernel.size()) <= 256 ? 1 : 4; }

  void give_workspace() {
    require(prepared_.outputs.size() == 2, "expected y and a workspace as outputs");
    TensorSpec& workspace = prepared_.outputs[1];
    require(workspace.dtype == DType::uint8 && workspace.dims == Dims{1},
            "output 1, the workspace, should be uint8 of shape [1]");
    workspace.bytes = size_t(product(sizes_.y, 0, sizes_.y.size())) * tap_bytes();
    workspace.format = std::make_shared<PoolWorkspace>(channels_last_, workspace.bytes);
  }

  void take_workspace() {
    const int index = operands_.find("workspace");
    require(index >= 0, "operand 'workspace' is missing");
    const TensorSpec& workspace = operands_.request.inputs[size_t(index)];
    const auto* format = dynamic_cast<const PoolWorkspace*>(workspace.format.get());
    require(format && format->bytes == size_t(product(sizes_.y, 0, sizes_.y.size())) * tap_bytes(),
            "operand 'workspace' is not one that max_pool_train of this kernel made");
    prepared_.inputs[size_t(index)] = workspace;
    channels_last_ = format->channels_last;
  }

  /// Channels of a thread: as many as 16 bytes hold where they are neighbours and fill such vectors, else one.
  int64_t lanes() const {
    const int64_t lanes = int64_t(kOperandAlignment / size_of(operands_.dtype()));
    return channels_last_ && sizes_.x[1] % lanes == 0 ? lanes : 1;
  }

  void launch() {
    const auto lanes = uint64_t(this->lanes());
    pool_.channels_last = channels_last_;
    pool_.channels = narrow(sizes_.x[1] / int64_t(lanes));
    const Dims& over = backward_ ? sizes_.x : sizes_.y;  // a thread has one of its elements, or a vector
    const auto image = uint64_t(product(over, 1, over.size())), images = uint64_t(over[0]);
    const auto read_image = uint64_t(product(backward_ ? sizes_.y : sizes_.x, 1, over.size()));
    const auto tap_image = uint64_t(product(sizes_.y, 1, over.size())) * tap_bytes();
    const size_t element = size_of(operands_.dtype());
    const int inputs = int(operands_.request.inputs.size());
    const std::string kernel = std::string(max_ ? "max_pool_" : "avg_pool_") + (backward_ ? "backward_" : "") +
                               (lanes > 1 ? "vectors_" : "") + suffix_ +
                               (!max_              ? ""
                                : tap_bytes() == 1 ? "_u8"
                                                   : "_i32");
    std::vector<KernelCall> calls;
    // Elements are counted in 32 bits: as many images at a time as that allows.
    const uint64_t at_once = image == 0 ? images : uint64_t{INT32_MAX} / image;
    for (uint64_t first = 0; image != 0 && first < images; first += at_once) {
      const uint64_t count = std::min(at_once, images - first) * image / lanes;  // threads
      const MemoryRef to{inputs, first * image * element};
      const MemoryRef from{operands_.find(backward_ ? "dy" : "x"), first * read_image * element};
      MemoryRef taps{};
      if (traits(op_).pass == Pass::training) taps = {inputs + 1, first * tap_image};
      if (max_ && backward_) taps = {operands_.find("workspace"), first * tap_image};
      KernelCall call(own_kernel(*kernels_, "pooling", kernel), {(count + 255) / 256, 1, 1});
      call.address(to);
      if (max_ && !backward_) call.address(taps);
      call.address(from);
      if (max_ && backward_) call.address(taps);
      call.value(pool_).value(uint32_t(count));
      calls.push_back(std::move(call));
    }
    auto operation = std::make_unique<KernelOperation>(kernels_, std::move(calls), false);
    if (lanes > 1) operation->operand_alignment = kOperandAlignment;
    prepared_.executable = std::move(operation);
  }

  StepOperands operands_;
  const Op op_;
  std::shared_ptr<OwnKernels> kernels_;
  const bool backward_, max_;
  const std::string suffix_;
  Pooling sizes_;
  Pool pool_{};
  bool channels_last_ = false;
  Prepared prepared_;
};

}  // namespace

Prepared prepare_own_pooling(const PrepareRequest& request, const std::shared_ptr<OwnKernels>& kernels,
                             const std::string& why) {
  return PoolBuilder(request, kernels).build(why);
}

bool is_own_pool_workspace(const TensorSpec& tensor) {
  return dynamic_cast<const PoolWorkspace*>(tensor.format.get()) != nullptr;
}

}  // namespace sheaf::cuda
