// LSTM and GRU: one oneDNN primitive for each layer and direction.
//
// Gates: PyTorch's LSTM has (i, f, g, o), as oneDNN. PyTorch's GRU has (r, z, n), oneDNN's (z, r, n), and
// PyTorch's applies the reset gate after the product, which oneDNN calls linear-before-reset; its fourth bias
// is then b_hn.
#include "runtime/cpu/ops/rnn_shape.h"

#include <algorithm>
#include <cstring>

namespace sheaf {
namespace {

using dnnl::lbr_gru_forward;
using dnnl::lstm_forward;

/// PyTorch has two biases, oneDNN one: their sum, made in scratch on each run since a bias may change between
/// runs. Without biases it is 0 (oneDNN 2 has no recurrent primitive without one).
struct BiasSum {
  BufferRef ih, hh, sum;
  int64_t hidden;
  bool gru, present;

  void run(void* const* buffers, void* scratch) const {
    if (!present) {
      std::memset(sum.resolve(buffers, scratch), 0, 4 * hidden * sizeof(float));
      return;
    }
    const auto* a = reinterpret_cast<const float*>(ih.resolve(buffers, scratch));
    const auto* b = reinterpret_cast<const float*>(hh.resolve(buffers, scratch));
    auto* out = reinterpret_cast<float*>(sum.resolve(buffers, scratch));
    const int64_t h = hidden;
    if (!gru) {
      for (int64_t i = 0; i < 4 * h; ++i) out[i] = a[i] + b[i];
      return;
    }
    for (int64_t i = 0; i < h; ++i) {
      out[i] = a[h + i] + b[h + i];   // z
      out[h + i] = a[i] + b[i];       // r
      out[2 * h + i] = a[2 * h + i];  // n, from the input
      out[3 * h + i] = b[2 * h + i];  // n, from the state: multiplied by r
    }
  }
};

class RnnExecutable final : public Executable {
 public:
  RnnExecutable(std::vector<BiasSum> biases, std::vector<DnnlCall> calls, int threads)
      : biases_(std::move(biases)), calls_(std::move(calls)), threads_(threads) {}
  void run(void* const* buffers, void* scratch) override {
    set_team_size(threads_);
    for (const BiasSum& bias : biases_) bias.run(buffers, scratch);
    for (DnnlCall& call : calls_) call.run(buffers, scratch);
  }

 private:
  std::vector<BiasSum> biases_;
  std::vector<DnnlCall> calls_;
  int threads_;
};

/// A sequence of length 0 (an empty chunk along the time dimension): states pass through.
class PassStates final : public Executable {
 public:
  struct State {
    int from, to;  ///< buffers; from -1: zeros
    size_t bytes;
  };
  explicit PassStates(std::vector<State> states) : states_(std::move(states)) {}
  void run(void* const* buffers, void*) override {
    for (const State& state : states_) {
      if (state.from < 0) std::memset(buffers[state.to], 0, state.bytes);
      else if (buffers[state.from] != buffers[state.to])
        std::memcpy(buffers[state.to], buffers[state.from], state.bytes);
    }
  }

 private:
  std::vector<State> states_;
};

Prepared prepare_empty_sequence(const Operation& operation) {
  Prepared prepared = operation.prepared();
  std::vector<PassStates::State> states;
  const char* roles[] = {"h0", "c0"};
  for (size_t i = 1; i < prepared.outputs.size(); ++i)
    states.push_back(
        {operation.find(roles[i - 1]), operation.output_buffer(i).buffer, prepared.outputs[i].bytes});
  prepared.executable = std::make_unique<PassStates>(std::move(states));
  prepared.implementation = "loop";
  return prepared;
}

/// Everything one layer and direction needs to be described to oneDNN.
struct Cell {
  dnnl::rnn_direction direction;
  DnnlDesc x, state_in, weight_ih, weight_hh, bias, y, state_out;
};

lstm_forward::primitive_desc describe_lstm(const Cell& c) {
  return {lstm_forward::desc(dnnl::prop_kind::forward_inference, c.direction, c.x, c.state_in, c.state_in,
                             c.weight_ih, c.weight_hh, c.bias, c.y, c.state_out, c.state_out),
          step_attributes(), dnnl_engine()};
}

lbr_gru_forward::primitive_desc describe_gru(const Cell& c) {
  return {lbr_gru_forward::desc(dnnl::prop_kind::forward_inference, c.direction, c.x, c.state_in, c.weight_ih,
                                c.weight_hh, c.bias, c.y, c.state_out),
          step_attributes(), dnnl_engine()};
}

/// Adds the pieces of one step, layer by layer.
class RnnBuilder {
 public:
  RnnBuilder(const Operation& operation, const RnnShape& shape)
      : operation_(operation), s_(shape), prepared_(operation.prepared()) {
    // Between layers, sequences alternate between two buffers.
    for (int64_t i = 0; i < std::min<int64_t>(s_.layers - 1, 2); ++i)
      between_[i] = scratch_.take(s_.steps * s_.rows * s_.directions * s_.hidden * sizeof(float));
    for (int64_t i = 0; i < s_.layers * s_.directions; ++i)
      bias_sums_.push_back(scratch_.take(4 * s_.hidden * sizeof(float)));
  }

  void add(int64_t layer, int64_t direction) {
    const bool first = layer == 0, last = layer + 1 == s_.layers, gru = s_.gates == 3;
    const int64_t hidden = s_.hidden, y_width = s_.directions * hidden;
    auto dense = [&](int64_t width) { return plain_desc({s_.steps, s_.rows, width}); };
    Cell cell;
    cell.direction = direction ? dnnl::rnn_direction::unidirectional_right2left
                               : dnnl::rnn_direction::unidirectional_left2right;
    cell.x = first ? s_.sequence(s_.features) : dense(y_width);
    // This direction's columns of y.
    DnnlDesc whole = last ? s_.sequence(y_width) : dense(y_width);
    const auto& strides = whole.data.format_desc.blocking.strides;
    cell.y = DnnlDesc({s_.steps, s_.rows, hidden}, dnnl::memory::data_type::f32,
                      DnnlDims{strides[0], strides[1], 1});
    cell.state_out = plain_desc({1, 1, s_.rows, hidden});
    if (operation_.has("h0")) cell.state_in = cell.state_out;
    cell.weight_ih = any_desc({1, 1, s_.width_into(layer), s_.gates, hidden});
    cell.weight_hh = any_desc({1, 1, hidden, s_.gates, hidden});
    cell.bias = plain_desc({1, 1, 4, hidden});  // of a GRU too: linear-before-reset has a fourth

    const size_t state_offset = size_t(layer * s_.directions + direction) * s_.rows * hidden * sizeof(float);
    auto finish = [&](const auto& pd, dnnl::primitive primitive) {
      want_weight(RnnShape::role("weight_ih", layer, direction), pd.weights_layer_desc());
      want_weight(RnnShape::role("weight_hh", layer, direction), pd.weights_iter_desc());
      DnnlCall call(std::move(primitive));
      BufferRef y = last ? operation_.output_buffer() : between_[layer % 2];
      y.offset += direction * hidden * sizeof(float);
      call.argument(DNNL_ARG_SRC_LAYER, cell.x,
                    first ? operation_.input_buffer("x") : between_[(layer - 1) % 2])
          .argument(DNNL_ARG_WEIGHTS_LAYER, pd.weights_layer_desc(),
                    operation_.input_buffer(RnnShape::role("weight_ih", layer, direction)))
          .argument(DNNL_ARG_WEIGHTS_ITER, pd.weights_iter_desc(),
                    operation_.input_buffer(RnnShape::role("weight_hh", layer, direction)))
          .argument(DNNL_ARG_DST_LAYER, cell.y, y)
          .argument(DNNL_ARG_DST_ITER, cell.state_out, {operation_.output_buffer(1).buffer, state_offset});
      if (operation_.has("h0"))
        call.argument(DNNL_ARG_SRC_ITER, cell.state_in, {operation_.find("h0"), state_offset});
      if (!gru) {
        call.argument(DNNL_ARG_DST_ITER_C, cell.state_out,
                      {operation_.output_buffer(2).buffer, state_offset});
        if (operation_.has("c0"))
          call.argument(DNNL_ARG_SRC_ITER_C, cell.state_in, {operation_.find("c0"), state_offset});
      }
      const BufferRef sum = bias_sums_[layer * s_.directions + direction];
      biases_.push_back({operation_.input_buffer(RnnShape::role("bias_ih", layer, direction)),
                         operation_.input_buffer(RnnShape::role("bias_hh", layer, direction)), sum, hidden,
                         gru, s_.bias});
      call.argument(DNNL_ARG_BIAS, cell.bias, sum);
      const DnnlDesc scratchpad = pd.scratchpad_desc();
      call.argument(DNNL_ARG_SCRATCHPAD, scratchpad, {BufferRef::scratch, scratch_.bytes()});
      scratchpad_bytes_ = std::max(scratchpad_bytes_, scratchpad.get_size());
      calls_.push_back(std::move(call));
      prepared_.implementation = pd.impl_info_str();
    };
    if (gru) {
      const auto pd = describe_gru(cell);
      finish(pd, lbr_gru_forward(pd));
    } else {
      const auto pd = describe_lstm(cell);
      finish(pd, lstm_forward(pd));
    }
  }

  Prepared take() {
    prepared_.scratch_bytes = scratch_.bytes() + scratchpad_bytes_;
    prepared_.executable =
        std::make_unique<RnnExecutable>(std::move(biases_), std::move(calls_), operation_.request.threads);
    return std::move(prepared_);
  }

 private:
  /// PyTorch's weight [gates · H, width] is oneDNN's [1, 1, width, gates, H] with other strides.
  void want_weight(const std::string& role, const DnnlDesc& wanted) {
    const auto& dims = operation_.operand(role).dims;
    const int64_t width = dims[1], all = dims[0] * dims[1];
    const DnnlDesc plain({1, 1, width, s_.gates, s_.hidden}, dnnl::memory::data_type::f32,
                         DnnlDims{all, all, 1, s_.hidden * width, width});
    prepared_.inputs[operation_.find(role)] = dnnl_tensor(
        dims, wanted, plain, "ldigo", s_.gates == 3 ? std::vector<int>{1, 0, 2} : std::vector<int>{});
  }

  const Operation& operation_;
  const RnnShape& s_;
  Prepared prepared_;
  ScratchPlan scratch_;
  BufferRef between_[2];
  std::vector<BufferRef> bias_sums_;
  size_t scratchpad_bytes_ = 0;  ///< behind the rest, for one primitive after the other
  std::vector<BiasSum> biases_;
  std::vector<DnnlCall> calls_;
};

Prepared prepare_rnn(const Operation& operation, int64_t gates) {
  const RnnShape shape = rnn_shape(operation, gates);
  if (shape.steps == 0) return prepare_empty_sequence(operation);
  RnnBuilder builder(operation, shape);
  for (int64_t layer = 0; layer < shape.layers; ++layer)
    for (int64_t direction = 0; direction < shape.directions; ++direction) builder.add(layer, direction);
  return builder.take();
}

}  // namespace

Prepared prepare_lstm(const Operation& operation) { return prepare_rnn(operation, 4); }

Prepared prepare_gru(const Operation& operation) { return prepare_rnn(operation, 3); }

}  // namespace sheaf
