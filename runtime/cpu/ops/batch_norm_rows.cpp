#include "runtime/cpu/ops/batch_norm_rows.h"

#include "runtime/cpu/dnnl/dnnl_call.h"
#include "runtime/cpu/norm/kernels.h"
#include "runtime/cpu/ops/choice.h"
#include "runtime/cpu/ops/pixel_layout.h"
#include "runtime/cpu/ops/workspace.h"
#include "runtime/machine/thread_pool.h"
#include "runtime/plan/op_list.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace sheaf {
namespace {

/// Rows are cut into chunks, which a first cache holds, and those into groups. A group's sums are one thread's, and groups are added up in
/// their order and in double precision: the same bits with any number of threads.
constexpr int64_t kChunkValues = 8192, kChunksOfGroup = 4;
/// At least, so that their sums take little memory beside many channels.
constexpr int64_t kGroupRows = 64;
/// Of a thread, so that it's worth waking.
constexpr int64_t kGrainValues = 16384;

struct NormedRows {
  const norm::KernelTable* kernels;
  int64_t rows, channels, chunk, value_bytes;
  int threads;
  double eps;
  bool affine, relu;

  NormedRows(const Operation& operation, const BatchNorm& norm, const norm::KernelTable* table)
      : kernels(table),
        rows(product(norm.dims, 0, norm.dims.size()) / norm.dims[1]),
        channels(norm.dims[1]),
        chunk(std::clamp<int64_t>(kChunkValues / channels, 1, 128)),
        value_bytes(int64_t(size_of(operation.dtype()))),
        threads(operation.request.threads),
        eps(norm.eps),
        affine(norm.affine),
        relu(norm.relu) {}

  int64_t group() const { return chunk * std::max(kChunksOfGroup, kGroupRows / chunk); }
  int64_t groups() const { return (rows + group() - 1) / group(); }
  size_t vector_bytes() const { return size_t(channels) * sizeof(float); }
  /// `row` of x or of a tensor like it.
  template <typename Byte>
  Byte* at(Byte* tensor, int64_t row) const {
    return tensor + row * channels * value_bytes;
  }

  /// body(group, first row, rows) for each chunk, groups divided among threads. `backwards`: each thread's last group comes first, which the
  /// pass before ended with and left in the caches.
  template <typename Body>
  void for_chunks(bool backwards, const Body& body) const {
    const int64_t grain = 1 + kGrainValues / (group() * channels);
    parallel_for(groups(), grain, threads, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t which = backwards ? begin + end - 1 - i : i, last = std::min(rows, (which + 1) * group());
        for (int64_t row = which * group(); row < last; row += chunk) body(which, row, std::min(chunk, last - row));
      }
    });
  }

  float scale_of(float weight, float var) const { return float(double(weight) / std::sqrt(double(var) + eps)); }
};

class RowsTraining final : public Executable {
 public:
  RowsTraining(NormedRows of, const Operation& operation, ScratchPlan& scratch) : of_(of) {
    x_ = operation.input_buffer("x");
    if (of_.affine) weight_ = operation.input_buffer("weight"), bias_ = operation.input_buffer("bias");
    y_ = operation.output_buffer();
    mean_ = operation.output_buffer(1);
    var_ = operation.output_buffer(2);
    means_ = scratch.take(of_.vector_bytes() * size_t(of_.groups()));
    squares_ = scratch.take(of_.vector_bytes() * size_t(of_.groups()));
    totals_ = scratch.take(2 * sizeof(double) * size_t(of_.channels));
    scale_ = scratch.take(of_.vector_bytes());
    shift_ = of_.relu ? operation.output_buffer(3) : scratch.take(of_.vector_bytes());
  }

  void run(void* const* buffers, void* scratch) override {
    set_team_size(of_.threads);
    const auto floats = [&](const BufferRef& at) { return reinterpret_cast<float*>(at.resolve(buffers, scratch)); };
    const char* const x = x_.resolve(buffers, scratch);
    char* const y = y_.resolve(buffers, scratch);
    float *const means = floats(means_), *const squares = floats(squares_), *const mean = floats(mean_),
                 *const var = floats(var_), *const scale = floats(scale_), *const shift = floats(shift_);
    const int64_t channels = of_.channels;
    of_.for_chunks(false, [&](int64_t group, int64_t row, int64_t rows) {
      of_.kernels->statistics(of_.at(x, row), rows, channels, row - group * of_.group(), means + group * channels,
                              squares + group * channels);
    });
    const float *const weight = of_.affine ? floats(weight_) : nullptr, *const bias = of_.affine ? floats(bias_) : nullptr;
    double *const average = reinterpret_cast<double*>(totals_.resolve(buffers, scratch)), *const sum = average + channels;
    std::fill_n(average, 2 * channels, 0);
    for (int64_t group = 0; group < of_.groups(); ++group) {
      const double before = double(group * of_.group()), now = double(std::min(of_.rows - group * of_.group(), of_.group())),
                   share = now / (before + now), both = before * now / (before + now);
      for (int64_t c = 0; c < channels; ++c) {
        const double d = means[group * channels + c] - average[c];
        average[c] += d * share;
        sum[c] += squares[group * channels + c] + d * d * both;
      }
    }
    for (int64_t c = 0; c < channels; ++c) {
      mean[c] = float(average[c]);
      var[c] = float(sum[c] / double(of_.rows));
      scale[c] = of_.scale_of(weight ? weight[c] : 1, var[c]);
      shift[c] = bias ? bias[c] : 0;
    }
    of_.for_chunks(true, [&](int64_t, int64_t row, int64_t rows) {
      of_.kernels->normalise(of_.at(x, row), of_.at(y, row), rows, channels, {mean, scale, shift}, of_.relu);
    });
  }

 private:
  NormedRows of_;
  BufferRef x_, weight_, bias_, y_, mean_, var_, means_, squares_, totals_, scale_, shift_;
};

class RowsGradient final : public Executable {
 public:
  RowsGradient(NormedRows of, const Operation& operation, ScratchPlan& scratch) : of_(of) {
    x_ = operation.input_buffer("x");
    dy_ = operation.input_buffer("dy");
    mean_ = operation.input_buffer("mean");
    var_ = operation.input_buffer("var");
    if (of_.relu) shift_ = operation.input_buffer("workspace");
    dx_ = operation.output_buffer();
    if (of_.affine) {
      weight_ = operation.input_buffer("weight");
      dweight_ = operation.output_buffer(1);
      dbias_ = operation.output_buffer(2);
    }
    sums_ = scratch.take(of_.vector_bytes() * size_t(of_.groups()));
    products_ = scratch.take(of_.vector_bytes() * size_t(of_.groups()));
    totals_ = scratch.take(2 * sizeof(double) * size_t(of_.channels));
    scale_ = scratch.take(of_.vector_bytes());
    lift_ = scratch.take(of_.vector_bytes());
    tilt_ = scratch.take(of_.vector_bytes());
  }

  void run(void* const* buffers, void* scratch) override {
    set_team_size(of_.threads);
    const auto floats = [&](const BufferRef& at) { return reinterpret_cast<float*>(at.resolve(buffers, scratch)); };
    const char *const x = x_.resolve(buffers, scratch), *const dy = dy_.resolve(buffers, scratch);
    char* const dx = dx_.resolve(buffers, scratch);
    float *const sums = floats(sums_), *const products = floats(products_), *const scale = floats(scale_),
                 *const lift = floats(lift_), *const tilt = floats(tilt_);
    const float *const mean = floats(mean_), *const var = floats(var_), *const weight = of_.affine ? floats(weight_) : nullptr;
    const int64_t channels = of_.channels;
    for (int64_t c = 0; c < channels; ++c) scale[c] = of_.scale_of(weight ? weight[c] : 1, var[c]);
    const norm::Affine affine = {mean, scale,
                                 of_.relu ? floats(shift_) : mean};  // without a ReLU no sum reads the shift's values
    of_.for_chunks(false, [&](int64_t group, int64_t row, int64_t rows) {
      float *const sum = sums + group * channels, *const product = products + group * channels;
      if (row == group * of_.group()) {
        std::memset(sum, 0, of_.vector_bytes());
        std::memset(product, 0, of_.vector_bytes());
      }
      of_.kernels->add_sums(of_.at(x, row), of_.at(dy, row), rows, channels, affine, of_.relu, sum, product);
    });
    double *const sum = reinterpret_cast<double*>(totals_.resolve(buffers, scratch)), *const product = sum + channels;
    std::fill_n(sum, 2 * channels, 0);
    for (int64_t group = 0; group < of_.groups(); ++group)
      for (int64_t c = 0; c < channels; ++c) {
        sum[c] += sums[group * channels + c];
        product[c] += products[group * channels + c];
      }
    for (int64_t c = 0; c < channels; ++c) {
      const double spread = double(var[c]) + of_.eps;
      if (of_.affine) {
        floats(dweight_)[c] = float(product[c] / std::sqrt(spread));
        floats(dbias_)[c] = float(sum[c]);
      }
      lift[c] = float(sum[c] / double(of_.rows));
      tilt[c] = float(product[c] / double(of_.rows) / spread);
    }
    of_.for_chunks(true, [&](int64_t, int64_t row, int64_t rows) {
      of_.kernels->gradient(of_.at(x, row), of_.at(dy, row), of_.at(dx, row), rows, channels, affine, lift, tilt, of_.relu);
    });
  }

 private:
  NormedRows of_;
  BufferRef x_, dy_, mean_, var_, weight_, shift_, dx_, dweight_, dbias_, sums_, products_, totals_, scale_, lift_, tilt_;
};

const norm::KernelTable* kernels_for(const DnnlDesc& x) { return norm::kernels_of(dtype_of(x), x.dims()[1]); }

template <typename Kind>
Prepared finish(const Operation& operation, const BatchNorm& norm, const BatchNormLayout& layout, Prepared prepared) {
  const norm::KernelTable* const kernels = kernels_for(layout.desc);
  ScratchPlan scratch;
  prepared.executable = std::make_unique<Kind>(NormedRows(operation, norm, kernels), operation, scratch);
  prepared.scratch_bytes = scratch.bytes();
  prepared.implementation = std::string("rows of channels, ") + kernels->instructions;
  prepared.reason = "two passes over x, whose channels are last, read it less often than the library's three";
  return prepared;
}

}  // namespace

bool batch_norm_rows_fit(const BatchNorm& norm, const DnnlDesc& x) {
  if (!kernels_for(x)) return false;
  return same_layout(x, channels_last_desc(norm.dims, x.data_type())) ||
         (norm.dims.size() == 4 && same_layout(x, pixels_desc(norm.dims, x.data_type())));
}

Prepared prepare_batch_norm_rows(const Operation& operation, const BatchNorm& norm, const BatchNormLayout& layout) {
  Prepared prepared = operation.prepared();
  prepared.inputs[size_t(operation.find("x"))] = prepared.outputs[0] = layout.tensor;
  // The gradient finds out anew where the ReLU is open: from x, its statistics and the bias, which alone it wouldn't have.
  if (norm.relu) give_workspace(operation, 3, layout.desc, size_t(norm.dims[1]) * sizeof(float), prepared);
  return finish<RowsTraining>(operation, norm, layout, std::move(prepared));
}

Prepared prepare_batch_norm_rows_backward(const Operation& operation, const BatchNorm& norm, const BatchNormLayout& layout) {
  Prepared prepared = operation.prepared();
  if (norm.relu) take_workspace(operation, Op::batch_norm_train, prepared);
  prepared.inputs[size_t(operation.find("x"))] = prepared.inputs[size_t(operation.find("dy"))] = prepared.outputs[0] =
      layout.tensor;
  prepared.in_place.push_back({operation.find("dy"), 0});
  return finish<RowsGradient>(operation, norm, layout, std::move(prepared));
}

}  // namespace sheaf
