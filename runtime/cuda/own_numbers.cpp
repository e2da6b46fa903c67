// Bytes as the numbers that they stand for: pictures cross the bus as bytes. The numbers are a launch's parameters, so no memory of the device
// holds them.
#include "runtime/base/bytes.h"
#include "runtime/cuda/own_operations.h"

#include <algorithm>

namespace sheaf::cuda {
namespace {

// As the kernel has them (runtime/cuda/kernels/numbers.cu).
constexpr size_t kNumberChannels = kMostByteChannels, kTogether = 4;
struct Numbers {
  float of[kNumberChannels * 256];
};

constexpr unsigned kThreadsOfLookUp = 256;

}  // namespace

Prepared prepare_own_numbers(const TensorSpec& bytes, const TensorSpec& to, std::span<const float> numbers,
                             const std::shared_ptr<OwnKernels>& kernels) {
  const size_t channels = numbers.size() / 256;
  require(bytes.dtype == DType::uint8 && bytes.plain() && to.plain() && bytes.dims == to.dims,
          "numbers are looked up for plain bytes");
  const std::string suffix = kernel_suffix(to.dtype);
  require(!suffix.empty(), "numbers are float32, bf16 or f16");
  require(numbers.size() % 256 == 0 && channels >= 1 && channels <= kNumberChannels,
          "numbers are those of 256 bytes in up to three channels");
  require(channels == 1 || (bytes.dims.size() >= 2 && bytes.dims[1] == static_cast<int64_t>(channels)),
          "the numbers are those of other channels than the second dimension has");
  Prepared prepared;
  prepared.inputs = {bytes};
  prepared.outputs = {to};
  prepared.implementation = "look-up";
  prepared.reason = "the project's own kernel, which writes 16 bytes at a time";
  if (!kernels) return prepared;
  const auto elements = static_cast<uint64_t>(element_count(bytes));
  uint64_t inner = 1;
  for (size_t i = 2; i < bytes.dims.size(); ++i) inner *= static_cast<uint64_t>(bytes.dims[i]);
  Numbers of{};
  std::ranges::copy(numbers, of.of);
  const uint64_t at_a_time = uint64_t{kThreadsOfLookUp} * (16 / size_of(to.dtype)) * kTogether;
  const uint64_t blocks = std::clamp<uint64_t>((elements + at_a_time - 1) / at_a_time, 1, kernels->most_blocks());
  KernelCall call(own_kernel(*kernels, "numbers", "numbers_of_bytes_" + suffix), {blocks, 1, 1}, kThreadsOfLookUp);
  call.address({1, 0}).address({0, 0}).value(elements).value(inner).value(static_cast<uint32_t>(channels)).value(of);
  std::vector<KernelCall> calls;
  if (elements > 0) calls.push_back(std::move(call));
  prepared.executable = std::make_unique<KernelOperation>(kernels, std::move(calls), false);
  return prepared;
}

}  // namespace sheaf::cuda
