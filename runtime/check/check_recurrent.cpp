// LSTM and GRU, with PyTorch's parameter names and shapes.
#include <utility>

#include "runtime/check/step_check.h"

namespace sheaf {

namespace {

/// Which pass a step is of: the forward one, the same keeping a workspace, or the gradient.
enum class Pass { infer, train, backward };

void check_recurrent(StepCheck& check, int64_t gates, bool has_cell, Pass pass) {
  check.attributes({"hidden_size", "num_layers", "bidirectional", "batch_first", "bias"});
  const int64_t hidden = check.integer("hidden_size", 1, 1 << 24);
  const int64_t layers = check.integer("num_layers", 1, 1 << 10);
  const int64_t directions = check.boolean("bidirectional") ? 2 : 1;
  const bool batch_first = check.boolean("batch_first");
  const bool bias = check.boolean("bias");
  const size_t results = has_cell ? 3 : 2;  // y, h, c
  check.floating_beside_workspace(pass == Pass::train ? static_cast<int>(results) : -1);
  if (check.failed()) return;

  // Role → expected shape, but for the width of x, which is not known to be static yet.
  std::vector<std::string> required = {"x"};
  std::vector<std::string> optional = {"h0"};
  if (has_cell) optional.push_back("c0");
  std::vector<std::pair<std::string, int64_t>> weights;  // and the layer that each belongs to
  for (int64_t layer = 0; layer < layers; ++layer)
    for (int64_t direction = 0; direction < directions; ++direction) {
      const std::string suffix = "_l" + std::to_string(layer) + (direction ? "_reverse" : "");
      for (const char* kind : {"weight_ih", "weight_hh", "bias_ih", "bias_hh"})
        if (bias || kind[0] == 'w') weights.emplace_back(kind + suffix, layer);
    }
  for (const auto& [role, layer] : weights) required.push_back(role);
  if (check.step().inputs.size() < required.size())
    return check.fail("'" + check.step().op + "' lacks operands");
  if (pass == Pass::backward) {
    for (const char* role : {"y", "h", "c"}) {
      if (role[0] == 'c' && !has_cell) continue;
      required.push_back(role);
      optional.push_back(std::string("d") + role);
    }
    required.push_back("workspace");
  }
  if (!check.roles(required, optional)) return;
  const size_t states = (check.operand("h0") ? 1u : 0u) + (check.operand("c0") ? 1u : 0u);
  if (!check.outputs(pass == Pass::infer   ? results
                     : pass == Pass::train ? results + 1
                                           : 1 + states + weights.size()))
    return;

  const Value& x = check.input(0);
  check.rank(x, 3);
  if (check.failed()) return;
  if (!x.shape[2].is_static()) return check.fail("the width of '" + x.name + "' may not depend on the batch");
  for (const auto& [role, layer] : weights) {
    Shape expected = {Extent(gates * hidden)};
    if (role.starts_with("weight_ih"))
      expected.push_back(layer == 0 ? x.shape[2] : Extent(directions * hidden));
    if (role.starts_with("weight_hh")) expected.push_back(Extent(hidden));
    check.shape(*check.operand(role), expected);
  }
  const Shape state = {Extent(layers * directions), x.shape[batch_first ? 0 : 1], Extent(hidden)};
  const Shape y = {x.shape[0], x.shape[1], Extent(directions * hidden)};
  if (has_cell && !check.operand("h0") != !check.operand("c0")) check.fail("'h0' and 'c0' come together");
  for (const char* role : {"h0", "c0", "h", "c", "dh", "dc"})
    if (const Value* value = check.operand(role)) check.shape(*value, state);
  for (const char* role : {"y", "dy"})
    if (const Value* value = check.operand(role)) check.shape(*value, y);
  if (pass != Pass::backward) {
    check.shape(check.output(0), y);
    for (size_t i = 1; i < results; ++i) check.shape(check.output(i), state);
    return;
  }
  check.shape(check.output(0), x.shape);
  for (size_t i = 1; i <= states; ++i) check.shape(check.output(i), state);
  // The weights' gradients, in the order in which the weights stand among the operands.
  size_t next = 1 + states;
  for (size_t i = 0; i < check.step().roles.size(); ++i) {
    const std::string& role = check.step().roles[i];
    if (role.starts_with("weight_") || role.starts_with("bias_"))
      check.shape(check.output(next++), check.input(i).shape);
  }
}

}  // namespace

void check_lstm(StepCheck& check) { check_recurrent(check, 4, true, Pass::infer); }
void check_lstm_train(StepCheck& check) { check_recurrent(check, 4, true, Pass::train); }
void check_lstm_backward(StepCheck& check) { check_recurrent(check, 4, true, Pass::backward); }
void check_gru(StepCheck& check) { check_recurrent(check, 3, false, Pass::infer); }
void check_gru_train(StepCheck& check) { check_recurrent(check, 3, false, Pass::train); }
void check_gru_backward(StepCheck& check) { check_recurrent(check, 3, false, Pass::backward); }

}  // namespace sheaf
