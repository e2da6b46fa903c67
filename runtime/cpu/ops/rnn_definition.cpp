#include "runtime/cpu/ops/rnn_definition.h"

#include "runtime/cpu/ops/ops.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace sheaf {
namespace {

using Floats = std::vector<float>;

/// An operand in PyTorch's order of elements; empty if it isn't there.
Result<Floats> plain_operand(int index, const std::vector<TensorSpec>& inputs, void* const* buffers) {
  if (index < 0) return Floats();
  const TensorSpec& spec = inputs[size_t(index)];
  const TensorSpec plain = plain_tensor(DType::float32, spec.dims);
  Floats values(plain.bytes / sizeof(float));
  if (values.empty()) return values;
  SHEAF_ASSIGN(auto reorder, prepare_cpu_reorder(spec, plain, 1));
  std::vector<std::max_align_t> scratch(reorder.scratch_bytes / sizeof(std::max_align_t) + 1);
  void* const own[] = {buffers[index], values.data()};
  reorder.executable->run(own, scratch.data());
  return values;
}

/// One cell's sums: `from` without its bias (empty) counts none.
float sum_of(std::span<const float> weights, std::span<const float> values, const Floats& bias, size_t unit) {
  float sum = bias.empty() ? 0 : bias[unit];
  const size_t width = values.size();
  for (size_t i = 0; i < width; ++i) sum += weights[unit * width + i] * values[i];
  return sum;
}

void copy_rnn_nan(float from, float& to) {
  if (std::isnan(from)) to = from;
}

}  // namespace

RnnBuffers rnn_buffers(const Operation& operation, const RnnShape& shape) {
  RnnBuffers at{
      operation.find("x"), operation.find("h0"), operation.output_buffer(0).buffer, operation.output_buffer(1).buffer, {}};
  for (int64_t layer = 0; layer < shape.layers; ++layer)
    for (int64_t direction = 0; direction < shape.directions; ++direction)
      for (const char* name : {"weight_ih", "weight_hh", "bias_ih", "bias_hh"})
        at.weights.push_back(operation.find(RnnShape::role(name, layer, direction)));
  return at;
}

Result<void> set_rnn_nan(const RnnShape& s, const RnnBuffers& at, const std::vector<TensorSpec>& inputs, void* const* buffers) {
  const auto steps = size_t(s.steps), rows = size_t(s.rows), hidden = size_t(s.hidden), directions = size_t(s.directions);
  const auto place = [&](size_t t, size_t n, size_t width) { return (s.batch_first ? n * steps + t : t * rows + n) * width; };
  SHEAF_ASSIGN(Floats sequence, plain_operand(at.x, inputs, buffers));
  SHEAF_ASSIGN(const Floats h0, plain_operand(at.h0, inputs, buffers));
  auto* const h = static_cast<float*>(buffers[at.h]);
  for (size_t cell = 0; cell < size_t(s.layers) * directions; cell += directions) {
    const size_t width = cell == 0 ? size_t(s.features) : directions * hidden;
    Floats next(steps * rows * directions * hidden);
    for (size_t direction = 0; direction < directions; ++direction) {
      Floats of[4];
      for (size_t i = 0; i < 4; ++i) {
        SHEAF_ASSIGN(of[i], plain_operand(at.weights[(cell + direction) * 4 + i], inputs, buffers));
      }
      for (size_t n = 0; n < rows; ++n) {
        const size_t state_at = ((cell + direction) * rows + n) * hidden;
        Floats state(hidden), before;
        if (!h0.empty()) std::copy_n(h0.begin() + std::ptrdiff_t(state_at), hidden, state.begin());
        for (size_t step = 0; step < steps; ++step) {
          const size_t t = direction ? steps - 1 - step : step;
          before = state;
          for (size_t unit = 0; unit < hidden; ++unit) {
            const float sum = sum_of(of[0], std::span(sequence).subspan(place(t, n, width), width), of[2], unit) +
                              sum_of(of[1], before, of[3], unit);
            state[unit] = sum < 0 ? 0 : sum;
          }
          std::copy(state.begin(), state.end(),
                    next.begin() + std::ptrdiff_t(place(t, n, directions * hidden) + direction * hidden));
        }
        for (size_t unit = 0; unit < hidden; ++unit) copy_rnn_nan(state[unit], h[state_at + unit]);
      }
    }
    sequence = std::move(next);
  }
  auto* const y = static_cast<float*>(buffers[at.y]);
  for (size_t i = 0; i < sequence.size(); ++i) copy_rnn_nan(sequence[i], y[i]);
  return {};
}

}  // namespace sheaf
