#include "runtime/cpu/ops/conv_depthwise.h"

#include "runtime/cpu/depthwise/kernels.h"
#include "runtime/cpu/dnnl/dnnl_call.h"
#include "runtime/machine/thread_pool.h"

#include <algorithm>

namespace sheaf {
namespace {

/// The rows of y are cut into lots of so many pixels at least. A lot's sums of a register of channels are one thread's, and lots are added up
/// in their order: the same bits with any number of threads.
constexpr int64_t kMostLots = 8, kLeastPixels = 512;

depthwise::Window window_of(const ConvShape& g) {
  const size_t spatial = g.x.size() - 2, first_tap = g.weight.size() - spatial;
  const auto axis = [&](size_t i) -> depthwise::Window::Axis {
    return {g.x[i + 2], g.y[i + 2], g.weight[first_tap + i], g.stride[i], g.dilation[i], g.padding_begin[i]};
  };
  return {spatial == 1 ? depthwise::Window::Axis{1, 1, 1, 1, 1, 0} : axis(0), axis(spatial - 1), g.x[1], nullptr};
}

/// By taps, the pixels of a row of y that meet one of x.
std::vector<depthwise::Window::Range> pixels_met(const depthwise::Window::Axis& axis) {
  std::vector<depthwise::Window::Range> met;
  for (int64_t tap = 0; tap < axis.taps; ++tap) {
    const int64_t place = tap * axis.dilation - axis.begin;  // under pixel 0
    const int64_t begin = place < 0 ? std::min(axis.y, (axis.stride - 1 - place) / axis.stride) : 0;
    const int64_t end = place < axis.x ? std::min(axis.y, (axis.x - 1 - place) / axis.stride + 1) : 0;
    met.push_back({begin, std::max(begin, end)});
  }
  return met;
}

class DepthwiseWeight final : public Executable {
 public:
  DepthwiseWeight(const Operation& operation, const ConvShape& g, ScratchPlan& scratch)
      : kernels_(depthwise::kernels_of(operation.dtype(), g.x[1])),
        window_(window_of(g)),
        met_(pixels_met(window_.width)),
        registers_(g.x[1] / kernels_->lanes),
        images_(g.x[0]),
        lots_(std::max<int64_t>(1, std::min({rows() * window_.width.y / kLeastPixels, rows(), kMostLots}))),
        value_bytes_(int64_t(size_of(operation.dtype()))),
        threads_(operation.request.threads),
        x_(operation.input_buffer("x")),
        dy_(operation.input_buffer("dy")),
        dweight_(operation.output_buffer()) {
    window_.met = met_.data();
    if (!g.bias.empty()) dbias_ = operation.output_buffer(1);
    const auto floats = [&](int64_t count) { return scratch.take(size_t(lots_ * registers_ * count) * sizeof(float)); };
    rows_ = floats(kernels_->row_floats(window_));
    sums_ = floats(sum_floats());
  }

  void run(void* const* buffers, void* scratch) override {
    set_team_size(threads_);
    const auto floats = [&](const BufferRef& at) { return reinterpret_cast<float*>(at.resolve(buffers, scratch)); };
    const char *const x = x_.resolve(buffers, scratch), *const dy = dy_.resolve(buffers, scratch);
    float *const rows = floats(rows_), *const sums = floats(sums_);
    parallel_for(lots_ * registers_, 1, threads_, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        add_up(i / registers_, i % registers_ * kernels_->lanes, x, dy, rows + i * kernels_->row_floats(window_),
               sums + i * sum_floats());
    });
    float *const dweight = floats(dweight_), *const dbias = dbias_ ? floats(*dbias_) : nullptr;
    for (int64_t i = 0; i < registers_; ++i) join(sums, i, dweight, dbias);
  }

 private:
  int64_t rows() const { return images_ * window_.height.y; }
  /// A lot's sums of a register: of each tap, then of the bias.
  int64_t sum_floats() const { return (window_.taps() + 1) * kernels_->lanes; }

  void add_up(int64_t lot, int64_t channel, const char* x, const char* dy, float* row_memory, float* sums) const {
    std::fill_n(sums, sum_floats(), 0.f);
    const int64_t height = window_.height.y, pixel_bytes = window_.channels * value_bytes_,
                  x_bytes = window_.height.x * window_.width.x * pixel_bytes, y_bytes = height * window_.width.y * pixel_bytes;
    const int64_t end = rows() * (lot + 1) / lots_;
    for (int64_t row = rows() * lot / lots_; row < end;) {
      const int64_t image = row / height, first = row % height, last = std::min(height, first + end - row);
      kernels_->add_rows(x + image * x_bytes, dy + image * y_bytes, window_, first, last, channel, row_memory, sums,
                         dbias_ ? sums + window_.taps() * kernels_->lanes : nullptr);
      row += last - first;
    }
  }

  /// The results of a register's channels.
  void join(float* sums, int64_t which, float* dweight, float* dbias) const {
    const int64_t lanes = kernels_->lanes, taps = window_.taps();
    float* const total = sums + which * sum_floats();
    for (int64_t lot = 1; lot < lots_; ++lot) {
      const float* const next = total + lot * registers_ * sum_floats();
      for (int64_t i = 0; i < sum_floats(); ++i) total[i] += next[i];
    }
    for (int64_t lane = 0; lane < lanes; ++lane) {
      const int64_t channel = which * lanes + lane;
      for (int64_t tap = 0; tap < taps; ++tap) dweight[channel * taps + tap] = total[tap * lanes + lane];
      if (dbias) dbias[channel] = total[taps * lanes + lane];
    }
  }

  const depthwise::KernelTable* kernels_;
  depthwise::Window window_;
  std::vector<depthwise::Window::Range> met_;
  int64_t registers_, images_, lots_, value_bytes_;
  int threads_;
  BufferRef x_, dy_, dweight_, rows_, sums_;
  std::optional<BufferRef> dbias_;
};

}  // namespace

bool depthwise_fits(const Operation& operation, const ConvShape& g) {
  return g.groups > 1 && g.groups == g.x[1] && g.groups == g.y[1] && g.x.size() <= 4 &&
         depthwise::kernels_of(operation.dtype(), g.x[1]);
}

Prepared prepare_conv_backward_weight_depthwise(const Operation& operation, const ConvShape& g) {
  Prepared prepared = operation.prepared();
  const auto activation = [&](const DnnlDims& dims) {
    return activation_tensor(dims, channels_last_desc(dims, operation.data_type()));
  };
  prepared.inputs[size_t(operation.find("x"))] = activation(g.x);
  prepared.inputs[size_t(operation.find("dy"))] = activation(g.y);
  ScratchPlan scratch;
  prepared.executable = std::make_unique<DepthwiseWeight>(operation, g, scratch);
  prepared.scratch_bytes = scratch.bytes();
  prepared.implementation = std::string("depthwise, ") + depthwise::kernels_of(operation.dtype(), g.x[1])->instructions;
  prepared.reason = "each channel by itself, channels last: a register of channels has the sums of a tap";
  return prepared;
}

}  // namespace sheaf
