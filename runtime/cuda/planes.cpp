#include "runtime/cuda/planes.h"

#include <algorithm>

namespace sheaf::cuda {
namespace {

constexpr const char* kFile = "planes";
constexpr unsigned kPlaneThreads = 256;
constexpr int64_t kMostVectors = INT32_MAX;
constexpr uint64_t kMostParts = 512, kBlocks = 2048;  ///< of a channel; of a launch

int64_t lanes_of(const BatchNormCall& norm) { return int64_t(16 / size_of(norm.dtype)); }

/// As the kernels have it, in vectors.
struct Planes {
  uint32_t images, channels, plane;

  explicit Planes(const BatchNormCall& norm)
      : images(uint32_t(norm.dims[0])),
        channels(uint32_t(norm.dims[1])),
        plane(uint32_t(product(norm.dims, 2, norm.dims.size()) / lanes_of(norm))) {}
  uint64_t of_channel() const { return uint64_t(images) * plane; }
};

KernelCall over_vectors(OwnKernels& kernels, const std::string& name, const BatchNormCall& norm) {
  const Planes planes(norm);
  const uint64_t blocks = (planes.of_channel() * planes.channels + kPlaneThreads - 1) / kPlaneThreads;
  return {own_kernel(kernels, kFile, name + kernel_suffix(norm.dtype)),
          {std::min<uint64_t>(blocks, kernels.most_blocks()), 1, 1},
          kPlaneThreads};
}

}  // namespace

bool goes_by_planes(const BatchNormCall& norm) {
  const int64_t positions = product(norm.dims, 2, norm.dims.size()), elements = product(norm.dims, 0, norm.dims.size());
  return !norm.channels_last && positions % lanes_of(norm) == 0 && elements > 0 && elements / lanes_of(norm) <= kMostVectors;
}

uint64_t plane_parts(const BatchNormCall& norm) {
  const Planes planes(norm);
  // A part has four vectors or more for each thread, and there are enough blocks to fill the device.
  return std::clamp<uint64_t>(std::min(planes.of_channel() / (4 * kPlaneThreads), kBlocks / planes.channels), 1, kMostParts);
}

KernelCall plane_sums_call(OwnKernels& kernels, PlaneSums of, const BatchNormCall& norm, MemoryRef sums) {
  const Planes planes(norm);
  const uint64_t parts = plane_parts(norm);
  const std::string name = of == PlaneSums::values    ? "plane_sums_"
                           : of == PlaneSums::squares ? "plane_squares_"
                                                      : "plane_gradients_";
  return std::move(
      KernelCall(own_kernel(kernels, kFile, name + kernel_suffix(norm.dtype)), {planes.channels, parts, 1}, kPlaneThreads)
          .address(sums)
          .address(norm.x)
          .address(norm.dy)
          .address(norm.mask)
          .address(norm.mean)
          .address(norm.var)
          .value(norm.eps)
          .value(planes)
          .value(uint32_t((planes.of_channel() + parts - 1) / parts)));
}

KernelCall normalize_planes_call(OwnKernels& kernels, const BatchNormCall& norm) {
  return std::move(normalizing(over_vectors(kernels, "normalize_planes_", norm), norm).value(Planes(norm)));
}

KernelCall slope_planes_call(OwnKernels& kernels, const BatchNormCall& norm) {
  return std::move(sloping(over_vectors(kernels, "slope_planes_", norm), norm).value(Planes(norm)));
}

}  // namespace sheaf::cuda
