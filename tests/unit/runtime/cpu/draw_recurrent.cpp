#include "tests/unit/runtime/cpu/draw_recurrent.h"

#include "runtime/ops/recurrent.h"
#include "runtime/plan/op_list.h"

namespace sheaf::test {

StepCase draw_recurrent(Draw& draw, Op op, int64_t rows, int64_t hidden) {
  StepCase c;
  c.op = op;
  const int64_t gates = gates_of(c.op), layers = draw.number(1, 3), features = draw.one_of<int64_t>({1, 5, 16, 24}),
                steps = draw.chance(10) ? 0 : draw.number(1, 6);
  const bool bidirectional = draw.chance(40), bias = draw.chance(80), batched = draw.chance(80), first = draw.chance(50);
  const int64_t directions = bidirectional ? 2 : 1;
  Dims x = !batched ? Dims{steps, features} : first ? Dims{rows, steps, features} : Dims{steps, rows, features};
  Dims state = {layers * directions, rows, hidden};
  if (!batched) state.erase(state.begin() + 1);
  c.attributes = {{"hidden_size", hidden},
                  {"num_layers", layers},
                  {"bidirectional", bidirectional},
                  {"batch_first", first},
                  {"bias", bias}};
  if (c.op == Op::rnn) c.attributes["relu"] = draw.chance(50);
  c.operands = {{"x", draw.tensor(x), false}};
  if (draw.chance(50)) {
    c.operands.push_back({"h0", draw.tensor(state), false});
    if (gates == 4) c.operands.push_back({"c0", draw.tensor(state), false});
  }
  const bool constant = draw.chance(80);
  for (int64_t layer = 0; layer < layers; ++layer) {
    for (int64_t d = 0; d < directions; ++d) {
      const std::string suffix = "_l" + std::to_string(layer) + (d ? "_reverse" : "");
      const int64_t width = layer ? directions * hidden : features;
      c.operands.push_back({"weight_ih" + suffix, draw.tensor({gates * hidden, width}, 0.4), constant});
      c.operands.push_back({"weight_hh" + suffix, draw.tensor({gates * hidden, hidden}, 0.4), constant});
      if (!bias) continue;
      c.operands.push_back({"bias_ih" + suffix, draw.tensor({gates * hidden}, 0.4), constant});
      c.operands.push_back({"bias_hh" + suffix, draw.tensor({gates * hidden}, 0.4), constant});
    }
  }
  return c;
}

}  // namespace sheaf::test
