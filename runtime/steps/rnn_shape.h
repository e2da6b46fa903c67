// Sizes and operands of a recurrent step (LSTM, GRU, RNN), checked.
#pragma once

#include "runtime/steps/step_operands.h"

#include <string>
#include <string_view>
#include <vector>

namespace sheaf {

/// PyTorch's nn.LSTM, nn.GRU or nn.RNN: `gates` is 4, 3 or 1.
struct RnnShape {
  int64_t steps = 0, rows = 0, features = 0, hidden = 0, layers = 1, directions = 1, gates = 4;
  bool batch_first = false, bias = true, relu = false;

  /// Width of the input of layer `layer`.
  int64_t width_into(int64_t layer) const { return layer == 0 ? features : directions * hidden; }
  /// PyTorch's name of a weight or bias: "weight_ih" → "weight_ih_l1_reverse".
  static std::string role(const char* name, int64_t layer, int64_t direction);
};

/// Reads and checks the shapes of x, initial states, weights, biases and results (y, h and an LSTM's c). x
/// may be [T, N, I], [N, T, I] (batch_first) or [T, I]; states are [layers · directions, N, H], without N if
/// x has none.
RnnShape rnn_shape(const StepOperands& operation, int64_t gates, const std::vector<Dims>& results);

/// The results of a backward step: the gradients of x, of the given initial states, then of the weights and biases.
struct RnnGradients {
  std::vector<std::string> roles;  ///< of the operands, by output
  size_t first_weight = 1;         ///< an output
  bool has(std::string_view role) const;
  /// The output with the gradient of an operand, which must exist.
  size_t of(std::string_view role) const;
};

/// For a step of these sizes, whose outputs and given gradients have matching shapes.
RnnGradients rnn_gradients(const StepOperands& operation, const RnnShape& shape);

/// Shapes of the step's outputs that are values: workspaces left out.
std::vector<Dims> output_dims(const StepOperands& operation);

}  // namespace sheaf
