#include "runtime/ops/recurrent.h"

#include "runtime/plan/op_list.h"

namespace sheaf {
namespace {

bool has_cell(Op op) { return op == Op::lstm || op == Op::lstm_train || op == Op::lstm_backward; }

Result<void> check_shape(const OpShapes& op, std::string_view role, const Shape& expected, std::string_view what) {
  const Shape* found = op.find(role);
  if (!found || may_equal(*found, expected)) return {};
  return Error("expects " + std::string(what) + " of shape " + to_string(expected) + ", but got " + to_string(*found));
}

Result<ResultShapes> recurrent(const OpShapes& op) {
  const Shape& x = op.operand("x");
  if (x.size() != 3 && !(op.unbatched && x.size() == 2))
    return Error(std::string("expects an input of 3 dimensions") + (op.unbatched ? " (or 2 without the batch)" : "") +
                 ", but got " + to_string(x));
  if (!x.back().is_static() && !is_unknown(x.back()))
    return Error("expects features that don't depend on the batch, but the input is " + to_string(x));
  const RecurrentSizes sizes = recurrent_sizes(op.op, op.attributes);
  const auto [y, state] = recurrent_results(sizes, x);
  const auto weights = recurrent_weights(sizes, x.back());
  if (const Shape* first = op.find(weights.front().role); first->size() != 2 || !may_equal(x.back(), first->back()))
    return Error("expects " + (first->empty() ? "?" : to_string(first->back())) + " input features, but the input is " +
                 to_string(x));
  for (const RecurrentWeight& weight : weights) SHEAF_TRY(check_shape(op, weight.role, weight.shape, "'" + weight.role + "'"));
  const bool cell = has_cell(op.op);
  if (cell && !op.find("h0") != !op.find("c0")) return Error("'h0' and 'c0' come together");
  for (const char* role : {"h0", "c0"}) SHEAF_TRY(check_shape(op, role, state, "an initial state"));
  ResultShapes results = {{y}, {state}};
  if (cell) results.push_back({state});
  if (traits(op.op).pass == Pass::training) results.push_back(workspace_result());
  if (traits(op.op).pass != Pass::backward) return results;

  for (const char* role : {"y", "h", "c"})
    SHEAF_TRY(check_shape(op, role, role[0] == 'y' ? y : state, "a result of the forward pass"));
  if (!op.find("dy") && !op.find("dh") && !op.find("dc")) return Error("expects the gradient of at least one result");
  for (const char* role : {"dy", "dh", "dc"}) SHEAF_TRY(check_shape(op, role, role[1] == 'y' ? y : state, role));
  // One for x, each initial state and each weight, in the order of those operands.
  results.clear();
  for (const char* role : {"x", "h0", "c0"})
    if (const Shape* shape = op.find(role)) results.push_back({*shape});
  for (const RecurrentWeight& weight : weights) results.push_back({*op.find(weight.role)});
  return results;
}

/// Each layer and direction has matrix products with the input and with the state, for all gates.
double flops(const SizedOp& op) {
  const auto x = op.input("x");
  if (x.empty()) return 0;
  const double rows = product(x.first(x.size() - 1));  // time steps × batch
  const bool backward = traits(op.op).pass == Pass::backward;
  const RecurrentSizes sizes = recurrent_sizes(op.op, op.attributes);
  double flops = 0;
  for (const RecurrentWeight& weight : recurrent_weights(sizes, Extent(x.back()))) {
    if (weight.shape.size() != 2) continue;
    // Backward there are two products of each weight: one for the gradient of its input, one for its own.
    flops += 2 * rows * op.input_elements(weight.role) * (backward ? 2 : 1);
  }
  // Pointwise, for each gate: the sum of the products and biases (3) and its function (3); backward its derivative (3) and the
  // sums into the gates' gradients (3).
  return flops + 6 * rows * static_cast<double>(sizes.gates * sizes.hidden * sizes.layers * sizes.directions);
}

constexpr RoleRow kWeights = {"weights", false, true};
constexpr RoleRow kLstm[] = {{"x"}, {"h0", true}, {"c0", true}, kWeights}, kOneState[] = {{"x"}, {"h0", true}, kWeights},
                  kLstmBackward[] = {{"x"}, {"h0", true},  {"c0", true}, kWeights,     {"y"},       {"h"},
                                     {"c"}, {"workspace"}, {"dy", true}, {"dh", true}, {"dc", true}},
                  kOneStateBackward[] = {{"x"}, {"h0", true},  kWeights,     {"y"},
                                         {"h"}, {"workspace"}, {"dy", true}, {"dh", true}};
constexpr AttributeRow kAttributes[] = {{AttributeRow::integer, "hidden_size", 1, 1 << 24},
                                        {AttributeRow::integer, "num_layers", 1, 1 << 10},
                                        {AttributeRow::flag, "bidirectional"},
                                        {AttributeRow::flag, "batch_first"},
                                        {AttributeRow::flag, "bias"}};

/// `relu`: max(x, 0) instead of tanh.
constexpr AttributeRow kRnnAttributes[] = {kAttributes[0], kAttributes[1], kAttributes[2],
                                           kAttributes[3], kAttributes[4], {AttributeRow::flag, "relu"}};

constexpr OpTraits row(Op op, Pass pass, std::span<const RoleRow> roles, std::optional<Op> training = std::nullopt,
                       std::span<const AttributeRow> attributes = kAttributes) {
  return {.op = op,
          .source = Source::library,
          .pass = pass,
          .roles = roles,
          .attributes = attributes,
          .shapes = recurrent,
          .flops = flops,
          .training = training,
          .sums_rows = pass != Pass::forward};
}

constexpr OpTraits kRows[] = {
    row(Op::lstm, Pass::forward, kLstm, Op::lstm_train),
    row(Op::lstm_train, Pass::training, kLstm),
    row(Op::lstm_backward, Pass::backward, kLstmBackward),
    row(Op::gru, Pass::forward, kOneState, Op::gru_train),
    row(Op::gru_train, Pass::training, kOneState),
    row(Op::gru_backward, Pass::backward, kOneStateBackward),
    row(Op::rnn, Pass::forward, kOneState, Op::rnn_train, kRnnAttributes),
    row(Op::rnn_train, Pass::training, kOneState, std::nullopt, kRnnAttributes),
    row(Op::rnn_backward, Pass::backward, kOneStateBackward, std::nullopt, kRnnAttributes),
};

}  // namespace

int64_t gates_of(Op op) {
  const bool plain = op == Op::rnn || op == Op::rnn_train || op == Op::rnn_backward;
  return has_cell(op) ? 4 : plain ? 1 : 3;
}

Op recurrent_training(int64_t gates) { return gates == 4 ? Op::lstm_train : gates == 3 ? Op::gru_train : Op::rnn_train; }

RecurrentSizes recurrent_sizes(Op op, const nlohmann::ordered_json& attributes) {
  return {gates_of(op),
          attributes.at("hidden_size").get<int64_t>(),
          attributes.at("num_layers").get<int64_t>(),
          attributes.at("bidirectional").get<bool>() ? 2 : 1,
          attributes.at("batch_first").get<bool>(),
          attributes.at("bias").get<bool>()};
}

std::vector<RecurrentWeight> recurrent_weights(const RecurrentSizes& sizes, const Extent& features) {
  std::vector<RecurrentWeight> weights;
  const Extent rows(sizes.gates * sizes.hidden);
  for (int64_t layer = 0; layer < sizes.layers; ++layer)
    for (int64_t direction = 0; direction < sizes.directions; ++direction) {
      const std::string suffix = "_l" + std::to_string(layer) + (direction ? "_reverse" : "");
      weights.push_back({"weight_ih" + suffix, {rows, layer == 0 ? features : Extent(sizes.directions * sizes.hidden)}});
      weights.push_back({"weight_hh" + suffix, {rows, Extent(sizes.hidden)}});
      if (!sizes.bias) continue;
      weights.push_back({"bias_ih" + suffix, {rows}});
      weights.push_back({"bias_hh" + suffix, {rows}});
    }
  return weights;
}

std::pair<Shape, Shape> recurrent_results(const RecurrentSizes& sizes, const Shape& x) {
  Shape y = x, state = {Extent(sizes.layers * sizes.directions)};
  y.back() = Extent(sizes.directions * sizes.hidden);
  if (x.size() == 3) state.push_back(x[sizes.batch_first ? 0 : 1]);
  state.push_back(Extent(sizes.hidden));
  return {std::move(y), std::move(state)};
}

std::span<const OpTraits> recurrent_ops() { return kRows; }

}  // namespace sheaf
