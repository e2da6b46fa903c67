// LSTM, GRU and RNN: one oneDNN primitive for each layer and direction, or this project's kernels. In training they keep a workspace.
#include <algorithm>
#include <cstring>

#include "runtime/cpu/ops/candidate.h"
#include "runtime/cpu/ops/choice.h"
#include "runtime/cpu/ops/rnn_cell.h"
#include "runtime/cpu/ops/rnn_rows.h"
#include "runtime/cpu/ops/workspace.h"

namespace sheaf {
namespace {

auto primitive_of(const dnnl::lstm_forward::primitive_desc& pd) { return dnnl::lstm_forward(pd); }
auto primitive_of(const dnnl::lbr_gru_forward::primitive_desc& pd) { return dnnl::lbr_gru_forward(pd); }
auto primitive_of(const dnnl::vanilla_rnn_forward::primitive_desc& pd) { return dnnl::vanilla_rnn_forward(pd); }

class RnnExecutable final : public Executable {
 public:
  RnnExecutable(std::vector<Zero> zeros, std::vector<BiasSum> biases, std::vector<DnnlCall> calls, int threads)
      : zeros_(std::move(zeros)), biases_(std::move(biases)), calls_(std::move(calls)), threads_(threads) {}
  void run(void* const* buffers, void* scratch) override {
    set_team_size(threads_);
    for (const Zero& zero : zeros_) zero.run(buffers, scratch);
    for (const BiasSum& bias : biases_) bias.run(buffers, scratch);
    for (DnnlCall& call : calls_) call.run(buffers, scratch);
  }

 private:
  std::vector<Zero> zeros_;
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
      else if (buffers[state.from] != buffers[state.to]) std::memcpy(buffers[state.to], buffers[state.from], state.bytes);
    }
  }

 private:
  std::vector<State> states_;
};

Prepared prepare_empty_sequence(const Operation& operation, size_t results) {
  Prepared prepared = operation.prepared();
  std::vector<PassStates::State> states;
  const char* roles[] = {"h0", "c0"};
  for (size_t i = 1; i < results; ++i)
    states.push_back({operation.find(roles[i - 1]), operation.output_buffer(i).buffer, prepared.outputs[i].bytes});
  if (results < prepared.outputs.size()) give_workspace(operation, results, DnnlDesc(), 1, prepared);
  prepared.executable = std::make_unique<PassStates>(std::move(states));
  take_loop(prepared, "a sequence of length 0: the states pass through");
  return prepared;
}

/// Adds the pieces of one step, layer by layer.
class RnnBuilder {
 public:
  RnnBuilder(const Operation& operation, const RnnShape& shape, bool training)
      : operation_(operation),
        s_(shape),
        training_(training),
        prepared_(operation.prepared()),
        workspace_(shape, operation.output_buffer(workspace_output())) {
    // Between layers, sequences alternate between two buffers; in training they are kept.
    for (int64_t i = 0; !training_ && i < std::min<int64_t>(s_.layers - 1, 2); ++i)
      between_[i] = scratch_.take(s_.steps * s_.rows * s_.directions * s_.hidden * sizeof(float));
    for (int64_t i = 0; i < s_.layers * s_.directions; ++i)
      bias_sums_.push_back(scratch_.take(rnn_biases(s_.gates) * s_.hidden * sizeof(float)));
    x_ = operation_.input_buffer("x");
    if (!training_) return;
    if (!operation_.has("h0")) {
      const size_t state = size_t(s_.rows * s_.hidden) * sizeof(float);
      zero_state_ = scratch_.take(state);
      zeros_.push_back({zero_state_, state});
    }
    if (copies_x(s_)) {
      x_ = scratch_.take(size_t(s_.steps * s_.rows * s_.features) * sizeof(float));
      calls_.push_back(sequence_copy(s_, true, operation_.input_buffer("x"), x_));
    }
  }

  void add(int64_t layer, int64_t direction) {
    const bool first = layer == 0, last = layer + 1 == s_.layers;
    const int64_t hidden = s_.hidden;
    RnnCell cell = training_ ? rnn_training_cell(s_, layer, direction) : rnn_cell(s_, layer, direction, operation_.has("h0"));
    if (s_.relu && !training_) {
      // Which results are NaN is found out from the weights (KeepingRecurrent), and oneDNN can't undo its packing, which it does only
      // for inference.
      const auto unpacked = describe_rnn(cell, dnnl::prop_kind::forward_training);
      cell.weight_ih = unpacked.weights_layer_desc();
      cell.weight_hh = unpacked.weights_iter_desc();
    }
    const size_t state_offset = size_t(layer * s_.directions + direction) * s_.rows * hidden * sizeof(float);
    const auto kind = training_ ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
    describe_cell(s_.gates, cell, kind, [&](const auto& pd) {
      want(RnnShape::role("weight_ih", layer, direction), pd.weights_layer_desc());
      want(RnnShape::role("weight_hh", layer, direction), pd.weights_iter_desc());
      DnnlCall call(primitive_of(pd));
      BufferRef y = last ? operation_.output_buffer() : between(layer);
      y.offset += direction * hidden * sizeof(float);
      call.argument(DNNL_ARG_SRC_LAYER, cell.x, first ? x_ : between(layer - 1))
          .argument(DNNL_ARG_WEIGHTS_LAYER, pd.weights_layer_desc(),
                    operation_.input_buffer(RnnShape::role("weight_ih", layer, direction)))
          .argument(DNNL_ARG_WEIGHTS_ITER, pd.weights_iter_desc(),
                    operation_.input_buffer(RnnShape::role("weight_hh", layer, direction)))
          .argument(DNNL_ARG_DST_LAYER, cell.y, y)
          .argument(DNNL_ARG_DST_ITER, cell.state_out, {operation_.output_buffer(1).buffer, state_offset});
      call.argument(DNNL_ARG_SRC_ITER, cell.state_in, state("h0", state_offset));
      if (s_.gates == 4) {
        call.argument(DNNL_ARG_DST_ITER_C, cell.state_out, {operation_.output_buffer(2).buffer, state_offset});
        call.argument(DNNL_ARG_SRC_ITER_C, cell.state_in, state("c0", state_offset));
      }
      const BufferRef sum = bias_sums_[layer * s_.directions + direction];
      biases_.push_back({operation_.input_buffer(RnnShape::role("bias_ih", layer, direction)),
                         operation_.input_buffer(RnnShape::role("bias_hh", layer, direction)), sum, hidden, s_.gates, s_.bias});
      call.argument(DNNL_ARG_BIAS, cell.bias, sum);
      if (training_) call.argument(DNNL_ARG_WORKSPACE, pd.workspace_desc(), workspace_.take(pd.workspace_desc().get_size()));
      const DnnlDesc scratchpad = pd.scratchpad_desc();
      call.argument(DNNL_ARG_SCRATCHPAD, scratchpad, {BufferRef::scratch, scratch_.bytes()});
      scratchpad_bytes_ = std::max(scratchpad_bytes_, scratchpad.get_size());
      calls_.push_back(std::move(call));
      take_library(operation_, pd, prepared_, "one primitive for each layer and direction");
    });
  }

  Prepared take() {
    if (training_) give_workspace(operation_, workspace_output(), DnnlDesc(), workspace_.bytes(), prepared_);
    prepared_.scratch_bytes = scratch_.bytes() + scratchpad_bytes_;
    prepared_.executable =
        std::make_unique<RnnExecutable>(std::move(zeros_), std::move(biases_), std::move(calls_), operation_.request.threads);
    return std::move(prepared_);
  }

 private:
  size_t workspace_output() const { return s_.gates == 4 ? 3 : 2; }  // behind y, h and an LSTM's c

  BufferRef between(int64_t layer) const { return training_ ? workspace_.between(layer) : between_[layer % 2]; }

  /// Where cells have an initial state (else the argument is left out).
  BufferRef state(const char* role, size_t offset) const {
    return operation_.has(role) ? BufferRef{operation_.find(role), offset} : zero_state_;
  }

  void want(const std::string& role, const DnnlDesc& weight) {
    prepared_.inputs[operation_.find(role)] = rnn_weight(s_, operation_.operand(role).dims, weight);
  }

  const Operation& operation_;
  const RnnShape& s_;
  bool training_;
  Prepared prepared_;
  RnnWorkspace workspace_;
  ScratchPlan scratch_;
  BufferRef between_[2];
  BufferRef x_, zero_state_;
  std::vector<BufferRef> bias_sums_;
  size_t scratchpad_bytes_ = 0;  ///< behind the rest, for one primitive after the other
  std::vector<Zero> zeros_;
  std::vector<BiasSum> biases_;
  std::vector<DnnlCall> calls_;
};

Prepared prepare_by_primitives(const Operation& operation, const RnnShape& shape, bool training) {
  RnnBuilder builder(operation, shape, training);
  for (int64_t layer = 0; layer < shape.layers; ++layer)
    for (int64_t direction = 0; direction < shape.directions; ++direction) builder.add(layer, direction);
  return builder.take();
}

/// What `threads` take for a rough time: products, or, of few rows, fetching the weights anew for each element of the sequence.
double recurrent_seconds(const RnnShape& s, int64_t threads) {
  constexpr double kRate = 55e9;   ///< a thread's multiplications a second
  constexpr double kFetch = 75e9;  ///< bytes a second, from a cache that threads share
  double weights = 0;              ///< of all cells
  for (int64_t layer = 0; layer < s.layers; ++layer)
    weights += double((s.width_into(layer) + s.hidden) * s.directions * s.gates * s.hidden);
  return double(s.steps) * std::max(weights * double(s.rows) / kRate / double(threads), weights * sizeof(float) / kFetch);
}

double primitive_seconds(const Operation& operation, const RnnShape& s) {
  return recurrent_seconds(s, operation.request.threads);
}

// By rows as multiples of the primitives' time, one thread of a Zen 4:
//
//   rows                                                        1     2     4     8     16    32    64    128
//   LSTM, 2 layers, 64 elements of 128 values, 256 units        0.82  0.82  0.87  0.94  0.95  0.94  0.89  0.90
//   LSTM, 1 layer, 20 elements of 16 values, 32 units           0.38  0.50  0.56  0.60  0.54  0.71  0.68  0.74
//   LSTM, 1 layer, 30 elements of 512 values, 512 units         0.92  0.91  0.95  0.96  0.96  0.88  0.80  0.81
//   GRU, 2 layers, 35 elements of 200 values, 208 units         1.15  0.98  0.87  0.90  0.94  0.93  0.91  0.93
//   GRU, 1 layer, 50 elements of 64 values, 64 units            0.69  0.58  0.66  0.77  0.81  0.84  0.78  0.86
double rows_seconds(const Operation& operation, const RnnShape& s) {
  return .92 * recurrent_seconds(s, std::clamp<int64_t>(s.rows / kLeastRows, 1, operation.request.threads));
}

constexpr Candidate<RnnShape> kInference[] = {
    {"primitive", [](const Operation&, const RnnShape&) { return true; }, primitive_seconds,
     [](const Operation& operation, const RnnShape& shape) { return prepare_by_primitives(operation, shape, false); }},
    {"rows", [](const Operation&, const RnnShape& shape) { return rnn_rows_fit(shape); }, rows_seconds, prepare_rnn_rows},
};

Prepared prepare_recurrent(const Operation& operation, int64_t gates, bool training) {
  const std::vector<DnnlDims> results = output_dims(operation);
  const RnnShape shape = rnn_shape(operation, gates, results);
  require(operation.request.outputs.size() == results.size() + (training ? 1 : 0),
          training ? "expected a workspace as the last output" : "only training keeps a workspace");
  if (shape.steps == 0) return prepare_empty_sequence(operation, results.size());
  if (shape.relu) operation.nan_cut = NanCut::recurrent;
  if (training) return prepare_by_primitives(operation, shape, training);
  return prepare_one_of<RnnShape>(kInference, operation, shape);
}

}  // namespace

Prepared prepare_lstm(const Operation& operation) { return prepare_recurrent(operation, 4, false); }
Prepared prepare_lstm_train(const Operation& operation) { return prepare_recurrent(operation, 4, true); }

Prepared prepare_gru(const Operation& operation) { return prepare_recurrent(operation, 3, false); }
Prepared prepare_gru_train(const Operation& operation) { return prepare_recurrent(operation, 3, true); }

Prepared prepare_rnn(const Operation& operation) { return prepare_recurrent(operation, 1, false); }
Prepared prepare_rnn_train(const Operation& operation) { return prepare_recurrent(operation, 1, true); }

}  // namespace sheaf
