// Gradients of LSTM, GRU and RNN: one oneDNN primitive for each layer and direction, the last layer first.
#include <algorithm>

#include "runtime/cpu/ops/choice.h"
#include "runtime/cpu/ops/rnn_stages.h"
#include "runtime/cpu/ops/workspace.h"
#include "runtime/ops/recurrent.h"

namespace sheaf {
namespace {

using dnnl::lbr_gru_backward;
using dnnl::lstm_backward;
using dnnl::vanilla_rnn_backward;

auto describe_gradient(const RnnCell& c, const dnnl::lstm_forward::primitive_desc& forward) {
  return lstm_backward::primitive_desc(
      lstm_backward::desc(dnnl::prop_kind::backward, c.direction, c.x, c.state_in, c.state_in, c.weight_ih, c.weight_hh, c.bias,
                          c.y, c.state_out, c.state_out, c.x, c.state_in, c.state_in, c.weight_ih, c.weight_hh, c.bias, c.y,
                          c.state_out, c.state_out),
      step_attributes(), dnnl_engine(), forward);
}

auto describe_gradient(const RnnCell& c, const dnnl::lbr_gru_forward::primitive_desc& forward) {
  return lbr_gru_backward::primitive_desc(
      lbr_gru_backward::desc(dnnl::prop_kind::backward, c.direction, c.x, c.state_in, c.weight_ih, c.weight_hh, c.bias, c.y,
                             c.state_out, c.x, c.state_in, c.weight_ih, c.weight_hh, c.bias, c.y, c.state_out),
      step_attributes(), dnnl_engine(), forward);
}

auto describe_gradient(const RnnCell& c, const dnnl::vanilla_rnn_forward::primitive_desc& forward) {
  return vanilla_rnn_backward::primitive_desc(
      vanilla_rnn_backward::desc(dnnl::prop_kind::backward, c.activation, c.direction, c.x, c.state_in, c.weight_ih,
                                 c.weight_hh, c.bias, c.y, c.state_out, c.x, c.state_in, c.weight_ih, c.weight_hh, c.bias, c.y,
                                 c.state_out),
      step_attributes(), dnnl_engine(), forward);
}

class GradientBuilder {
 public:
  GradientBuilder(const Operation& operation, const RnnShape& shape)
      : operation_(operation),
        s_(shape),
        prepared_(operation.prepared()),
        workspace_(shape, operation.input_buffer("workspace")),
        gradients_(rnn_gradients(operation, shape)) {
    take_workspace(operation, recurrent_training(s_.gates), prepared_);
    for (int64_t layer = 0; layer < s_.layers; ++layer)
      for (int64_t direction = 0; direction < s_.directions; ++direction) kept_.push_back(workspace_of(layer, direction));
  }

  Prepared build() {
    for (const TensorSpec& output : prepared_.outputs) require(output.dtype == DType::float32, "gradients are float32");
    if (s_.steps == 0) return build_empty();
    const size_t sequence = size_t(s_.steps * s_.rows * s_.directions * s_.hidden) * sizeof(float);
    if (!operation_.has("dy")) zero_dy_ = zeros(sequence);
    const size_t state = size_t(s_.rows * s_.hidden) * sizeof(float);
    zero_state_ = zeros(state);
    unwanted_state_ = scratch_.take(state);
    x_ = operation_.input_buffer("x");
    dx_ = operation_.output_buffer();
    if (copies_x(s_)) {
      const size_t bytes = size_t(s_.steps * s_.rows * s_.features) * sizeof(float);
      x_ = scratch_.take(bytes);
      dx_ = scratch_.take(bytes);
      stages_.emplace_back(sequence_copy(s_, true, operation_.input_buffer("x"), x_));
    }
    for (int64_t i = 0; i < std::min<int64_t>(s_.layers - 1, 2); ++i) between_[i] = scratch_.take(sequence);
    if (s_.directions == 2) {
      const int64_t width = std::max(s_.features, s_.directions * s_.hidden);
      other_direction_ = scratch_.take(size_t(s_.steps * s_.rows * width) * sizeof(float));
    }
    bias_ = scratch_.take(size_t(rnn_biases(s_.gates) * s_.hidden) * sizeof(float));
    dbias_ = scratch_.take(size_t(rnn_biases(s_.gates) * s_.hidden) * sizeof(float));
    for (int64_t layer = s_.layers; layer-- > 0;)
      for (int64_t direction = 0; direction < s_.directions; ++direction) {
        const RnnCell cell = rnn_training_cell(s_, layer, direction);
        describe_cell(s_.gates, cell, dnnl::prop_kind::forward_training,
                      [&](const auto& forward) { add(layer, direction, cell, forward); });
      }
    if (copies_x(s_)) stages_.emplace_back(sequence_copy(s_, false, dx_, operation_.output_buffer()));
    return finish();
  }

 private:
  /// What the forward primitive of this cell kept; called in the order in which the forward step was built.
  BufferRef workspace_of(int64_t layer, int64_t direction) {
    if (s_.steps == 0) return {};
    const RnnCell cell = rnn_training_cell(s_, layer, direction);
    return workspace_.take(describe_cell(s_.gates, cell, dnnl::prop_kind::forward_training,
                                         [](const auto& pd) { return pd.workspace_desc().get_size(); }));
  }

  BufferRef zeros(size_t bytes) {
    const BufferRef where = scratch_.take(bytes);
    stages_.emplace_back(Zero{where, bytes});
    return where;
  }

  /// A state, or a state's gradient, that isn't given is zero; an unwanted one goes nowhere.
  BufferRef state_in(const char* role, size_t offset) const {
    return operation_.has(role) ? BufferRef{operation_.find(role), offset} : zero_state_;
  }
  BufferRef state_out(const char* role, size_t output, size_t offset) const {
    return operation_.has(role) ? BufferRef{operation_.output_buffer(output).buffer, offset} : unwanted_state_;
  }

  template <typename Forward>
  void add(int64_t layer, int64_t direction, const RnnCell& cell, const Forward& forward) {
    const bool first = layer == 0, last = layer + 1 == s_.layers;
    const size_t state = size_t(layer * s_.directions + direction) * size_t(s_.rows * s_.hidden) * sizeof(float);
    const size_t column = size_t(direction * s_.hidden) * sizeof(float);
    const auto pd = describe_gradient(cell, forward);
    const std::string ih = RnnShape::role("weight_ih", layer, direction), hh = RnnShape::role("weight_hh", layer, direction);
    const std::string bias_ih = RnnShape::role("bias_ih", layer, direction),
                      bias_hh = RnnShape::role("bias_hh", layer, direction);
    // oneDNN adds to the gradients that it finds.
    weight(ih, pd.weights_layer_desc(), pd.diff_weights_layer_desc());
    weight(hh, pd.weights_iter_desc(), pd.diff_weights_iter_desc());
    stages_.emplace_back(
        BiasSum{operation_.input_buffer(bias_ih), operation_.input_buffer(bias_hh), bias_, s_.hidden, s_.gates, s_.bias});
    stages_.emplace_back(Zero{dbias_, size_t(rnn_biases(s_.gates) * s_.hidden) * sizeof(float)});

    const auto shifted = [](BufferRef where, size_t bytes) { return BufferRef{where.buffer, where.offset + bytes}; };
    const BufferRef y = last ? operation_.input_buffer("y") : workspace_.between(layer);
    const BufferRef dy = !last ? between_[layer % 2] : operation_.has("dy") ? operation_.input_buffer("dy") : zero_dy_;
    const BufferRef dx = first ? dx_ : between_[(layer - 1) % 2];
    DnnlCall call{dnnl::primitive(primitive_of(pd))};
    call.argument(DNNL_ARG_SRC_LAYER, cell.x, first ? x_ : workspace_.between(layer - 1))
        .argument(DNNL_ARG_WEIGHTS_LAYER, pd.weights_layer_desc(), operation_.input_buffer(ih))
        .argument(DNNL_ARG_WEIGHTS_ITER, pd.weights_iter_desc(), operation_.input_buffer(hh))
        .argument(DNNL_ARG_BIAS, cell.bias, bias_)
        .argument(DNNL_ARG_DST_LAYER, cell.y, shifted(y, column))
        .argument(DNNL_ARG_DST_ITER, cell.state_out, {operation_.find("h"), state})
        .argument(DNNL_ARG_WORKSPACE, forward.workspace_desc(), kept_[size_t(layer * s_.directions + direction)])
        .argument(DNNL_ARG_DIFF_DST_LAYER, cell.y, shifted(dy, column))
        .argument(DNNL_ARG_DIFF_DST_ITER, cell.state_out, state_in("dh", state))
        .argument(DNNL_ARG_DIFF_SRC_LAYER, cell.x, direction == 0 ? dx : other_direction_)
        .argument(DNNL_ARG_DIFF_WEIGHTS_LAYER, pd.diff_weights_layer_desc(), operation_.output_buffer(gradients_.of(ih)))
        .argument(DNNL_ARG_DIFF_WEIGHTS_ITER, pd.diff_weights_iter_desc(), operation_.output_buffer(gradients_.of(hh)))
        .argument(DNNL_ARG_DIFF_BIAS, cell.bias, dbias_);
    call.argument(DNNL_ARG_SRC_ITER, cell.state_in, state_in("h0", state))
        .argument(DNNL_ARG_DIFF_SRC_ITER, cell.state_in, state_out("h0", 1, state));
    if (s_.gates == 4)
      call.argument(DNNL_ARG_SRC_ITER_C, cell.state_in, state_in("c0", state))
          .argument(DNNL_ARG_DST_ITER_C, cell.state_out, {operation_.find("c"), state})
          .argument(DNNL_ARG_DIFF_DST_ITER_C, cell.state_out, state_in("dc", state))
          .argument(DNNL_ARG_DIFF_SRC_ITER_C, cell.state_in, state_out("c0", 2, state));
    const DnnlDesc scratchpad = pd.scratchpad_desc();
    call.argument(DNNL_ARG_SCRATCHPAD, scratchpad, {BufferRef::scratch, scratch_.bytes()});
    scratchpad_bytes_ = std::max(scratchpad_bytes_, scratchpad.get_size());
    stages_.emplace_back(std::move(call));
    take_library(operation_, pd, prepared_, "one primitive for each layer and direction, as in the forward pass");
    if (direction == 1) stages_.emplace_back(Add{other_direction_, dx, s_.steps * s_.rows * s_.width_into(layer)});
    if (s_.bias)
      stages_.emplace_back(BiasSplit{dbias_, operation_.output_buffer(gradients_.of(bias_ih)),
                                     operation_.output_buffer(gradients_.of(bias_hh)), s_.hidden, s_.gates});
  }

  static dnnl::primitive primitive_of(const lstm_backward::primitive_desc& pd) { return lstm_backward(pd); }
  static dnnl::primitive primitive_of(const lbr_gru_backward::primitive_desc& pd) { return lbr_gru_backward(pd); }
  static dnnl::primitive primitive_of(const vanilla_rnn_backward::primitive_desc& pd) { return vanilla_rnn_backward(pd); }

  void weight(const std::string& role, const DnnlDesc& wanted, const DnnlDesc& gradient) {
    const DnnlDims& dims = operation_.operand(role).dims;
    const size_t output = gradients_.of(role);
    prepared_.inputs[size_t(operation_.find(role))] = rnn_weight(s_, dims, wanted);
    prepared_.outputs[output] = rnn_weight(s_, dims, gradient);
    stages_.emplace_back(Zero{operation_.output_buffer(output), prepared_.outputs[output].bytes});
  }

  /// A sequence of length 0: the states passed through, and so do their gradients.
  Prepared build_empty() {
    for (size_t i = 1; i < prepared_.outputs.size(); ++i)
      stages_.emplace_back(Zero{operation_.output_buffer(i), prepared_.outputs[i].bytes});
    for (const auto& [from, state] : {std::pair("dh", "h0"), std::pair("dc", "c0")}) {
      if (!operation_.has(from) || !gradients_.has(state)) continue;
      const size_t to = gradients_.of(state);
      stages_.emplace_back(Copy{operation_.input_buffer(from), operation_.output_buffer(to), prepared_.outputs[to].bytes});
    }
    take_loop(prepared_, "a sequence of length 0: the states' gradients pass through");
    return finish();
  }

  Prepared finish() {
    prepared_.scratch_bytes = scratch_.bytes() + scratchpad_bytes_;
    prepared_.executable = std::make_unique<Stages>(std::move(stages_), operation_.request.threads);
    return std::move(prepared_);
  }

  const Operation& operation_;
  const RnnShape& s_;
  Prepared prepared_;
  RnnWorkspace workspace_;
  std::vector<BufferRef> kept_;  ///< by layer and direction
  RnnGradients gradients_;
  ScratchPlan scratch_;
  BufferRef x_, dx_, zero_dy_, zero_state_, unwanted_state_, between_[2], other_direction_, bias_, dbias_;
  size_t scratchpad_bytes_ = 0;  ///< behind the rest, for one primitive after the other
  std::vector<Stage> stages_;
};

Prepared prepare_recurrent_backward(const Operation& operation, int64_t gates) {
  std::vector<DnnlDims> results = {operation.operand("y").dims, operation.operand("h").dims};
  if (gates == 4) results.push_back(operation.operand("c").dims);
  const RnnShape shape = rnn_shape(operation, gates, results);
  return GradientBuilder(operation, shape).build();
}

}  // namespace

Prepared prepare_lstm_backward(const Operation& operation) { return prepare_recurrent_backward(operation, 4); }

Prepared prepare_gru_backward(const Operation& operation) { return prepare_recurrent_backward(operation, 3); }

Prepared prepare_rnn_backward(const Operation& operation) { return prepare_recurrent_backward(operation, 1); }

}  // namespace sheaf
