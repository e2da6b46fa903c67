// Faults of one row in a thousand are visible even if sums are long and mostly right.
#include "runtime/plan/op_list.h"
#include "tests/unit/tools/verify/faulty_device.h"
#include "tests/unit/tools/verify/verified.h"

#include <cstring>

namespace sheaf {
namespace {

constexpr int64_t kRows = 1000, kHalf = kRows / 2;

VerifyOptions on_two(Faults faults) {
  VerifyOptions options;
  options.devices = two_devices(std::move(faults));
  options.batch = kRows;
  options.steps = 1;
  return options;
}

/// The last row of a device's half is left as it was.
CopyFault without_last_row(size_t row_bytes) {
  return [row_bytes](char*& target, const char*& source, const CopyShape& shape) {
    if (shape.row_bytes != kHalf * row_bytes || shape.rows != 1) return true;
    std::memcpy(target, source, shape.row_bytes - row_bytes);
    return false;
  };
}

/// Operations `op` of the second device treat one of their rows as zero: the sum over rows is one short.
OperationFault without_a_row(Op op) {
  return [op](Op running, std::span<const TensorSpec> inputs, void* const* buffers) {
    if (running != op) return;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const TensorSpec& input = inputs[i];
      if (input.dtype != DType::float32 || input.dims.empty() || input.dims[0] != kHalf) continue;
      const size_t row = input.bytes / kHalf;
      std::memset(static_cast<char*>(buffers[i]) + 123 * row, 0, row);
    }
  };
}

const char* const kConvolutions = R"({"sheaf": "1.0", "name": "m", "inputs": {"x": {"shape": ["batch", 2, 5, 5]}},
  "layers": [{"name": "net", "type": "DataParallel", "module": {"type": "Sequential", "layers": [
    {"name": "conv", "type": "Conv2d", "in_channels": 2, "out_channels": 4, "kernel_size": 3},
    {"name": "norm", "type": "BatchNorm2d", "num_features": 4}, {"name": "act", "type": "ReLU"},
    {"name": "flat", "type": "Flatten"}, {"name": "fc", "type": "Linear", "in_features": 36, "out_features": 3}]}}],
  "training": {"targets": {"y": {"shape": ["batch", 3]}}, "loss": {"type": "MSELoss", "inputs": ["net", "y"]},
               "optimizer": {"type": "Adam", "lr": 0.01}}})";

TEST(VerifySmallFaults, NoneWithoutAFault) {
  for (const std::string& text : {perceptron(kLayers), std::string(kConvolutions)}) {
    const Plan plan = compiled(text);
    const Verification found = verified(plan, on_two({}));
    EXPECT_TRUE(found.passed()) << explained(found);
    const Verification alike = compared(plan, unpartitioned(text), on_two({}), {false, text == kConvolutions});
    EXPECT_TRUE(alike.passed()) << explained(alike);
  }
}

TEST(VerifySmallFaults, AScatterThatLosesARow) {
  const Divergence found =
      divergence(verified(compiled(perceptron(kLayers)), on_two({without_last_row(5 * sizeof(float)), {}})));
  EXPECT_EQ(found.op, "scatter");
  EXPECT_EQ(found.index[0], kRows - 1);
}

TEST(VerifySmallFaults, AGatherThatLosesARow) {
  const Divergence found =
      divergence(verified(compiled(perceptron(kLayers)), on_two({without_last_row(3 * sizeof(float)), {}})));
  EXPECT_TRUE(found.op == "gather" || found.op == "scatter") << found.op;
  EXPECT_EQ(found.index[0] % kHalf, kHalf - 1);
}

TEST(VerifySmallFaults, SumsThatLoseARow) {
  for (const auto& [text, op] : {std::pair{perceptron(kLayers), Op::linear_backward_weight},
                                 {std::string(kConvolutions), Op::linear_backward_weight},
                                 {std::string(kConvolutions), Op::conv_backward_weight},
                                 {std::string(kConvolutions), Op::batch_norm_backward},
                                 {std::string(kConvolutions), Op::batch_norm_train}}) {
    VerifyOptions options = on_two({{}, without_a_row(op)});
    options.infer = false;
    const Divergence found = divergence(verified(compiled(text), options));
    EXPECT_EQ(found.op, to_string(op)) << to_text(found);
    EXPECT_EQ(found.replica, 1);
  }
}

/// From end to end the same faults show in the gradients and in the optimiser's results.
TEST(VerifySmallFaults, AreFoundEndToEnd) {
  for (Op op : {Op::linear_backward_weight, Op::linear_backward_data}) {
    const std::string text = perceptron(kLayers);
    EXPECT_EQ(divergence(compared(compiled(text), unpartitioned(text), on_two({{}, without_a_row(op)}))).check, "model")
        << to_string(op);
  }
}

/// A thousandth too much, as from a mean over 999 of 1000 rows.
TEST(VerifySmallFaults, AWrongDivisor) {
  const auto scaled = [](const std::string& factor) {
    return perceptron(kLayers + R"(, {"name": "scale", "type": "Scale", "value": )" + factor + "}");
  };
  const Plan wrong = compiled(scaled("1.001")), right = unpartitioned(scaled("1.0"));
  VerifyOptions options = on_two({});
  for (const bool infer : {true, false}) {
    options.infer = infer;
    EXPECT_EQ(divergence(compared(wrong, right, options)).check, "model");
  }
}

/// One replica of eight isn't added.
TEST(VerifySmallFaults, AReduceWithoutAReplica) {
  const std::string text = perceptron(kLayers);
  Plan plan = compiled(text);
  VerifyOptions options = on("cpu:0-7", kRows);
  options.infer = false;
  ASSERT_TRUE(verified(plan, options).passed());
  const Plan reference = unpartitioned(text);
  for (Step& step : plan.train.steps)
    if (step.op == Op::reduce) step.op = Op::first;
  EXPECT_EQ(divergence(compared(plan, reference, options)).check, "model");
}

}  // namespace
}  // namespace sheaf
