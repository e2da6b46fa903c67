// Forward and backward passes on a caller's parameters: sheaf/gradients.h.
#include "sheaf/compiler.h"
#include "sheaf/gradients.h"

#include <gtest/gtest.h>

#include <vector>

namespace sheaf {
namespace {

constexpr const char* kModel = R"({"sheaf": "1.0", "name": "m", "inputs": {"x": {"shape": ["batch", 2]}}, "layers": [
  {"name": "net", "type": "DataParallel", "module": {"type": "Linear", "in_features": 2, "out_features": 1}}]})";

constexpr const char* kSequences = R"({"sheaf": "1.0", "name": "m", "inputs": {"x": {"shape": ["batch", "seq", 2]}}, "layers": [
  {"name": "net", "type": "DataParallel", "module": {"type": "Linear", "in_features": 2, "out_features": 1}}]})";

Result<Differentiable> differentiable(std::vector<std::string> of, const char* model = kModel) {
  CompilerOptions options;
  options.gradients = "train";
  options.gradients_of = std::move(of);
  SHEAF_ASSIGN(auto compiled, compile_text(model, options, "m.json"));
  // In a file's form.
  SHEAF_ASSIGN(auto plan, SharedPlan::parse(compiled.plan.text(), "m.plan"));
  return Differentiable::from_plan(std::move(plan));
}

std::vector<std::string> names(const std::vector<ValueInfo>& values) {
  std::vector<std::string> found;
  for (const ValueInfo& value : values) found.push_back(value.name);
  return found;
}

TEST(Gradients, OfALinearLayerOnTwoDevices) {
  auto function = differentiable({"x", "net.weight"});
  ASSERT_TRUE(function) << to_string(function.error());
  using Names = std::vector<std::string>;
  EXPECT_EQ(names(function->inputs()), (Names{"x", "net.module.weight", "net.module.bias"}));
  EXPECT_EQ(names(function->outputs()), Names{"net"});
  EXPECT_EQ(names(function->output_gradients()), Names{"net.grad"});
  EXPECT_EQ(names(function->gradients()), (Names{"x.grad", "net.module.weight.grad"}));
  EXPECT_FALSE(function->draws());
  auto devices = DeviceList::open("cpu:0,cpu:1");
  ASSERT_TRUE(devices);
  auto session = function->bind(*devices, 3);
  ASSERT_TRUE(session) << to_string(session.error());
  const std::vector<float> x = {1, 2, 3, 4, 5, 6}, weight = {10, 1}, bias = {100}, dy = {1, 0, 2};
  std::vector<float> y(3), dx(6), dw(2);
  const void* const inputs[] = {x.data(), weight.data(), bias.data()};
  void* const outputs[] = {y.data()};
  const void* const seeds[] = {dy.data()};
  void* const gradients[] = {dx.data(), dw.data()};
  EXPECT_FALSE(session->backward(seeds, gradients)) << "no forward pass was done";
  for (int run = 0; run < 2; ++run) {
    ASSERT_TRUE(session->forward(inputs, outputs, {}));
    EXPECT_EQ(y, (std::vector<float>{112, 134, 156}));
    ASSERT_TRUE(session->backward(seeds, gradients));
    EXPECT_EQ(dx, (std::vector<float>{10, 1, 0, 0, 20, 2}));
    EXPECT_EQ(dw, (std::vector<float>{11, 14}));
    EXPECT_FALSE(session->backward(seeds, gradients)) << "once after each forward pass";
  }
  auto forward = function->bind(*devices, 3, {}, /*backward=*/false);
  ASSERT_TRUE(forward);
  y.assign(3, 0);
  ASSERT_TRUE(forward->forward(inputs, outputs, {}));
  EXPECT_EQ(y[2], 156);
  EXPECT_FALSE(forward->backward(seeds, gradients));
}

TEST(Gradients, OfSequencesOfAnyLength) {
  auto function = differentiable({"x", "net.weight"}, kSequences);
  ASSERT_TRUE(function) << to_string(function.error());
  ASSERT_EQ(function->lengths().size(), 1U);
  EXPECT_EQ(function->lengths()[0].name, "seq");
  EXPECT_EQ(function->inputs()[0].batch_dim, 0);
  auto devices = DeviceList::open("cpu:0,cpu:1");
  ASSERT_TRUE(devices);
  for (const int64_t length : {2, 1}) {
    BindOptions options;
    options.lengths["seq"] = length;
    auto session = function->bind(*devices, 3, options);
    ASSERT_TRUE(session) << to_string(session.error());
    EXPECT_EQ(session->input_shape(0), (std::vector<int64_t>{3, length, 2}));
    EXPECT_EQ(session->output_shape(0), (std::vector<int64_t>{3, length, 1}));
    EXPECT_EQ(session->gradient_shape(0), session->input_shape(0));
    const std::vector<float> x(static_cast<size_t>(6 * length), 2), weight = {10, 1}, bias = {100};
    std::vector<float> dy(static_cast<size_t>(3 * length), 0), y(dy.size()), dx(x.size()), dw(2);
    dy.back() = 3;
    const void* const inputs[] = {x.data(), weight.data(), bias.data()};
    void* const outputs[] = {y.data()};
    const void* const seeds[] = {dy.data()};
    void* const gradients[] = {dx.data(), dw.data()};
    ASSERT_TRUE(session->forward(inputs, outputs, {}));
    EXPECT_EQ(y, std::vector<float>(y.size(), 122));
    ASSERT_TRUE(session->backward(seeds, gradients));
    std::vector<float> expected(x.size(), 0);
    expected[x.size() - 2] = 30;
    expected[x.size() - 1] = 3;
    EXPECT_EQ(dx, expected);
    EXPECT_EQ(dw, (std::vector<float>{6, 6}));
  }
  auto without = function->bind(*devices, 3);
  ASSERT_FALSE(without);
  EXPECT_NE(without.error().message().find("'seq'"), std::string::npos);
}

TEST(Gradients, OfWhatThereIsNotAreRefused) {
  auto function = differentiable({"net.wieght"});
  ASSERT_FALSE(function);
  EXPECT_NE(function.error().message().find("'net.wieght'"), std::string::npos);
  auto plain = compile_text(kModel, {}, "m.json");
  ASSERT_TRUE(plain);
  EXPECT_FALSE(Differentiable::from_plan(plain->plan));
}

}  // namespace
}  // namespace sheaf
