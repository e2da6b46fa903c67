#include "runtime/cpu/ops/rnn_cell.h"

#include <cstring>
#include <utility>

namespace sheaf {

using dnnl::lbr_gru_forward;
using dnnl::lstm_forward;
using dnnl::vanilla_rnn_forward;

DnnlDesc sequence_desc(const RnnShape& s, int64_t width) {
  const DnnlDims strides = s.batch_first ? DnnlDims{width, s.steps * width, 1} : DnnlDims{s.rows * width, width, 1};
  return DnnlDesc({s.steps, s.rows, width}, dnnl::memory::data_type::f32, strides);
}

RnnCell rnn_cell(const RnnShape& s, int64_t layer, int64_t direction, bool with_state) {
  const int64_t hidden = s.hidden, y_width = s.directions * hidden;
  const auto dense = [&](int64_t width) { return plain_desc({s.steps, s.rows, width}); };
  RnnCell cell;
  cell.activation = s.relu ? dnnl::algorithm::eltwise_relu : dnnl::algorithm::eltwise_tanh;
  cell.direction = direction ? dnnl::rnn_direction::unidirectional_right2left : dnnl::rnn_direction::unidirectional_left2right;
  cell.x = layer == 0 ? sequence_desc(s, s.features) : dense(y_width);
  // This direction's columns of y.
  const DnnlDesc whole = layer + 1 == s.layers ? sequence_desc(s, y_width) : dense(y_width);
  const auto& strides = whole.data.format_desc.blocking.strides;
  cell.y = DnnlDesc({s.steps, s.rows, hidden}, dnnl::memory::data_type::f32, DnnlDims{strides[0], strides[1], 1});
  cell.state_out = plain_desc({1, 1, s.rows, hidden});
  if (with_state) cell.state_in = cell.state_out;
  cell.weight_ih = any_desc({1, 1, s.width_into(layer), s.gates, hidden});
  cell.weight_hh = any_desc({1, 1, hidden, s.gates, hidden});
  cell.bias = plain_desc({1, 1, rnn_biases(s.gates), hidden});
  return cell;
}

RnnCell rnn_training_cell(const RnnShape& s, int64_t layer, int64_t direction) {
  RnnCell cell = rnn_cell(s, layer, direction, true);
  if (layer == 0 && copies_x(s)) cell.x = plain_desc({s.steps, s.rows, s.features});
  return cell;
}

bool copies_x(const RnnShape& s) { return s.batch_first && s.layers > 1; }

DnnlCall sequence_copy(const RnnShape& s, bool to_dense, BufferRef from, BufferRef to) {
  DnnlDesc source = sequence_desc(s, s.features), target = plain_desc({s.steps, s.rows, s.features});
  if (!to_dense) std::swap(source, target);
  DnnlCall call{dnnl::reorder(dnnl::reorder::primitive_desc(dnnl_engine(), source, dnnl_engine(), target))};
  call.argument(DNNL_ARG_FROM, source, from).argument(DNNL_ARG_TO, target, to);
  return call;
}

void Zero::run(void* const* buffers, void* scratch) const { std::memset(where.resolve(buffers, scratch), 0, bytes); }

lstm_forward::primitive_desc describe_lstm(const RnnCell& c, dnnl::prop_kind kind) {
  return {lstm_forward::desc(kind, c.direction, c.x, c.state_in, c.state_in, c.weight_ih, c.weight_hh, c.bias, c.y, c.state_out,
                             c.state_out),
          step_attributes(), dnnl_engine()};
}

lbr_gru_forward::primitive_desc describe_gru(const RnnCell& c, dnnl::prop_kind kind) {
  return {lbr_gru_forward::desc(kind, c.direction, c.x, c.state_in, c.weight_ih, c.weight_hh, c.bias, c.y, c.state_out),
          step_attributes(), dnnl_engine()};
}

vanilla_rnn_forward::primitive_desc describe_rnn(const RnnCell& c, dnnl::prop_kind kind) {
  return {vanilla_rnn_forward::desc(kind, c.activation, c.direction, c.x, c.state_in, c.weight_ih, c.weight_hh, c.bias, c.y,
                                    c.state_out),
          step_attributes(), dnnl_engine()};
}

TensorSpec rnn_weight(const RnnShape& s, const std::vector<int64_t>& dims, const DnnlDesc& wanted) {
  const int64_t width = dims[1], all = dims[0] * dims[1];
  const DnnlDesc plain({1, 1, width, s.gates, s.hidden}, dnnl::memory::data_type::f32,
                       DnnlDims{all, all, 1, s.hidden * width, width});
  return dnnl_tensor(dims, wanted, plain, "ldigo", s.gates == 3 ? std::vector<int>{1, 0, 2} : std::vector<int>{});
}

RnnWorkspace::RnnWorkspace(const RnnShape& s, BufferRef where) : where_(where) {
  sequence_bytes_ = size_t(s.steps * s.rows * s.directions * s.hidden) * sizeof(float);
  sequence_bytes_ = (sequence_bytes_ + 63) / 64 * 64;
  bytes_ = sequence_bytes_ * size_t(s.layers - 1);
}

BufferRef RnnWorkspace::between(int64_t layer) const {
  return {where_.buffer, where_.offset + size_t(layer) * sequence_bytes_};
}

BufferRef RnnWorkspace::take(size_t bytes) {
  const BufferRef part{where_.buffer, where_.offset + bytes_};
  bytes_ += (bytes + 63) / 64 * 64;
  return part;
}

void BiasSum::run(void* const* buffers, void* scratch) const {
  if (!present) {
    std::memset(sum.resolve(buffers, scratch), 0, size_t(rnn_biases(gates) * hidden) * sizeof(float));
    return;
  }
  const auto* a = reinterpret_cast<const float*>(ih.resolve(buffers, scratch));
  const auto* b = reinterpret_cast<const float*>(hh.resolve(buffers, scratch));
  auto* out = reinterpret_cast<float*>(sum.resolve(buffers, scratch));
  const int64_t h = hidden;
  if (gates != 3) {
    for (int64_t i = 0; i < gates * h; ++i) out[i] = a[i] + b[i];
    return;
  }
  for (int64_t i = 0; i < h; ++i) {
    out[i] = a[h + i] + b[h + i];   // z
    out[h + i] = a[i] + b[i];       // r
    out[2 * h + i] = a[2 * h + i];  // n, from the input
    out[3 * h + i] = b[2 * h + i];  // n, from the state: multiplied by r
  }
}

}  // namespace sheaf
