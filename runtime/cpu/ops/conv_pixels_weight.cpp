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
  BufferRef where, packed;  ///< `packed`: in pairs of images; of f32 nothing needs to be packed
  int64_t channels, count;
};

struct Job {
  const KernelTable* kernels;
  dnnl::memory::data_type type;
  int64_t images, taps;
  Pixels x, y;
  std::vector<std::vector<Meeting>> meetings;  ///< by tap
  BufferRef to, bias;
  bool biased;
  int threads;

  int64_t depth() const { return (images + kernels->pair - 1) / kernels->pair; }
  /// Bytes of a pixel, as its elements are multiplied.
  size_t pixel_bytes(const Pixels& of) const { return size_t(depth() * of.channels) * sizeof(float); }
};

class PixelsWeightExecutable final : public Executable {
 public:
  explicit PixelsWeightExecutable(Job job) : job_(std::move(job)) {}

  void run(void* const* buffers, void* scratch) override {
    set_team_size(job_.threads);
    const int64_t in = job_.x.channels, out = job_.y.channels, panel = job_.kernels->panel;
    const float *x = operand(job_.x, buffers, scratch), *dy = operand(job_.y, buffers, scratch);
    auto* dweight = reinterpret_cast<float*>(job_.to.resolve(buffers, scratch));
    // Each matrix's columns are cut into shares, so that there are enough to be dealt out evenly; no more, as each reads all
    // of x.
    const int64_t panels = (out + panel - 1) / panel, enough = job_.threads > 1 ? 8 * job_.threads : 1;
    const int64_t shares = std::min(panels, (enough + job_.taps - 1) / job_.taps);
    parallel_for(job_.taps * shares, 1, job_.threads, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t tap = i / shares, share = i % shares, first = panels * share / shares * panel;
        const int64_t columns = std::min(out, panels * (share + 1) / shares * panel) - first;
        float* const sums = dweight + tap * in * out + first;
        const std::vector<Meeting>& meetings = job_.meetings[size_t(tap)];
        if (meetings.empty())
          for (int64_t row = 0; row < in; ++row) std::fill_n(sums + row * out, columns, 0.f);
        for (size_t k = 0; k < meetings.size(); ++k)
          job_.kernels->multiply({in, columns, job_.depth(), x + meetings[k].x * job_.depth() * in, 1, in,
                                  dy + meetings[k].y * job_.depth() * out + first, panel, out, sums, out, k > 0});
      }
    });
    if (job_.biased)
      sum_columns(job_.y.where.resolve(buffers, scratch), job_.type, job_.y.count * job_.images, out, out,
                  reinterpret_cast<float*>(job_.bias.resolve(buffers, scratch)));
  }

 private:
  const float* operand(const Pixels& pixels, void* const* buffers, void* scratch) const {
    char* const from = pixels.where.resolve(buffers, scratch);
    if (job_.kernels->pair == 1) return reinterpret_cast<const float*>(from);
    char* const to = pixels.packed.resolve(buffers, scratch);
    const size_t bytes = size_t(job_.images * pixels.channels) * dnnl::memory::data_type_size(job_.type);
    parallel_for(pixels.count, 1, job_.threads, [&](int64_t begin, int64_t end) {
      for (int64_t pixel = begin; pixel < end; ++pixel)
        job_.kernels->pack_images(from + size_t(pixel) * bytes,
                                  reinterpret_cast<float*>(to + size_t(pixel) * job_.pixel_bytes(pixels)), job_.images,
                                  pixels.channels);
    });
    return reinterpret_cast<const float*>(to);
  }

  Job job_;
};

}  // namespace

Prepared prepare_conv_backward_weight_pixels(const Operation& operation, const ConvShape& g) {
  const auto type = operation.data_type();
  Prepared prepared = operation.prepared();
  prepared.inputs[size_t(operation.find("x"))] = pixels_tensor(g.x, type);
  prepared.inputs[size_t(operation.find("dy"))] = pixels_tensor(g.y, type);
  prepared.outputs[0] = taps_tensor(g.weight);
  Job job;
  job.kernels = pixel_kernels(operation, /*narrow=*/true);
  job.type = type;
  job.images = g.x[0];
  job.taps = g.weight[2] * g.weight[3];
  job.x = {operation.input_buffer("x"), {}, g.x[1], g.x[2] * g.x[3]};
  job.y = {operation.input_buffer("dy"), {}, g.y[1], g.y[2] * g.y[3]};
  job.meetings.resize(size_t(job.taps));
  for (const Meeting& meeting : meetings(g)) job.meetings[size_t(meeting.tap)].push_back(meeting);
  job.to = operation.output_buffer();
  job.biased = !g.bias.empty();
  if (job.biased) job.bias = operation.output_buffer(1);
  job.threads = operation.request.threads;
  ScratchPlan scratch;
  if (job.kernels->pair > 1) {
    for (Pixels* pixels : {&job.x, &job.y}) pixels->packed = scratch.take(size_t(pixels->count) * job.pixel_bytes(*pixels));
  }
  prepared.scratch_bytes = scratch.bytes();
  prepared.implementation = std::string("pixels, ") + job.kernels->instructions;
  prepared.reason = pixels_reason();
  prepared.executable = std::make_unique<PixelsWeightExecutable>(std::move(job));
  return prepared;
}

}  // namespace sheaf
