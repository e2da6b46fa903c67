#include "runtime/ops/recurrent.h"
#include "runtime/plan/op_list.h"
#include "tests/unit/runtime/cpu/reference.h"

#include <algorithm>
#include <cmath>

namespace sheaf::test {
RecurrentValues recurrent_values(const StepCase& c) {
  RecurrentValues values;
  for (const Operand& operand : c.operands) values[operand.role].assign(operand.value.data.begin(), operand.value.data.end());
  return values;
}

std::vector<std::vector<double>> reference_recurrent(const StepCase& c, const RecurrentValues& values) {
  using Values = std::vector<double>;
  const auto find_values = [&](const std::string& role) {
    const auto found = values.find(role);
    return found == values.end() ? nullptr : &found->second;
  };
  const Tensor& x = *find(c, "x");
  const bool lstm = c.op == Op::lstm, rnn = c.op == Op::rnn, relu = c.attributes.value("relu", false),
             bidirectional = c.attributes.value("bidirectional", false), batched = x.dims.size() == 3,
             first = batched && c.attributes.value("batch_first", false);
  const int64_t H = integer(c, "hidden_size", 0), layers = integer(c, "num_layers", 1), D = bidirectional ? 2 : 1,
                gates = gates_of(c.op), T = first ? x.dims[1] : x.dims[0],
                N = !batched ? 1
                    : first  ? x.dims[0]
                             : x.dims[1];
  const Values &x_values = values.at("x"), *h0 = find_values("h0"), *c0 = find_values("c0");
  Values h_out(layers * D * N * H), c_out(layers * D * N * H);
  // sequence[n][t][feature]
  int64_t width = x.dims.back();
  std::vector<double> sequence(N * T * width);
  for (int64_t n = 0; n < N; ++n)
    for (int64_t t = 0; t < T; ++t)
      for (int64_t i = 0; i < width; ++i)
        sequence[(n * T + t) * width + i] = x_values[(first ? n * T + t : t * N + n) * width + i];
  for (int64_t layer = 0; layer < layers; ++layer) {
    std::vector<double> next(N * T * D * H);
    for (int64_t d = 0; d < D; ++d) {
      const std::string suffix = "_l" + std::to_string(layer) + (d ? "_reverse" : "");
      const Values &wi = values.at("weight_ih" + suffix), &wh = values.at("weight_hh" + suffix);
      const Values *bi = find_values("bias_ih" + suffix), *bh = find_values("bias_hh" + suffix);
      for (int64_t n = 0; n < N; ++n) {
        const int64_t base = ((layer * D + d) * N + n) * H;
        std::vector<double> h(H), cell(H);
        for (int64_t j = 0; j < H; ++j) {
          h[j] = h0 ? (*h0)[base + j] : 0;
          cell[j] = c0 ? (*c0)[base + j] : 0;
        }
        for (int64_t step = 0; step < T; ++step) {
          const int64_t t = d ? T - 1 - step : step;
          std::vector<double> in(gates * H), rec(gates * H);
          for (int64_t g = 0; g < gates * H; ++g) {
            in[g] = bi ? (*bi)[g] : 0;
            rec[g] = bh ? (*bh)[g] : 0;
            for (int64_t i = 0; i < width; ++i) in[g] += wi[g * width + i] * sequence[(n * T + t) * width + i];
            for (int64_t i = 0; i < H; ++i) rec[g] += wh[g * H + i] * h[i];
          }
          for (int64_t j = 0; j < H; ++j) {
            const auto gate = [&](int64_t g) { return in[g * H + j] + rec[g * H + j]; };
            if (lstm) {
              cell[j] = sigmoid(gate(1)) * cell[j] + sigmoid(gate(0)) * std::tanh(gate(2));
              h[j] = sigmoid(gate(3)) * std::tanh(cell[j]);
            } else if (rnn) {
              h[j] = relu ? std::max(gate(0), 0.0) : std::tanh(gate(0));
            } else {
              const double r = sigmoid(gate(0)), z = sigmoid(gate(1));
              h[j] = (1 - z) * std::tanh(in[2 * H + j] + r * rec[2 * H + j]) + z * h[j];
            }
            next[(n * T + t) * D * H + d * H + j] = h[j];
          }
        }
        for (int64_t j = 0; j < H; ++j) {
          h_out[base + j] = h[j];
          c_out[base + j] = cell[j];
        }
      }
    }
    sequence = std::move(next);
    width = D * H;
  }
  Values y(N * T * width);
  for (int64_t n = 0; n < N; ++n)
    for (int64_t t = 0; t < T; ++t)
      for (int64_t i = 0; i < width; ++i) y[(first ? n * T + t : t * N + n) * width + i] = sequence[(n * T + t) * width + i];
  return lstm ? std::vector<Values>{y, h_out, c_out} : std::vector<Values>{y, h_out};
}

std::vector<Tensor> reference_recurrent(const StepCase& c) {
  const Tensor& x = *find(c, "x");
  const int64_t H = integer(c, "hidden_size", 0), layers = integer(c, "num_layers", 1),
                D = c.attributes.value("bidirectional", false) ? 2 : 1;
  const bool batched = x.dims.size() == 3, first = batched && c.attributes.value("batch_first", false);
  std::vector<int64_t> y = x.dims, state = {layers * D, H};
  y.back() = D * H;
  if (batched) state.insert(state.begin() + 1, first ? x.dims[0] : x.dims[1]);
  std::vector<Tensor> results;
  for (const auto& values : reference_recurrent(c, recurrent_values(c)))
    results.emplace_back(results.empty() ? y : state, std::vector<float>(values.begin(), values.end()));
  return results;
}

}  // namespace sheaf::test
