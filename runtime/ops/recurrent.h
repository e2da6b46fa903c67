// LSTM, GRU and RNN, with PyTorch's parameter names and shapes.
#pragma once

#include "runtime/ops/traits.h"

namespace sheaf {

/// PyTorch's nn.LSTM, nn.GRU or nn.RNN: `gates` is 4, 3 or 1.
struct RecurrentSizes {
  int64_t gates = 4, hidden = 0, layers = 1, directions = 1;
  bool batch_first = false, bias = true;
};
/// 4 of an LSTM, 3 of a GRU, 1 of an RNN.
int64_t gates_of(Op op);
/// The training step of a layer with this many gates.
Op recurrent_training(int64_t gates);
RecurrentSizes recurrent_sizes(Op op, const nlohmann::ordered_json& attributes);

struct RecurrentWeight {
  std::string role;  ///< "weight_ih_l1_reverse"
  Shape shape;
};
/// Its weights and biases in PyTorch's order: by layer, direction, then weight_ih, weight_hh, bias_ih, bias_hh. `features`: the
/// last dimension of x.
std::vector<RecurrentWeight> recurrent_weights(const RecurrentSizes& sizes, const Extent& features);

/// Shapes of y and of a state for x [T, N, I], [N, T, I] (batch_first) or [T, I]: states are [layers · directions, N, H],
/// without N if x has none.
std::pair<Shape, Shape> recurrent_results(const RecurrentSizes& sizes, const Shape& x);

}  // namespace sheaf
