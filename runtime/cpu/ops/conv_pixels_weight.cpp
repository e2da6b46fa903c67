// The weight's gradient as products over the batch: each tap's matrix is a sum over the pixels that meet under it.
#include "runtime/cpu/ops/column_sums.h"
#include "runtime/cpu/ops/conv_pixels.h"
#include "runtime/cpu/ops/pixel_layout.h"
#include "runtime/cpu/ops/pixel_meetings.h"
#include "runtime/cpu/ops/pixel_operation.h"

#include <algorithm>

namespace sheaf {
namespace {

using namespace winograd;

/// A tensor whose products go along its images.
struct Pixels {
  BufferRef where, packed;  ///< `packed`: a block of images as products take them, if not as they are
  int64_t channels, count;
  std::vector<int64_t> met;  ///< pixels that meet another
};

struct PixelsWeightJob {
  const KernelTable* kernels;
  dnnl::memory::data_type type;
  int64_t images, taps;
  int64_t block;  ///< images at a time: of all taps, while they are in the cache
  int64_t lots;   ///< into which the images are cut, each with sums of its own, to be made by one thread; 1: all make them
  Pixels x, y;
  std::vector<std::vector<std::vector<Meeting>>> rows;  ///< by rows of y and taps
  BufferRef to, bias, sums;                             ///< `sums`: of lots
  bool biased;
  int threads;

  bool packs() const { return kernels->depth_unit > 1; }
  /// Elements along `count` images.
  int64_t depth(int64_t count) const { return elements_along(*kernels, count); }
  int64_t matrices() const { return taps * x.channels * y.channels; }
  /// Of a tensor, from one pixel to the next, as its elements are multiplied.
  int64_t pixel_stride(const Pixels& of) const { return (packs() ? depth(block) : images) * of.channels; }
};

class PixelsWeightExecutable final : public Executable {
 public:
  explicit PixelsWeightExecutable(PixelsWeightJob job) : job_(std::move(job)) {}

  void run(void* const* buffers, void* scratch) override {
    set_team_size(job_.threads);
    auto* dweight = reinterpret_cast<float*>(job_.to.resolve(buffers, scratch));
    if (job_.lots == 1) {
      make(0, job_.threads, dweight, buffers, scratch);
    } else {
      auto* sums = reinterpret_cast<float*>(job_.sums.resolve(buffers, scratch));
      // More threads than lots make them together, one lot after another.
      const bool together = job_.threads > job_.lots;
      parallel_items(job_.lots, together ? 1 : job_.threads, [&](int64_t, int64_t lot) {
        make(lot, together ? job_.threads : 1, sums + lot * job_.matrices(), buffers, scratch);
      });
      parallel_for(job_.matrices(), 4096, job_.threads, [&](int64_t begin, int64_t end) {
        std::copy(sums + begin, sums + end, dweight + begin);
        for (int64_t lot = 1; lot < job_.lots; ++lot)
          for (int64_t j = begin; j < end; ++j) dweight[j] += sums[lot * job_.matrices() + j];
      });
    }
    const int64_t out = job_.y.channels;
    if (job_.biased)
      sum_columns(job_.y.where.resolve(buffers, scratch), job_.type, job_.y.count * job_.images, out, out,
                  reinterpret_cast<float*>(job_.bias.resolve(buffers, scratch)));
  }

 private:
  /// The sums over a lot's images.
  void make(int64_t lot, int threads, float* sums, void* const* buffers, void* scratch) const {
    const int64_t out = job_.y.channels, panel = job_.kernels->panel;
    const int64_t first_image = job_.images * lot / job_.lots, end_image = job_.images * (lot + 1) / job_.lots;
    // Each matrix's columns are cut into shares, so that there are enough to be dealt out evenly; no more, as each reads all
    // of x.
    const int64_t panels = (out + panel - 1) / panel, enough = items_for(threads);
    const int64_t shares = std::min(panels, (enough + job_.taps - 1) / job_.taps);
    for (int64_t image = first_image; image < end_image; image += job_.block) {
      const int64_t images = std::min(job_.block, end_image - image);
      const auto operand = [&](const Pixels& pixels) {
        return elements(pixels, lot, image, images, threads, buffers, scratch);
      };
      const float *x = operand(job_.x), *dy = operand(job_.y);
      const int64_t matrices = job_.taps * shares, groups = std::min(matrices, items_for(threads, 3));
      parallel_items(groups, threads, [&](int64_t, int64_t group) {
        // A row's pixels, and those of x that they see, are in the cache for all of the group.
        for (size_t row = 0; row < job_.rows.size(); ++row) {
          for (int64_t i = matrices * group / groups; i < matrices * (group + 1) / groups; ++i) {
            const int64_t tap = i / shares, share = i % shares, first = panels * share / shares * panel;
            const int64_t columns = std::min(out, panels * (share + 1) / shares * panel) - first;
            add_up(row, tap, first, columns, images, image > first_image, x, dy, sums);
          }
        }
      });
    }
  }

  /// Some columns of a tap's matrix: what a row of y adds, of a block's images. `add`: there were blocks before.
  void add_up(size_t row, int64_t tap, int64_t first, int64_t columns, int64_t images, bool add, const float* x,
              const float* dy, float* matrices) const {
    const int64_t in = job_.x.channels, out = job_.y.channels;
    float* const sums = matrices + tap * in * out + first;
    if (row == 0 && !add)
      for (int64_t i = 0; i < in; ++i) std::fill_n(sums + i * out, columns, 0.f);
    const auto& meetings = job_.rows[row][size_t(tap)];
    const int64_t depth = job_.depth(images);
    const bool by_rows = job_.kernels->pack_rows;
    const int64_t x_row = by_rows ? job_.depth(job_.block) : 1, x_depth = by_rows ? 1 : in;
    Product product{in, columns, depth, nullptr, x_row, x_depth, nullptr, job_.kernels->panel, out, sums, out, true};
    product.then_a_bytes = depth * in * int64_t(sizeof(float));
    product.then_b_bytes = depth * out * int64_t(sizeof(float));
    constexpr size_t most_terms = 64;
    ProductTerm terms[most_terms];
    for (size_t i = 0; i < meetings.size();) {
      size_t count = 0;
      for (; i < meetings.size() && count < most_terms; ++i)
        terms[count++] = {x + meetings[i].x * job_.pixel_stride(job_.x),
                          dy + meetings[i].y * job_.pixel_stride(job_.y) + first};
      job_.kernels->multiply_terms(product, terms, int64_t(count));
    }
  }

  /// Where the block's images begin in pixel 0.
  const float* elements(const Pixels& pixels, int64_t lot, int64_t image, int64_t images, int threads, void* const* buffers,
                        void* scratch) const {
    const size_t value = dnnl::memory::data_type_size(job_.type);
    char* const from = pixels.where.resolve(buffers, scratch) + size_t(image * pixels.channels) * value;
    if (!job_.packs()) return reinterpret_cast<const float*>(from);
    const int64_t stride = job_.pixel_stride(pixels);
    auto* const to = reinterpret_cast<float*>(pixels.packed.resolve(buffers, scratch)) + lot * pixels.count * stride;
    const size_t bytes = size_t(job_.images * pixels.channels) * value;
    parallel_for(int64_t(pixels.met.size()), 1, threads, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t pixel = pixels.met[size_t(i)];
        const char* const at = from + size_t(pixel) * bytes;
        if (&pixels == &job_.x && job_.kernels->pack_rows)
          job_.kernels->pack_rows(at, to + pixel * stride, job_.depth(job_.block), images, pixels.channels);
        else job_.kernels->pack_images(at, to + pixel * stride, images, pixels.channels);
      }
    });
    return to;
  }

  PixelsWeightJob job_;
};

/// Each of them once.
std::vector<int64_t> pixels_met(const std::vector<Meeting>& meetings, int64_t Meeting::* which) {
  std::vector<int64_t> pixels;
  for (const Meeting& meeting : meetings) pixels.push_back(meeting.*which);
  std::sort(pixels.begin(), pixels.end());
  pixels.erase(std::unique(pixels.begin(), pixels.end()), pixels.end());
  return pixels;
}

}  // namespace

Prepared prepare_conv_backward_weight_pixels(const Operation& operation, const ConvShape& g, Operands operands) {
  const auto type = operation.data_type();
  Prepared prepared = operation.prepared();
  prepared.inputs[size_t(operation.find("x"))] = pixels_tensor(g.x, type);
  prepared.inputs[size_t(operation.find("dy"))] = pixels_tensor(g.y, type);
  prepared.outputs[0] = taps_tensor(g.weight);
  PixelsWeightJob job;
  job.kernels = pixel_kernels(operation, /*narrow=*/true, operands);
  job.type = type;
  job.images = g.x[0];
  job.taps = g.weight[2] * g.weight[3];
  const std::vector<Meeting> all = meetings(g);
  job.x = {operation.input_buffer("x"), {}, g.x[1], g.x[2] * g.x[3], pixels_met(all, &Meeting::x)};
  job.y = {operation.input_buffer("dy"), {}, g.y[1], g.y[2] * g.y[3], pixels_met(all, &Meeting::y)};
  job.rows.assign(size_t(g.y[2]), std::vector<std::vector<Meeting>>(size_t(job.taps)));
  for (const Meeting& meeting : all) job.rows[size_t(meeting.y / g.y[3])][size_t(meeting.tap)].push_back(meeting);
  // Short blocks would read and write the sums too often, the more so the larger those are. (Values are packed block by block, so
  // that longer ones would take more memory.)
  constexpr int64_t cache_bytes = 2 << 20, small_sums = 128 * 1024;
  const int64_t least_block = job.packs() ? 128 : job.matrices() > small_sums ? 256 : 64;
  const int64_t unit = std::max(2, job.kernels->depth_unit);
  const int64_t image_bytes =
      int64_t(dnnl::memory::data_type_size(type)) * (int64_t(job.x.met.size()) * g.x[1] + int64_t(job.y.met.size()) * g.y[1]);
  job.block = std::min(job.images, std::max(least_block, cache_bytes / std::max<int64_t>(1, image_bytes) / unit * unit));
  constexpr int64_t most_lots = 4;
  job.lots = job.matrices() <= small_sums ? std::clamp<int64_t>(job.images / job.block, 1, most_lots) : 1;
  job.to = operation.output_buffer();
  job.biased = !g.bias.empty();
  if (job.biased) job.bias = operation.output_buffer(1);
  job.threads = operation.request.threads;
  ScratchPlan scratch;
  if (job.lots > 1) job.sums = scratch.take(size_t(job.lots * job.matrices()) * sizeof(float));
  if (job.packs()) {
    for (Pixels* pixels : {&job.x, &job.y})
      pixels->packed = scratch.take(size_t(job.lots * pixels->count * job.pixel_stride(*pixels)) * sizeof(float));
  }
  prepared.scratch_bytes = scratch.bytes();
  prepared.implementation = std::string("pixels, ") + job.kernels->instructions;
  prepared.reason = reason_of(pixels_reason(), operands);
  prepared.executable = std::make_unique<PixelsWeightExecutable>(std::move(job));
  return prepared;
}

}  // namespace sheaf
