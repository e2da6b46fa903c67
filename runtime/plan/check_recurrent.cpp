// LSTM and GRU, with PyTorch's parameter names and shapes.
#include "runtime/plan/step_check.h"

#include <utility>

namespace sheaf {

namespace {

void check_recurrent(StepCheck& check, int64_t gates, bool has_cell) {
  check.attributes({"hidden_size", "num_layers", "bidirectional", "batch_first", "bias"});
  const int64_t hidden = check.integer("hidden_size", 1, 1 << 24);
  const int64_t layers = check.integer("num_layers", 1, 1 << 10);
  const int64_t directions = check.boolean("bidirectional") ? 2 : 1;
  const bool batch_first = check.boolean("batch_first");
  const bool bias = check.boolean("bias");
  check.floating();
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
  if (!check.roles(required, optional) || !check.outputs(has_cell ? 3 : 2)) return;

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
  if (has_cell && !check.operand("h0") != !check.operand("c0")) check.fail("'h0' and 'c0' come together");
  for (const char* role : {"h0", "c0"})
    if (const Value* value = check.operand(role)) check.shape(*value, state);
  check.shape(check.output(0), {x.shape[0], x.shape[1], Extent(directions * hidden)});
  for (size_t i = 1; i < check.step().outputs.size(); ++i) check.shape(check.output(i), state);
}

}  // namespace

void check_lstm(StepCheck& check) { check_recurrent(check, 4, true); }
void check_gru(StepCheck& check) { check_recurrent(check, 3, false); }

}  // namespace sheaf
