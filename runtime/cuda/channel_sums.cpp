#include "runtime/cuda/channel_sums.h"

#include "runtime/cuda/planes.h"
#include "runtime/cuda/vector_norm.h"

#include <algorithm>
#include <bit>

namespace sheaf::cuda {
namespace {

constexpr const char* kFile = "channels";
constexpr unsigned kChannelThreads = 256;
constexpr uint64_t kMostParts = 512;                ///< of a sum
enum Mode : int32_t { kSum, kSquares, kGradient };  // as the kernels have them

/// As the kernels have it.
struct Shape {
  uint64_t images, channels, positions;
  int32_t last;

  uint64_t values() const { return images * positions; }
};

Shape shape_of(const Dims& dims, bool channels_last) {
  const int64_t positions = product(dims, 2, dims.size());
  // With one position an image both formats are the same; rows of channels are read side by side then.
  return {uint64_t(dims[0]), uint64_t(dims[1]), uint64_t(positions), channels_last || positions == 1};
}

std::array<uint64_t, 3> blocks_of(uint64_t count, OwnKernels& kernels) {
  return {std::min<uint64_t>((count + kChannelThreads - 1) / kChannelThreads, kernels.most_blocks()), 1, 1};
}
std::array<uint64_t, 3> all_blocks_of(uint64_t count) { return {(count + kChannelThreads - 1) / kChannelThreads, 1, 1}; }

/// What one pass over a tensor sums.
struct Pass {
  Mode mode;
  MemoryRef first, second;  ///< results; none: not wanted
  float scale = 1;
};

KernelCall finish_call(OwnKernels& kernels, const Pass& pass, MemoryRef partial, uint64_t parts, uint64_t channels) {
  return std::move(KernelCall(own_kernel(kernels, kFile, "finish_channels"), all_blocks_of(channels), kChannelThreads)
                       .address(pass.first)
                       .address(pass.second)
                       .address(partial)
                       .value(parts)
                       .value(channels)
                       .value(pass.scale));
}

void add_vector_sums(std::vector<KernelCall>& calls, OwnKernels* kernels, const Pass& pass, const BatchNormCall& norm,
                     const Shape& shape, size_t& scratch_bytes) {
  const uint64_t vectors = shape.channels * size_of(norm.dtype) / 16;
  const auto width = unsigned(std::min<uint64_t>(std::bit_ceil(std::max<uint64_t>(vectors, 1)), 32));
  const uint64_t tiles = (vectors + width - 1) / width, height = kChannelThreads / width;
  // A stretch has four rows or more for each thread, and there are enough blocks to fill the device; depends only on the sizes.
  const uint64_t parts =
      std::clamp<uint64_t>(std::min(shape.values() / (4 * height), 1024 / std::max<uint64_t>(tiles, 1)), 1, kMostParts);
  const uint64_t stretch = (shape.values() + parts - 1) / parts;
  const MemoryRef partial = take_scratch(scratch_bytes, size_t(parts * shape.channels) * 2 * sizeof(float));
  if (!kernels || shape.channels == 0) return;
  calls.push_back(
      KernelCall(own_kernel(*kernels, kFile, "sum_vectors_" + kernel_suffix(norm.dtype)), {tiles, parts, 1}, kChannelThreads)
          .address(partial)
          .address(norm.x)
          .value(shape.values())
          .value(shape.channels)
          .value(width)
          .value(stretch));
  calls.push_back(finish_call(*kernels, pass, partial, parts, shape.channels));
}

/// Whether sums of x alone go by vectors of 16 bytes: operands begin at multiples of that.
bool fill_vectors(uint64_t channels, DType dtype) { return channels % (16 / size_of(dtype)) == 0; }

void add_plane_sums(std::vector<KernelCall>& calls, OwnKernels* kernels, const Pass& pass, const BatchNormCall& norm,
                    size_t& scratch_bytes) {
  const auto channels = uint64_t(norm.dims[1]), parts = plane_parts(norm);
  const MemoryRef partial = take_scratch(scratch_bytes, size_t(parts * channels) * 2 * sizeof(float));
  if (!kernels) return;
  const PlaneSums of = pass.mode == kSum       ? PlaneSums::values
                       : pass.mode == kSquares ? PlaneSums::squares
                                               : PlaneSums::gradients;
  calls.push_back(plane_sums_call(*kernels, of, norm, partial));
  calls.push_back(finish_call(*kernels, pass, partial, parts, channels));
}

void add_pass(std::vector<KernelCall>& calls, OwnKernels* kernels, const Pass& pass, const BatchNormCall& norm,
              size_t& scratch_bytes) {
  const std::string suffix = kernel_suffix(norm.dtype);
  require(!suffix.empty(), "sums by channel are of floating-point numbers");
  if (goes_by_planes(norm)) return add_plane_sums(calls, kernels, pass, norm, scratch_bytes);
  const Shape shape = shape_of(norm.dims, norm.channels_last);
  if (pass.mode == kSum && shape.last && fill_vectors(shape.channels, norm.dtype))
    return add_vector_sums(calls, kernels, pass, norm, shape, scratch_bytes);
  // Parts of the values are summed in parallel, to have enough blocks; depends only on the sizes.
  const uint64_t tiles = shape.last ? (shape.channels + 31) / 32 : shape.channels;
  const uint64_t least = shape.last ? 64 : 2048;
  const uint64_t parts =
      std::clamp<uint64_t>(std::min(shape.values() / least, 2048 / std::max<uint64_t>(tiles, 1)), 1, kMostParts);
  const uint64_t stretch = (shape.values() + parts - 1) / parts;
  const MemoryRef partial = take_scratch(scratch_bytes, size_t(parts * shape.channels) * 2 * sizeof(float));
  if (!kernels || shape.channels == 0) return;
  calls.push_back(KernelCall(own_kernel(*kernels, kFile, "sum_channels_" + suffix), {tiles, parts, 1}, kChannelThreads)
                      .address(partial)
                      .address(norm.x)
                      .address(norm.dy)
                      .address(norm.mask)
                      .address(norm.mean)
                      .address(norm.var)
                      .value(norm.eps)
                      .value(int32_t(pass.mode))
                      .value(shape)
                      .value(stretch));
  calls.push_back(finish_call(*kernels, pass, partial, parts, shape.channels));
}

KernelCall converting_call(OwnKernels& kernels, const char* file, const std::string& name, MemoryRef to, MemoryRef from,
                           int64_t count) {
  constexpr uint64_t kVector = 8;  // elements that a thread does at once
  return std::move(KernelCall(own_kernel(kernels, file, name), blocks_of((uint64_t(count) + kVector - 1) / kVector, kernels),
                              kChannelThreads)
                       .address(to)
                       .address(from)
                       .value(uint64_t(count)));
}

KernelCall shift_call(OwnKernels& kernels, MemoryRef to, MemoryRef from, MemoryRef bias, int64_t channels, float sign) {
  return std::move(KernelCall(own_kernel(kernels, kFile, "shift_channels"), all_blocks_of(uint64_t(channels)), kChannelThreads)
                       .address(to)
                       .address(from)
                       .address(bias)
                       .value(uint64_t(channels))
                       .value(sign));
}

KernelCall over_elements(OwnKernels& kernels, const std::string& name, const BatchNormCall& norm, const Shape& shape) {
  return {own_kernel(kernels, kFile, name + kernel_suffix(norm.dtype)), blocks_of(shape.values() * shape.channels, kernels),
          kChannelThreads};
}

KernelCall normalize_call(OwnKernels& kernels, const BatchNormCall& norm, const Shape& shape) {
  return std::move(normalizing(over_elements(kernels, "normalize_", norm, shape), norm).value(shape));
}

KernelCall normalize_backward_call(OwnKernels& kernels, const BatchNormCall& norm, const Shape& shape) {
  return std::move(sloping(over_elements(kernels, "normalize_backward_", norm, shape), norm).value(shape));
}

}  // namespace

KernelCall normalizing(KernelCall call, const BatchNormCall& norm) {
  return std::move(call.address(norm.y)
                       .address(norm.mask)
                       .address(norm.x)
                       .address(norm.residual)
                       .address(norm.mean)
                       .address(norm.var)
                       .address(norm.weight)
                       .address(norm.bias)
                       .value(norm.eps)
                       .value(int32_t(norm.relu)));
}

KernelCall sloping(KernelCall call, const BatchNormCall& norm) {
  return std::move(call.address(norm.dx)
                       .address(norm.gradient)
                       .address(norm.x)
                       .address(norm.dy)
                       .address(norm.mask)
                       .address(norm.mean)
                       .address(norm.var)
                       .address(norm.weight)
                       .address(norm.dbias)
                       .address(norm.dweight)
                       .value(norm.eps));
}

void add_channel_sums(std::vector<KernelCall>& calls, OwnKernels* kernels, MemoryRef sums, MemoryRef x, DType dtype,
                      const Dims& dims, bool channels_last, size_t& scratch_bytes) {
  BatchNormCall tensor;
  tensor.dtype = dtype;
  tensor.dims = dims;
  tensor.channels_last = channels_last;
  tensor.x = x;
  add_pass(calls, kernels, {kSum, sums, {}}, tensor, scratch_bytes);
}

void add_column_sums(std::vector<KernelCall>& calls, OwnKernels* kernels, MemoryRef sums, MemoryRef x, DType dtype,
                     int64_t rows, int64_t columns, size_t& scratch_bytes) {
  require(!kernel_suffix(dtype).empty(), "sums over rows are of floating-point numbers");
  constexpr int64_t kFew = 128;  // rows, of which one launch without parts is as fast
  if (rows >= kFew && fill_vectors(uint64_t(columns), dtype))
    return add_channel_sums(calls, kernels, sums, x, dtype, {rows, columns}, true, scratch_bytes);
  // Parts of the rows are summed in parallel, then their sums: as many parts as make a few thousand blocks at most. Depends
  // only on the sizes, so that every GPU gives the same bits.
  const auto tiles = uint64_t(columns + 31) / 32;
  const uint64_t parts =
      std::clamp<uint64_t>(std::min(uint64_t(rows) / 64, 2048 / std::max<uint64_t>(tiles, 1)), 1, kMostParts);
  const uint64_t stretch = (uint64_t(rows) + parts - 1) / parts;
  const MemoryRef partial = parts == 1 ? sums : take_scratch(scratch_bytes, size_t(parts) * size_t(columns) * sizeof(float));
  if (!kernels || columns == 0) return;
  const auto add = [&](MemoryRef to, MemoryRef from, DType of, uint64_t from_rows, uint64_t stretch_rows, uint64_t to_rows) {
    calls.push_back(
        KernelCall(own_kernel(*kernels, "sum", "sum_columns_" + kernel_suffix(of)), {tiles, to_rows, 1}, kChannelThreads)
            .address(to)
            .address(from)
            .value(from_rows)
            .value(uint64_t(columns))
            .value(stretch_rows));
  };
  add(partial, x, dtype, uint64_t(rows), stretch, parts);
  if (parts > 1) add(sums, partial, DType::float32, parts, parts, 1);
}

KernelCall widen_call(OwnKernels& kernels, MemoryRef y, MemoryRef x, DType dtype, int64_t count) {
  return converting_call(kernels, "convert", "widen_" + kernel_suffix(dtype), y, x, count);
}

KernelCall narrow_call(OwnKernels& kernels, MemoryRef y, MemoryRef x, DType dtype, int64_t count) {
  return converting_call(kernels, "convert", "narrow_" + kernel_suffix(dtype), y, x, count);
}

size_t mask_bytes(const Dims& dims) { return size_t(product(dims, 0, dims.size()) + 31) / 32 * 4; }

NormWork add_batch_norm_train(std::vector<KernelCall>& calls, OwnKernels* kernels, const BatchNormCall& norm,
                              size_t& scratch_bytes) {
  if (goes_by_vectors(norm)) return add_vector_norm_train(calls, kernels, norm, scratch_bytes);
  const Shape shape = shape_of(norm.dims, norm.channels_last);
  const float share = shape.values() ? 1 / float(shape.values()) : 0;
  add_pass(calls, kernels, {kSum, norm.mean, {}, share}, norm, scratch_bytes);
  // The sum of squares about the mean, in a pass of its own: from that of x² it would be a difference of large numbers.
  add_pass(calls, kernels, {kSquares, norm.var, {}, share}, norm, scratch_bytes);
  const uint64_t elements = shape.values() * shape.channels;
  const bool biased = norm.x_bias.buffer != MemoryRef::kNone;
  const NormWork work{biased ? 6 : 5, 2 * double(elements * size_of(norm.dtype))};
  if (!kernels || elements == 0) return work;
  calls.push_back(goes_by_planes(norm) ? normalize_planes_call(*kernels, norm) : normalize_call(*kernels, norm, shape));
  if (biased) calls.push_back(shift_call(*kernels, norm.mean, norm.mean, norm.x_bias, norm.dims[1], 1));
  return work;
}

/// By the mean of x itself.
static NormWork add_backward_of_biased(std::vector<KernelCall>& calls, OwnKernels* kernels, BatchNormCall norm,
                                       size_t& scratch_bytes) {
  const MemoryRef mean = take_scratch(scratch_bytes, size_t(norm.dims[1]) * sizeof(float));
  if (kernels) calls.push_back(shift_call(*kernels, mean, norm.mean, norm.x_bias, norm.dims[1], -1));
  norm.mean = mean;
  norm.x_bias = {};
  NormWork work = add_batch_norm_backward(calls, kernels, norm, scratch_bytes);
  work.launches += 1;
  return work;
}

/// The sum is made in the place of the masked one.
static NormWork add_backward_of_sum(std::vector<KernelCall>& calls, OwnKernels* kernels, BatchNormCall norm,
                                    size_t& scratch_bytes) {
  const auto elements = uint64_t(product(norm.dims, 0, norm.dims.size()));
  if (kernels && elements > 0) calls.push_back(sum_call(*kernels, norm.gradient, {norm.dy, norm.more}, norm.dtype, elements));
  norm.dy = norm.gradient;
  norm.more = {};
  NormWork work = add_batch_norm_backward(calls, kernels, norm, scratch_bytes);
  work.launches += 1;
  work.bytes_again += double(elements * size_of(norm.dtype));
  return work;
}

NormWork add_batch_norm_backward(std::vector<KernelCall>& calls, OwnKernels* kernels, const BatchNormCall& norm,
                                 size_t& scratch_bytes) {
  if (goes_by_vectors(norm)) return add_vector_norm_backward(calls, kernels, norm, scratch_bytes);
  if (norm.x_bias.buffer != MemoryRef::kNone) return add_backward_of_biased(calls, kernels, norm, scratch_bytes);
  if (norm.more.buffer != MemoryRef::kNone) return add_backward_of_sum(calls, kernels, norm, scratch_bytes);
  const Shape shape = shape_of(norm.dims, norm.channels_last);
  add_pass(calls, kernels, {kGradient, norm.dbias, norm.dweight}, norm, scratch_bytes);
  const uint64_t elements = shape.values() * shape.channels;
  const NormWork work{3, 2 * double(elements * size_of(norm.dtype))};
  if (!kernels || elements == 0) return work;
  calls.push_back(goes_by_planes(norm) ? slope_planes_call(*kernels, norm) : normalize_backward_call(*kernels, norm, shape));
  return work;
}

}  // namespace sheaf::cuda
