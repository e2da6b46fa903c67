// The weight's gradient: its sums over tiles and images are products [I × rows] · [rows × O] at each position.
#include "runtime/cpu/ops/column_sums.h"
#include "runtime/cpu/ops/conv_winograd.h"
#include "runtime/cpu/ops/pixel_layout.h"
#include "runtime/cpu/ops/pixel_operation.h"
#include "runtime/cpu/winograd/tiles.h"

namespace sheaf {
namespace {

using namespace winograd;

/// A share of the sums: no two touch the same. What is summed over (blocks of tiles) is cut into lots of their own sums where
/// those are small, so that results don't depend on the team. Where they are large, or there are more threads than lots,
/// positions and columns are shared out: half of the positions take half of the transforms and of the cache, but a part of
/// the columns repeats x's transforms.
struct Member {
  int64_t lot = 0;
  Rows rows = Rows::all;
  int64_t first_column = 0, columns = 0;
  int64_t first_position() const { return rows == Rows::second_half ? positions / 2 : 0; }
  int64_t positions_made() const { return rows == Rows::all ? positions : positions / 2; }
};

/// `whole`: all positions at once, where there are no more threads than lots.
std::vector<Member> share_out(int64_t lots, bool whole, int64_t columns, int64_t panel, int64_t threads) {
  const int64_t panels = (columns + panel - 1) / panel, groups = std::clamp<int64_t>(threads / lots / 2, 1, panels);
  std::vector<Member> members;
  for (int64_t lot = 0; lot < lots; ++lot) {
    for (int64_t i = 0; i < groups; ++i) {
      const int64_t begin = panels * i / groups * panel, end = std::min(columns, panels * (i + 1) / groups * panel);
      if (whole && threads <= lots) members.push_back({lot, Rows::all, begin, end - begin});
      else
        for (const Rows rows : {Rows::first_half, Rows::second_half}) members.push_back({lot, rows, begin, end - begin});
    }
  }
  return members;
}

struct WinogradWeightJob {
  const KernelTable* kernels;
  dnnl::memory::data_type type;
  PixelMap x, y;
  int64_t above, before;  ///< padding
  Tiling tiling;
  BufferRef from_x, from_dy, to, bias;
  bool biased;
  int threads;
  int64_t lots;
  std::vector<Member> members;
  BufferRef sums, shares;  ///< [lots, positions, I, O]; a member's own memory
  size_t share_bytes = 0;

  /// A member's.
  size_t transformed_bytes(int64_t channels) const {
    return size_t(members.front().positions_made() * tiling.most_rows() * channels) * sizeof(float);
  }
};

class WinogradWeightExecutable final : public Executable {
 public:
  explicit WinogradWeightExecutable(WinogradWeightJob job) : job_(std::move(job)) {}

  void run(void* const* buffers, void* scratch) override {
    set_team_size(job_.threads);
    auto* sums = reinterpret_cast<float*>(job_.sums.resolve(buffers, scratch));
    parallel_items(int64_t(job_.members.size()), job_.threads, [&](int64_t, int64_t i) {
      char* const mine = job_.shares.resolve(buffers, scratch) + size_t(i) * job_.share_bytes;
      add_up(job_.members[size_t(i)], sums, buffers, scratch, mine);
    });
    const int64_t in = job_.x.channels, out = job_.y.channels;
    auto* dweight = reinterpret_cast<float*>(job_.to.resolve(buffers, scratch));
    parallel_for(in, 1, job_.threads, [&](int64_t begin, int64_t end) {
      job_.kernels->finish_dweight(sums, job_.lots, dweight, in * out, begin * out, end * out);
      if (begin != 0 || !job_.biased) return;
      sum_columns(job_.from_dy.resolve(buffers, scratch), job_.type, job_.y.height * job_.y.width * job_.y.images, out, out,
                  reinterpret_cast<float*>(job_.bias.resolve(buffers, scratch)));
    });
  }

 private:
  void add_up(const Member& member, float* sums, void* const* buffers, void* scratch, char* mine) const {
    const KernelTable& kernels = *job_.kernels;
    auto* v = reinterpret_cast<float*>(mine);
    auto* d = reinterpret_cast<float*>(mine + job_.transformed_bytes(job_.x.channels));
    const int64_t in = job_.x.channels, out = job_.y.channels, columns = member.columns, blocks = job_.tiling.blocks();
    float* const first_sum = sums + (member.lot * positions + member.first_position()) * in * out + member.first_column;
    const int64_t first_block = blocks * member.lot / job_.lots, end = blocks * (member.lot + 1) / job_.lots;
    char* const x = job_.from_x.resolve(buffers, scratch);
    char* const dy = job_.from_dy.resolve(buffers, scratch) + size_t(member.first_column) * job_.y.element;
    for (int64_t i = first_block; i < end; ++i) {
      const Block block = job_.tiling.block(i);
      const int64_t elements = elements_along(kernels, block.images), depth = block.tiles * elements;
      for_strips(block, job_.x.strip(kernels.depth_unit), [&](int64_t tile, int64_t image, int64_t images) {
        void* window[positions];
        const int64_t at = block.first_tile + tile;
        job_.x.locate(x, job_.tiling.row_of(at) - job_.above, job_.tiling.column_of(at) - job_.before, window_size,
                      block.first_image + image, outside_of_x(), window);
        kernels.transform_x(window, v + (tile * elements + image / kernels.pair) * in, depth * in, images, in, in, member.rows);
      });
      for_strips(block, job_.y.strip(kernels.depth_unit), [&](int64_t tile, int64_t image, int64_t images) {
        void* pixels[tile_pixels];
        const int64_t at = block.first_tile + tile;
        job_.y.locate(dy, job_.tiling.row_of(at), job_.tiling.column_of(at), tile_size, block.first_image + image,
                      outside_of_x(), pixels);
        kernels.transform_dy(pixels, d + (tile * elements + image / kernels.pair) * columns, depth * columns, images, columns,
                             out, member.rows);
      });
      for (int64_t position = 0; position < member.positions_made(); ++position)
        kernels.multiply({in, columns, depth, v + position * depth * in, 1, in, d + position * depth * columns, kernels.panel,
                          columns, first_sum + position * in * out, out, i > first_block});
    }
  }

  WinogradWeightJob job_;
};

/// Each block reads and writes all sums: the more of them, the more rows a block should have.
int64_t rows_of_block(int64_t in, int64_t out) { return in * out <= 256 * 256 ? 64 : 256; }

/// As many as have a block each, of sums that stay in the cache.
int64_t lots_of(int64_t in, int64_t out, const Tiling& tiling) {
  return in * out <= 128 * 128 ? std::min<int64_t>(4, tiling.blocks()) : 1;
}

}  // namespace

bool winograd_weight_split_fits(const Operation& operation, const ConvShape& g) {
  return winograd_fits(operation, g) && split_fits(operation, g) && g.x[0] % split_kernels()->depth_unit == 0;
}

Prepared prepare_conv_backward_weight_winograd(const Operation& operation, const ConvShape& g, Operands operands) {
  const auto type = operation.data_type();
  const size_t element = dnnl::memory::data_type_size(type);
  Prepared prepared = operation.prepared();
  prepared.inputs[size_t(operation.find("x"))] = pixels_tensor(g.x, type);
  prepared.inputs[size_t(operation.find("dy"))] = pixels_tensor(g.y, type);
  prepared.outputs[0] = taps_tensor(g.weight, dnnl::memory::data_type::f32);
  const KernelTable* kernels = pixel_kernels(operation, /*narrow=*/true, operands);
  WinogradWeightJob job{kernels,
                        type,
                        PixelMap(g.x, element),
                        PixelMap(g.y, element),
                        g.padding_begin[0],
                        g.padding_begin[1],
                        Tiling(g.x[0], g.y[2], g.y[3], std::min(g.x[1], g.y[1]), rows_of_block(g.x[1], g.y[1]),
                               operands == Operands::split ? kernels->depth_unit : 1),
                        operation.input_buffer("x"),
                        operation.input_buffer("dy"),
                        operation.output_buffer(),
                        {},
                        !g.bias.empty(),
                        operation.request.threads,
                        1,
                        {},
                        {},
                        {}};
  job.lots = lots_of(g.x[1], g.y[1], job.tiling);
  const bool whole = g.x[1] * g.y[1] <= 64 * 64;  // sums and a block's transforms fit into the second cache together
  job.members = share_out(job.lots, whole, g.y[1], kernels->panel, job.threads);
  if (job.biased) job.bias = operation.output_buffer(1);
  ScratchPlan scratch;
  job.sums = scratch.take(size_t(job.lots * positions * g.x[1] * g.y[1]) * sizeof(float));
  job.share_bytes = job.transformed_bytes(g.x[1]) + job.transformed_bytes(g.y[1]);
  job.shares = scratch.take(job.share_bytes * job.members.size());
  prepared.scratch_bytes = scratch.bytes();
  prepared.implementation = std::string("winograd 3x4, ") + kernels->instructions;
  prepared.reason = reason_of(winograd_reason(), operands);
  prepared.executable = std::make_unique<WinogradWeightExecutable>(std::move(job));
  return prepared;
}

}  // namespace sheaf
