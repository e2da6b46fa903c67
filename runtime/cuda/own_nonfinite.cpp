// How many elements of all gradients aren't finite: one launch for all tensors, of which its parameters hold addresses and sizes.
#include "runtime/cuda/own_operations.h"
#include "runtime/steps/count_step.h"

#include <algorithm>

namespace sheaf::cuda {
namespace {

// As the kernel has them (runtime/cuda/kernels/nonfinite.cu).
constexpr size_t kTensors = 192;
constexpr uint64_t kTileBytes = 256 * 4 * 16;
constexpr int64_t kBlocksByMultiprocessor = 8;
struct Sizes {
  uint64_t elements[kTensors];
  uint32_t first_tile[kTensors];
};

uint64_t kind_of(DType dtype) { return dtype == DType::float32 ? 0 : dtype == DType::bfloat16 ? 1 : 2; }

}  // namespace

Prepared prepare_own_nonfinite(const PrepareRequest& request, const std::shared_ptr<OwnKernels>& kernels,
                               const DeviceProperties& gpu) {
  require_counted(StepOperands(request));
  const size_t count = request.inputs.size();
  Prepared prepared;
  prepared.inputs.assign(request.inputs.begin(), request.inputs.end());
  prepared.outputs.assign(request.outputs.begin(), request.outputs.end());
  prepared.implementation = "one count";
  prepared.reason =
      "the project's own kernel: a launch counts up to " + std::to_string(kTensors) + " tensors, of whatever dtype each is";
  if (!kernels) {
    prepared.executable = planned_launches_of(static_cast<int>((count + kTensors - 1) / kTensors));
    return prepared;
  }
  const auto word = kernels->meeting_word();
  require(bool(word), "too many operations count or meet on this GPU at once");
  std::vector<KernelCall> calls;
  for (size_t first = 0; first < count; first += kTensors) {
    const size_t end = std::min(count, first + kTensors);
    std::vector<MemoryRef> addresses;
    Sizes sizes{};
    uint64_t tiles = 0;
    for (size_t i = first; i < end; ++i) {
      const TensorSpec& tensor = request.inputs[i];
      addresses.push_back({static_cast<int>(i), 0});
      sizes.elements[i - first] = tensor.bytes / size_of(tensor.dtype) | kind_of(tensor.dtype) << 62;
      sizes.first_tile[i - first] = static_cast<uint32_t>(tiles);
      tiles += (tensor.bytes + kTileBytes - 1) / kTileBytes;
    }
    require(tiles <= UINT32_MAX / 2, "the tensors are larger than 32 TiB");
    const uint64_t blocks = std::min<uint64_t>(tiles, uint64_t(gpu.multiprocessors * kBlocksByMultiprocessor));
    KernelCall call(own_kernel(*kernels, "nonfinite", "count_nonfinite"), {blocks, 1, 1});
    call.addresses(addresses, kTensors).value(sizes).value(uint32_t(end - first)).value(uint32_t(tiles)).value(uint32_t(*word));
    calls.push_back(std::move(call.address(end == count ? MemoryRef{static_cast<int>(count), 0} : MemoryRef{})));
  }
  auto operation = std::make_unique<KernelOperation>(kernels, std::move(calls), false);
  operation->keeps = word;
  prepared.executable = std::move(operation);
  return prepared;
}

}  // namespace sheaf::cuda
