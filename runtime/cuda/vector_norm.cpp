#include "runtime/cuda/vector_norm.h"

#include <algorithm>
#include <bit>

namespace sheaf::cuda {
namespace {

constexpr unsigned kThreadsOfNorm = 512;
constexpr uint64_t kLanes = 8, kMostWidth = 8;  // channels of a vector, vectors of a tile
/// Blocks of a pass over the tensor: two on each multiprocessor of a large GPU. Depends only on the sizes, so that every GPU
/// gives the same bits. Parts are no more than it takes to keep an H200's memory busy, since the second pass adds up all of
/// them.
constexpr uint64_t kBlocks = 256, kMostParts = 144;
/// Rows of two bytes an element that a thread has in its registers while the blocks meet; of four bytes, half as many.
constexpr uint64_t kHeldForward = 4, kHeldBackward = 2;

/// As the kernels have it.
struct Sharing {
  uint64_t rows, stretch;
  uint32_t vectors, parts, width_bits;
  float eps;
};

struct Passes {
  Sharing first, second;  ///< sums; what is made of them
  std::array<uint64_t, 3> first_grid, second_grid;
  size_t sum_bytes;
  size_t tensor_bytes;  ///< x's
  size_t mask_bytes;
  bool together;              ///< one launch does both, by the first one's blocks
  uint64_t rows_of_a_thread;  ///< of the first pass, at most

  bool holds(uint64_t rows, DType dtype) const { return together && rows_of_a_thread * size_of(dtype) <= 2 * rows; }
  /// What the second pass reads of the first one's sums, all of its blocks together.
  double sums_read() const { return double(second_grid[1]) * double(sum_bytes); }
};

Passes passes_of(const BatchNormCall& norm) {
  const auto channels = uint64_t(norm.dims[1]), rows = uint64_t(product(norm.dims, 0, norm.dims.size())) / channels;
  const uint64_t vectors = channels / kLanes, width = std::min(std::bit_ceil(vectors), kMostWidth);
  const uint64_t tiles = (vectors + width - 1) / width, height = kThreadsOfNorm / width;
  require(vectors <= UINT32_MAX / kLanes && rows <= UINT32_MAX, "a batch norm of more than 2³² rows or channels");
  // Two rows or more for each thread.
  const auto shared_out = [&](uint64_t most) {
    const uint64_t parts = std::clamp<uint64_t>(std::min(rows / (2 * height), kBlocks / tiles), 1, most);
    return std::pair((rows + parts - 1) / parts, parts);
  };
  const auto [first_stretch, parts] = shared_out(kMostParts);
  const auto [second_stretch, second_parts] = shared_out(kBlocks);
  Sharing sharing{rows, first_stretch, uint32_t(vectors), uint32_t(parts), uint32_t(std::countr_zero(width)), norm.eps};
  Passes passes{sharing, sharing, {tiles, parts, 1}, {tiles, second_parts, 1}, {}, {}, {}, {}, {}};
  passes.together = tiles * parts <= norm.most_together;
  if (passes.together) passes.second_grid = passes.first_grid;
  passes.rows_of_a_thread = (first_stretch + height - 1) / height;
  passes.second.stretch = second_stretch;
  passes.sum_bytes = size_t(parts * channels) * 2 * sizeof(float);
  passes.tensor_bytes = size_t(rows * channels) * size_of(norm.dtype);
  passes.mask_bytes = norm.mask.buffer == MemoryRef::kNone ? 0 : mask_bytes(norm.dims);
  return passes;
}

KernelCall call_of(OwnKernels& kernels, const char* file, const char* name, DType dtype, const std::array<uint64_t, 3>& grid) {
  return {own_kernel(kernels, file, name + kernel_suffix(dtype)), grid, kThreadsOfNorm};
}

}  // namespace

bool goes_by_vectors(const BatchNormCall& norm) {
  const int64_t positions = product(norm.dims, 2, norm.dims.size());
  return (norm.channels_last || positions == 1) && norm.dims[1] % int64_t(kLanes) == 0 &&
         product(norm.dims, 0, norm.dims.size()) > 0;
}

/// As the kernels have them: parameters that are structures of addresses.
static std::vector<MemoryRef> affine_of(const BatchNormCall& norm) {
  return {norm.mean, norm.var, norm.x_bias, norm.weight, norm.bias};
}
static std::vector<MemoryRef> of_channels(const BatchNormCall& norm) {
  return {norm.dweight, norm.dbias, norm.mean, norm.x_bias, norm.var, norm.weight};
}

/// Up to and including whether a ReLU follows: y, by the first pass's sums or, without any, from mean and var, which are there.
static KernelCall normalizing_call(OwnKernels& kernels, const char* name, const BatchNormCall& norm, MemoryRef sums = {},
                                   MemoryRef shifts = {}) {
  KernelCall call = call_of(kernels, "norm", name, norm.dtype, passes_of(norm).second_grid);
  call.address(norm.y).address(norm.mask).address(norm.x).address(norm.residual).addresses(affine_of(norm), 5);
  return std::move(call.address(sums).address(shifts).value(int32_t(norm.relu)));
}

/// dx of `gradient` under `mask`, by channels and the first pass's sums, or by slopes alone.
static KernelCall sloping_call(OwnKernels& kernels, const BatchNormCall& norm, MemoryRef gradient, MemoryRef mask,
                               const std::vector<MemoryRef>& channels, MemoryRef by) {
  const Passes passes = passes_of(norm);
  return std::move(call_of(kernels, "norm_gradient", "norm_gradient_", norm.dtype, passes.second_grid)
                       .address(norm.dx)
                       .address(norm.x)
                       .address(gradient)
                       .address(mask)
                       .addresses(channels, 6)
                       .address(by)
                       .value(passes.second));
}

KernelCall statistics_call(OwnKernels& kernels, const StatisticsCall& made) {
  constexpr unsigned kThreadsOfStatistics = 256;
  const auto channels = uint64_t(made.channels);
  return std::move(KernelCall(own_kernel(kernels, "norm_statistics", "norm_statistics_" + kernel_suffix(made.dtype)),
                              {(channels + kThreadsOfStatistics - 1) / kThreadsOfStatistics, 1, 1}, kThreadsOfStatistics)
                       .address(made.factors)
                       .address(made.moments)
                       .addresses({made.mean, made.var, made.x_bias, made.weight, made.bias}, 5)
                       .address(made.sums)
                       .value(channels)
                       .value(float(made.values))
                       .value(made.eps));
}

NormWork add_vector_norm_train(std::vector<KernelCall>& calls, OwnKernels* kernels, const BatchNormCall& norm,
                               size_t& scratch_bytes) {
  if (norm.given) {
    if (kernels) calls.push_back(std::move(normalizing_call(*kernels, "norm_", norm).value(passes_of(norm).second)));
    return {1};
  }
  const Passes passes = passes_of(norm);
  const MemoryRef sums = take_scratch(scratch_bytes, passes.sum_bytes);
  const MemoryRef shifts = take_scratch(scratch_bytes, size_t(norm.dims[1]) * sizeof(float));
  const bool held = passes.holds(kHeldForward, norm.dtype);
  const NormWork work{passes.together ? 1 : 2, (held ? 0 : double(passes.tensor_bytes)) + passes.sums_read(), passes.together};
  if (!kernels) return work;
  if (!passes.together)
    calls.push_back(call_of(*kernels, "norm", "norm_squares_", norm.dtype, passes.first_grid)
                        .address(sums)
                        .address(shifts)
                        .address(norm.x)
                        .value(passes.first));
  const char* name = held ? "norm_held_" : passes.together ? "norm_at_once_" : "norm_";
  KernelCall call = normalizing_call(*kernels, name, norm, sums, shifts);
  if (passes.together) call.value(uint32_t(*norm.word)).value(passes.first).together();
  else call.value(passes.second);
  calls.push_back(std::move(call));
  return work;
}

NormWork add_vector_norm_backward(std::vector<KernelCall>& calls, OwnKernels* kernels, const BatchNormCall& norm,
                                  size_t& scratch_bytes) {
  if (norm.slopes.buffer != MemoryRef::kNone) {
    if (kernels) calls.push_back(sloping_call(*kernels, norm, norm.dy, {}, {}, norm.slopes));
    return {1};
  }
  const Passes passes = passes_of(norm);
  const MemoryRef sums = take_scratch(scratch_bytes, passes.sum_bytes);
  // The second pass reads what the first has masked and added, where that is kept, else the same once more.
  const bool kept = norm.gradient.buffer != MemoryRef::kNone, held = passes.holds(kHeldBackward, norm.dtype);
  const double again = 2 * double(passes.tensor_bytes) + (kept ? 0 : double(passes.mask_bytes));
  const NormWork work{passes.together ? 1 : 2, (held ? 0 : again) + passes.sums_read(), passes.together};
  require(kept || norm.more.buffer == MemoryRef::kNone, "a sum of gradients has a place");
  if (!kernels) return work;
  if (passes.together) {
    KernelCall call = call_of(*kernels, "norm_gradient", held ? "norm_gradient_held_" : "norm_gradient_at_once_", norm.dtype,
                              passes.first_grid);
    // It needn't be written just for the second pass if that has it in registers.
    const bool wanted = !held || norm.gradient.buffer != MemoryRef::kScratch;
    call.address(norm.dx).address(wanted ? norm.gradient : MemoryRef{}).address(norm.x).address(norm.dy).address(norm.more);
    call.address(norm.mask).addresses(of_channels(norm), 6).address(sums).value(uint32_t(*norm.word)).value(passes.first);
    calls.push_back(std::move(call.together()));
    return work;
  }
  calls.push_back(call_of(*kernels, "norm_gradient", "norm_gradient_sums_", norm.dtype, passes.first_grid)
                      .address(sums)
                      .address(norm.gradient)
                      .address(norm.x)
                      .address(norm.dy)
                      .address(norm.more)
                      .address(norm.mask)
                      .address(norm.mean)
                      .address(norm.x_bias)
                      .value(passes.first));
  calls.push_back(
      sloping_call(*kernels, norm, kept ? norm.gradient : norm.dy, kept ? MemoryRef{} : norm.mask, of_channels(norm), sums));
  return work;
}

}  // namespace sheaf::cuda
