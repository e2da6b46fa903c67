#include "runtime/cpu/ops/conv_winograd.h"

#include "runtime/machine/isa.h"
#include "runtime/cpu/ops/pixel_layout.h"
#include "runtime/cpu/ops/pixel_operation.h"
#include "runtime/cpu/ops/residual.h"
#include "runtime/cpu/winograd/tiles.h"

namespace sheaf {
namespace {

using namespace winograd;

/// y from x, or dx from dy: the same except for the weight, which is turned and transposed.
struct WinogradJob {
  const KernelTable* kernels;
  bool gradient;
  Dims weight;  ///< [O, I, 3, 3]
  PixelMap source, target;
  int64_t above, before;  ///< rows and columns of the source outside the image that the first tile sees
  Tiling tiling;
  BufferRef from, weights, to, bias;
  bool biased;
  Finish finish;
  int threads;
  BufferRef transformed_weight, members;
  size_t member_bytes = 0;

  int64_t members_made() const { return std::min<int64_t>(threads, tiling.blocks()); }
  int64_t panels() const { return (target.channels + kernels->panel - 1) / kernels->panel; }
  /// Elements of the weight at one position.
  int64_t matrix() const { return panels() * kernels->panel * source.channels / kernels->pair; }
  size_t transformed_bytes(int64_t channels) const { return size_t(positions * tiling.most_rows() * channels) * sizeof(float); }
};

class WinogradExecutable final : public Executable {
 public:
  WinogradExecutable(ResidualCopy residual, WinogradJob job) : residual_(std::move(residual)), job_(std::move(job)) {}

  void run(void* const* buffers, void* scratch) override {
    set_team_size(job_.threads);
    residual_.run(buffers, scratch);
    auto* u = reinterpret_cast<float*>(job_.transformed_weight.resolve(buffers, scratch));
    parallel_for(job_.panels(), 1, job_.threads, [&](int64_t begin, int64_t end) {
      const int64_t panel = job_.kernels->panel;
      job_.kernels->transform_weight(job_.weights.resolve(buffers, scratch), u, job_.matrix(), job_.weight[1], job_.weight[0],
                                     job_.gradient, begin * panel, std::min(end * panel, job_.target.channels));
    });
    parallel_items(job_.tiling.blocks(), job_.threads, [&](int64_t member, int64_t block) {
      char* const mine = job_.members.resolve(buffers, scratch) + size_t(member) * job_.member_bytes;
      run_block(job_.tiling.block(block), u, buffers, scratch, mine);
    });
  }

 private:
  /// `mine`: the member's own memory: x transformed, products, the part outside y.
  void run_block(const Block& block, const float* u, void* const* buffers, void* scratch, char* mine) const {
    const KernelTable& kernels = *job_.kernels;
    auto* v = reinterpret_cast<float*>(mine);
    auto* m = reinterpret_cast<float*>(mine + job_.transformed_bytes(job_.source.channels));
    char* outside = mine + job_.transformed_bytes(job_.source.channels) + job_.transformed_bytes(job_.target.channels);
    const int64_t in = job_.source.channels, out = job_.target.channels, rows = block.rows(), depth = in / kernels.pair;
    char* const from = job_.from.resolve(buffers, scratch);
    for_strips(block, job_.source.strip(1), [&](int64_t tile, int64_t image, int64_t images) {
      void* window[positions];
      const int64_t at = block.first_tile + tile;
      job_.source.locate(from, job_.tiling.row_of(at) - job_.above, job_.tiling.column_of(at) - job_.before, window_size,
                         block.first_image + image, outside_of_x(), window);
      kernels.transform_source(window, v + (tile * block.images + image) * depth, rows * depth, images, in);
    });
    for (int64_t position = 0; position < positions; ++position)
      kernels.multiply({rows, out, depth, v + position * rows * depth, depth, 1, u + position * job_.matrix(),
                        kernels.panel * depth, kernels.panel, m + position * rows * out, out, false});
    Finish finish = job_.finish;
    if (job_.biased) finish.bias = reinterpret_cast<const float*>(job_.bias.resolve(buffers, scratch));
    char* const to = job_.to.resolve(buffers, scratch);
    for_strips(block, job_.target.strip(1), [&](int64_t tile, int64_t image, int64_t images) {
      void* pixels[tile_pixels];
      const int64_t at = block.first_tile + tile;
      job_.target.locate(to, job_.tiling.row_of(at), job_.tiling.column_of(at), tile_size, block.first_image + image, outside,
                         pixels);
      kernels.finish_y(m + (tile * block.images + image) * out, rows * out, pixels, images, out, finish);
    });
  }

  ResidualCopy residual_;
  WinogradJob job_;
};

/// Rows of a block: enough that a position's weight, once fetched, is used for many; more where the weight of all positions
/// is larger than the second cache, and comes from further away for each block; but no more than let every thread have one.
int64_t rows_of_block(const DnnlDims& source, const DnnlDims& target, int64_t threads) {
  constexpr int64_t least = 16;
  const int64_t wanted = source[1] * target[1] <= 256 * 256 ? 32 : 128;
  const int64_t all = target[0] * tiles_of(target[2]) * tiles_of(target[3]);
  return std::clamp(all / threads, least, wanted);
}

Prepared prepare_winograd(const Operation& operation, const ConvShape& g, bool gradient, Operands operands) {
  const DnnlDims &source = gradient ? g.y : g.x, &target = gradient ? g.x : g.y;
  const auto type = operation.data_type();
  const size_t element = dnnl::memory::data_type_size(type);
  const auto flank = [&](size_t axis) { return gradient ? kernel_size - 1 - g.padding_begin[axis] : g.padding_begin[axis]; };
  Prepared prepared = operation.prepared();
  const char* role = source_role(operation, gradient ? ConvResult::dx : ConvResult::y);
  const bool last = winograd_channels_last(operation, g);
  const DnnlDesc source_desc = last ? channels_last_desc(source, type) : pixels_desc(source, type),
                 target_desc = last ? channels_last_desc(target, type) : pixels_desc(target, type);
  prepared.inputs[size_t(operation.find(role))] = activation_tensor(source, source_desc);
  prepared.inputs[size_t(operation.find("weight"))] = taps_tensor(g.weight, type);
  prepared.outputs[0] = activation_tensor(target, target_desc);
  ScratchPlan scratch;
  WinogradJob job{pixel_kernels(operation, /*narrow=*/operation.has("dy"), operands),
                  gradient,
                  g.weight,
                  PixelMap(source, element, last),
                  PixelMap(target, element, last),
                  flank(0),
                  flank(1),
                  Tiling(target[0], target[2], target[3], std::min(source[1], target[1]),
                         rows_of_block(source, target, operation.request.threads)),
                  operation.input_buffer(role),
                  operation.input_buffer("weight"),
                  operation.output_buffer(),
                  {},
                  !g.bias.empty(),
                  {},
                  operation.request.threads,
                  {},
                  {}};
  if (job.biased) job.bias = operation.input_buffer("bias");
  ResidualCopy residual;
  if (!operation.has("dy")) {
    residual = ResidualCopy(operation, target_desc, prepared);
    job.finish = pixel_finish(operation);
  }
  job.transformed_weight = scratch.take(size_t(positions * job.matrix()) * sizeof(float));
  job.member_bytes = job.transformed_bytes(source[1]) + job.transformed_bytes(target[1]) + outside_bytes;
  job.members = scratch.take(job.member_bytes * size_t(job.members_made()));
  prepared.scratch_bytes = scratch.bytes();
  prepared.implementation = std::string("winograd 4x3, ") + job.kernels->instructions;
  prepared.reason = reason_of(winograd_reason(), operands);
  prepared.executable = std::make_unique<WinogradExecutable>(std::move(residual), std::move(job));
  return prepared;
}

}  // namespace

const char* winograd_reason() {
  return "Winograd, which --numerics fast allows: a quarter of the multiplications, for images pixel by pixel";
}

bool winograd_channels_last(const Operation& operation, const ConvShape& g) {
  return operation.constant("weight") && g.x[0] < many_images;
}

bool winograd_fits(const Operation& operation, const ConvShape& g) {
  constexpr int64_t least_channels = 32;
  if (!operation.request.fast_numerics || !pixels_fit(operation, g)) return false;
  if (g.weight[2] != kernel_size || g.weight[3] != kernel_size || g.stride != DnnlDims{1, 1}) return false;
  for (const int64_t channels : {g.x[1], g.y[1]})
    if (channels < least_channels || channels > most_channels) return false;
  return true;
}

Prepared prepare_conv_winograd(const Operation& operation, const ConvShape& g, Operands operands) {
  return prepare_winograd(operation, g, false, operands);
}

Prepared prepare_conv_backward_data_winograd(const Operation& operation, const ConvShape& g, Operands operands) {
  return prepare_winograd(operation, g, true, operands);
}

}  // namespace sheaf
