// Products and recurrent layers prepared for an absent GPU: operands, workspaces, reasons, refusals.
#include "runtime/ops/recurrent.h"
#include "runtime/plan/op_list.h"
#include "runtime/steps/rnn_shape.h"
#include "runtime/cuda/vendor/library.h"
#include "runtime/device/launch_count.h"

#include <gtest/gtest.h>

namespace sheaf::cuda {
namespace {

constexpr DType kF32 = DType::float32;

struct Planned {
  Planned(Op op, std::vector<std::string> roles, std::vector<TensorSpec> inputs, std::vector<TensorSpec> outputs,
          Json attributes = Json::object())
      : inputs(std::move(inputs)), outputs(std::move(outputs)) {
    step.op = op;
    step.roles = std::move(roles);
    step.attributes = std::move(attributes);
    context.properties.name = "NVIDIA H200";
  }
  /// What is prepared, or why not.
  Result<Prepared> prepare(PrepareOperation operation, bool fast = false) {
    try {
      return operation({step, plan, inputs, outputs, 1, fast, {}}, context);
    } catch (const OperationError& error) {
      return Error(error.what());
    }
  }

  Step step;
  Plan plan;
  LibraryContext context;
  std::vector<TensorSpec> inputs, outputs;
};

Planned linear(Json activation, DType dtype = kF32) {
  Json attributes = Json::object();
  if (!activation.is_null()) attributes["activation"] = {{"kind", activation}};
  return {
      Op::linear,
      {"x", "weight", "bias", "residual"},
      {plain_tensor(dtype, {6, 2, 4}), plain_tensor(dtype, {5, 4}), plain_tensor(kF32, {5}), plain_tensor(dtype, {6, 2, 5})},
      {plain_tensor(dtype, {6, 2, 5})},
      attributes};
}

TEST(PlannedLinear, SaysWhoActivates) {
  const auto reason = [](Json activation, DType dtype, bool fast) {
    auto prepared = linear(activation, dtype).prepare(prepare_linear, fast);
    EXPECT_TRUE(prepared) << prepared.error().message();
    return prepared ? prepared->reason : "";
  };
  EXPECT_NE(reason("relu", kF32, false).find("keeps NaN"), std::string::npos);
  EXPECT_NE(reason("relu", kF32, true).find("in the product's epilogue"), std::string::npos);
  EXPECT_NE(reason("gelu_tanh", kF32, false).find("own kernel"), std::string::npos);
  EXPECT_NE(reason("gelu_tanh", DType::bfloat16, false).find("in the product's epilogue"), std::string::npos);
  EXPECT_NE(reason("elu", kF32, true).find("cuBLASLt has no such epilogue"), std::string::npos);
  EXPECT_EQ(reason(nullptr, kF32, false).find("kernel"), std::string::npos);
  EXPECT_NE(reason(nullptr, kF32, true).find("TF32"), std::string::npos);
  EXPECT_EQ(reason(nullptr, DType::float16, true).find("TF32"), std::string::npos);
}

TEST(PlannedLinear, TheResidualMayBeTheResult) {
  auto prepared = linear("relu").prepare(prepare_linear);
  ASSERT_TRUE(prepared);
  EXPECT_EQ(launches_of(prepared->executable.get()), 2) << "the product, and the activation by a kernel of its own";
  EXPECT_EQ(prepared->in_place, (std::vector<std::pair<int, int>>{{3, 0}}));
  EXPECT_GT(prepared->scratch_bytes, 0U);
}

TEST(PlannedLinear, RefusesWhatDoesNotFit) {
  Planned step = linear(nullptr);
  step.inputs[1] = plain_tensor(kF32, {5, 3});
  auto prepared = step.prepare(prepare_linear);
  ASSERT_FALSE(prepared);
  EXPECT_EQ(prepared.error().message(), "x [6, 2, 4] and weight [5, 3] don't fit");
  step = linear(nullptr);
  step.inputs[2] = plain_tensor(kF32, {4});
  EXPECT_EQ(step.prepare(prepare_linear).error().message(), "bias should have shape [5]");
}

TEST(PlannedLinear, GradientsOfNarrowOperandsAreWide) {
  for (const bool bias : {false, true}) {
    Planned step(Op::linear_backward_weight, {"x", "dy"},
                 {plain_tensor(DType::bfloat16, {6, 4}), plain_tensor(DType::bfloat16, {6, 5})}, {plain_tensor(kF32, {5, 4})},
                 {{"bias", bias}});
    if (bias) step.outputs.push_back(plain_tensor(kF32, {5}));
    auto prepared = step.prepare(prepare_linear_backward_weight);
    ASSERT_TRUE(prepared) << prepared.error().message();
    EXPECT_NE(prepared->reason.find("bfloat16 operands, summed in f32"), std::string::npos);
    step.outputs[0].dtype = DType::bfloat16;
    EXPECT_FALSE(step.prepare(prepare_linear_backward_weight));
  }
}

TEST(PlannedLinear, SumsOverNothingAreFilled) {
  Planned weight(Op::linear_backward_weight, {"x", "dy"}, {plain_tensor(kF32, {0, 4}), plain_tensor(kF32, {0, 5})},
                 {plain_tensor(kF32, {5, 4}), plain_tensor(kF32, {5})}, {{"bias", true}});
  EXPECT_EQ(weight.prepare(prepare_linear_backward_weight)->implementation, "fill");
  Planned product(Op::matmul, {"a", "b"}, {plain_tensor(kF32, {3, 0}), plain_tensor(kF32, {0, 5})},
                  {plain_tensor(kF32, {3, 5})});
  EXPECT_EQ(product.prepare(prepare_matmul)->implementation, "fill");
}

/// A two-layer LSTM, GRU or RNN, 7 steps of 3 rows.
struct Recurrent {
  Recurrent(Op op, bool bidirectional) : op(op), gates(gates_of(op)), directions(bidirectional ? 2 : 1) {
    states = op == Op::lstm ? 2 : 1;
    roles = {"x"};
    inputs = {plain_tensor(kF32, {7, 3, 4})};
    for (int64_t layer = 0; layer < 2; ++layer) {
      for (int64_t d = 0; d < directions; ++d) {
        const int64_t width = layer == 0 ? 4 : 5 * directions;
        for (const auto& [name, dims] : {std::pair<const char*, Dims>("weight_ih", {gates * 5, width}),
                                         {"weight_hh", {gates * 5, 5}},
                                         {"bias_ih", {gates * 5}},
                                         {"bias_hh", {gates * 5}}}) {
          roles.push_back(RnnShape::role(name, layer, d));
          inputs.push_back(plain_tensor(kF32, dims));
        }
      }
    }
    results = {plain_tensor(kF32, {7, 3, 5 * directions})};
    for (int i = 0; i < states; ++i) results.push_back(plain_tensor(kF32, {2 * directions, 3, 5}));
    attributes = {
        {"hidden_size", 5}, {"num_layers", 2}, {"bidirectional", bidirectional}, {"batch_first", false}, {"bias", true}};
    if (op == Op::rnn) attributes["relu"] = true;
  }
  Planned training() const {
    auto outputs = results;
    outputs.push_back(plain_tensor(DType::uint8, {1}));
    return {recurrent_training(gates), roles, inputs, outputs, attributes};
  }
  Planned gradient(const TensorSpec& workspace) const {
    auto all_roles = roles;
    auto all = inputs;
    const char* const names[] = {"y", "h", "c"};
    for (size_t i = 0; i < results.size(); ++i) {
      all_roles.push_back(names[i]);
      all.push_back(results[i]);
    }
    all_roles.push_back("workspace");
    all.push_back(workspace);
    all_roles.push_back("dy");
    all.push_back(results[0]);
    return {op == Op::lstm  ? Op::lstm_backward
            : op == Op::gru ? Op::gru_backward
                            : Op::rnn_backward,
            all_roles, all, inputs, attributes};
  }

  Op op;
  int64_t gates, directions;
  int states = 0;
  std::vector<std::string> roles;
  std::vector<TensorSpec> inputs, results;
  Json attributes;
};

TEST(PlannedRecurrent, TrainingKeepsWhatItsGradientTakes) {
  for (const Op op : {Op::lstm, Op::gru, Op::rnn}) {
    for (const bool bidirectional : {false, true}) {
      const Recurrent layers(op, bidirectional);
      auto train = layers.training().prepare(prepare_rnn);
      ASSERT_TRUE(train) << train.error().message();
      EXPECT_NE(train->reason.find("without tensor cores"), std::string::npos);
      const TensorSpec& kept = train->outputs.back();
      EXPECT_GT(kept.bytes, 1U);
      auto gradient = layers.gradient(kept).prepare(prepare_rnn);
      ASSERT_TRUE(gradient) << gradient.error().message();
      EXPECT_GT(gradient->scratch_bytes, train->scratch_bytes);  // the gradients' space too
      auto foreign = layers.gradient(plain_tensor(DType::uint8, {1})).prepare(prepare_rnn);
      ASSERT_FALSE(foreign);
      EXPECT_EQ(foreign.error().message(), "operand 'workspace' is not one that " + to_string(*traits(op).training) + " made");
    }
  }
}

TEST(PlannedRecurrent, AnEmptySequencePassesItsStates) {
  Recurrent layers(Op::lstm, false);
  layers.inputs[0] = plain_tensor(kF32, {0, 3, 4});
  layers.results[0] = plain_tensor(kF32, {0, 3, 5});
  auto train = layers.training().prepare(prepare_rnn);
  ASSERT_TRUE(train) << train.error().message();
  EXPECT_EQ(train->implementation, "copy");
  EXPECT_TRUE(layers.gradient(train->outputs.back()).prepare(prepare_rnn));
}

}  // namespace
}  // namespace sheaf::cuda
