#include "runtime/cpu/ops/rnn_rows.h"

#include "runtime/cpu/ops/rnn_cell.h"
#include "runtime/cpu/recurrent/kernels.h"

#include <algorithm>

namespace sheaf {
namespace {

/// A sequence's memory: values from one element to the next, and from one row to the next.
struct Sequence {
  BufferRef at;
  int64_t element, row;
};

/// One layer and direction.
struct Cell {
  Sequence x, y;
  int64_t width;  ///< of x
  bool reverse;
  BufferRef weight_ih, weight_hh;
  BiasSum bias;
  size_t state;  ///< bytes before its part of the initial and final states
};

class RnnRows final : public Executable {
 public:
  RnnRows(const Operation& operation, const RnnShape& s, ScratchPlan& scratch)
      : kernels_(recurrent::kernels_of(s.hidden)), s_(s), threads_(operation.request.threads) {
    h_ = operation.output_buffer(1);
    if (operation.has("h0")) h0_ = operation.input_buffer("h0");
    if (s_.gates == 4) c_ = operation.output_buffer(2);
    if (operation.has("c0")) c0_ = operation.input_buffer("c0");
    zeros_ = scratch.take(size_t(s_.hidden) * sizeof(float));
    // One pitch for all layers: threads come to the next layer at different times.
    for (int64_t layer = 0; layer < s_.layers; ++layer) x_pitch_ = std::max(x_pitch_, pitch(s_.width_into(layer)));
    x_rows_ = scratch.take(size_t(s_.rows * x_pitch_) * sizeof(float));
    for (BufferRef& rows : h_rows_) rows = scratch.take(size_t(s_.rows * pitch(s_.hidden)) * sizeof(float));
    const int64_t y_width = s_.directions * s_.hidden;
    // Between layers, sequences alternate between two buffers.
    BufferRef between[2];
    for (int64_t i = 0; i < std::min<int64_t>(s_.layers - 1, 2); ++i)
      between[i] = scratch.take(size_t(s_.steps * s_.rows * y_width) * sizeof(float));
    const auto given = [&](BufferRef at, int64_t width) -> Sequence {
      return s_.batch_first ? Sequence{at, width, s_.steps * width} : Sequence{at, s_.rows * width, width};
    };
    const auto made = [&](int64_t layer) -> Sequence {
      return layer + 1 == s_.layers ? given(operation.output_buffer(), y_width)
                                    : Sequence{between[layer % 2], s_.rows * y_width, y_width};
    };
    for (int64_t layer = 0; layer < s_.layers; ++layer)
      for (int64_t direction = 0; direction < s_.directions; ++direction) {
        const auto operand = [&](const char* name) { return operation.input_buffer(RnnShape::role(name, layer, direction)); };
        Sequence y = made(layer);
        y.at.offset += size_t(direction * s_.hidden) * sizeof(float);
        const BufferRef sum = scratch.take(size_t(rnn_biases(s_.gates) * s_.hidden) * sizeof(float));
        cells_.push_back({layer == 0 ? given(operation.input_buffer("x"), s_.features) : made(layer - 1),
                          y,
                          s_.width_into(layer),
                          direction == 1,
                          operand("weight_ih"),
                          operand("weight_hh"),
                          {operand("bias_ih"), operand("bias_hh"), sum, s_.hidden, s_.gates, s_.bias},
                          size_t((layer * s_.directions + direction) * s_.rows * s_.hidden) * sizeof(float)});
      }
  }

  void run(void* const* buffers, void* scratch) override {
    std::fill_n(floats(zeros_, buffers, scratch), s_.hidden, 0.f);
    for (const Cell& cell : cells_) cell.bias.run(buffers, scratch);
    parallel_for(s_.rows, kLeastRows, threads_, [&](int64_t begin, int64_t end) {
      for (const Cell& cell : cells_) run_rows(cell, begin, end, buffers, scratch);
    });
  }

 private:
  /// Values from one row to the next where rows are gathered: those of a kernel's block must not meet in one set of the first cache, as
  /// rows a power of 2 apart do.
  static int64_t pitch(int64_t width) { return (width + 15) / 16 * 16 + 16; }

  static void copy_rows(int64_t rows, int64_t width, const float* from, int64_t from_row, float* to, int64_t to_row) {
    for (int64_t row = 0; row < rows; ++row) std::copy_n(from + row * from_row, width, to + row * to_row);
  }

  static float* floats(const BufferRef& at, void* const* buffers, void* scratch) {
    return reinterpret_cast<float*>(at.resolve(buffers, scratch));
  }

  void run_rows(const Cell& cell, int64_t begin, int64_t end, void* const* buffers, void* scratch) const {
    const int64_t rows = end - begin, hidden = s_.hidden, h_pitch = pitch(hidden);
    const auto state = [&](const std::optional<BufferRef>& at) {
      return at ? floats({at->buffer, at->offset + cell.state}, buffers, scratch) + begin * hidden : nullptr;
    };
    float *const h = state(h_), *const c = state(c_);
    if (c) {
      if (const float* const c0 = state(c0_)) std::copy_n(c0, rows * hidden, c);
      else std::fill_n(c, rows * hidden, 0.f);
    }
    float* const x_rows = floats(x_rows_, buffers, scratch) + begin * x_pitch_;
    float* const h_rows[] = {floats(h_rows_[0], buffers, scratch) + begin * h_pitch,
                             floats(h_rows_[1], buffers, scratch) + begin * h_pitch};
    const float *const weight_hh = floats(cell.weight_hh, buffers, scratch), *const h0 = state(h0_);
    recurrent::Step step = {
        .rows = rows,
        .hidden = hidden,
        .x = {x_rows, x_pitch_, cell.width, floats(cell.weight_ih, buffers, scratch)},
        .h = h0 ? recurrent::Input{h0, hidden, hidden, weight_hh}
                : recurrent::Input{floats(zeros_, buffers, scratch), 0, 0, weight_hh},
        .bias = floats(cell.bias.sum, buffers, scratch),
        .c = c,
        .y = nullptr,
        .y_row = h_pitch,
    };
    const float* const x = floats(cell.x.at, buffers, scratch) + begin * cell.x.row;
    float* const y = floats(cell.y.at, buffers, scratch) + begin * cell.y.row;
    const auto make = s_.gates == 4 ? kernels_->lstm : kernels_->gru;
    for (int64_t i = 0; i < s_.steps; ++i) {
      const int64_t element = cell.reverse ? s_.steps - 1 - i : i;
      copy_rows(rows, cell.width, x + element * cell.x.element, cell.x.row, x_rows, x_pitch_);
      step.y = h_rows[i % 2];
      make(step);
      copy_rows(rows, hidden, step.y, h_pitch, y + element * cell.y.element, cell.y.row);
      step.h = {step.y, h_pitch, hidden, weight_hh};
    }
    copy_rows(rows, hidden, step.y, h_pitch, h, hidden);
  }

  const recurrent::KernelTable* kernels_;
  RnnShape s_;
  int64_t x_pitch_ = 0;
  int threads_;
  std::optional<BufferRef> h_, h0_, c_, c0_;
  BufferRef zeros_, x_rows_, h_rows_[2];  ///< x_rows_, h_rows_: an element of the sequence and its states, gathered
  std::vector<Cell> cells_;
};

/// [hidden / lanes, width, gates, lanes], as the kernels read it.
DnnlDesc panels_desc(const RnnShape& s, int64_t width, int64_t lanes) {
  const int64_t depth = s.gates * lanes;
  DnnlDesc desc = plain_desc({1, 1, width, s.gates, s.hidden});
  dnnl_blocking_desc_t& blocking = desc.data.format_desc.blocking;
  constexpr int first = 2, unit = 4;
  const int64_t strides[] = {depth, lanes, width * depth};
  std::copy(std::begin(strides), std::end(strides), blocking.strides + first);
  blocking.inner_nblks = 1;
  blocking.inner_blks[0] = lanes;
  blocking.inner_idxs[0] = unit;
  return desc;
}

}  // namespace

bool rnn_rows_fit(const RnnShape& shape) { return shape.gates != 1 && recurrent::kernels_of(shape.hidden); }

Prepared prepare_rnn_rows(const Operation& operation, const RnnShape& shape) {
  const recurrent::KernelTable& kernels = *recurrent::kernels_of(shape.hidden);
  Prepared prepared = operation.prepared();
  for (int64_t layer = 0; layer < shape.layers; ++layer)
    for (int64_t direction = 0; direction < shape.directions; ++direction)
      for (const char* name : {"weight_ih", "weight_hh"}) {
        const std::string role = RnnShape::role(name, layer, direction);
        const std::vector<int64_t>& dims = operation.operand(role).dims;
        prepared.inputs[size_t(operation.find(role))] = rnn_weight(shape, dims, panels_desc(shape, dims[1], kernels.lanes));
      }
  ScratchPlan scratch;
  prepared.executable = std::make_unique<RnnRows>(operation, shape, scratch);
  prepared.scratch_bytes = scratch.bytes();
  prepared.implementation = std::string("rows, ") + kernels.instructions;
  prepared.reason = "each thread takes some of the rows through the whole sequence; gates never leave their registers";
  return prepared;
}

}  // namespace sheaf
