// NaN in an operand of a Winograd convolution or gradient: the results that depend on it are NaN, those of other images,
// channels or far pixels are not. (Those of the same tile may be.)
#include "runtime/machine/isa.h"
#include "runtime/plan/op_list.h"
#include "tests/unit/runtime/cpu/draw.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

namespace sheaf::test {
namespace {

const float kNan = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();

float& at(Tensor& tensor, const Dims& place) {
  int64_t index = 0;
  for (size_t i = 0; i < tensor.dims.size(); ++i) index = index * tensor.dims[i] + place[i];
  return tensor.data[size_t(index)];
}

enum class Must { be_nan, be_finite, be_anything };
using Rule = std::function<Must(const Dims& place)>;

void expect(const Rule& rule, const Tensor& tensor) {
  Dims place(tensor.dims.size());
  for (int64_t i = 0; i < tensor.size(); ++i) {
    int64_t rest = i;
    for (size_t d = place.size(); d-- > 0; rest /= tensor.dims[d]) place[d] = rest % tensor.dims[d];
    const Must must = rule(place);
    if (must == Must::be_nan) ASSERT_TRUE(std::isnan(tensor.data[size_t(i)])) << Json(place).dump();
    if (must == Must::be_finite) ASSERT_TRUE(std::isfinite(tensor.data[size_t(i)])) << Json(place).dump();
  }
}

/// A pixel's neighbours are NaN; pixels that share no tile with it are not.
Rule around(int64_t image, int64_t row, int64_t column) {
  return [=](const Dims& place) {
    const int64_t distance = std::max(std::abs(place[2] - row), std::abs(place[3] - column));
    if (place[0] != image || distance > 5) return Must::be_finite;
    return distance <= 1 ? Must::be_nan : Must::be_anything;
  };
}

/// All elements with this index along an axis are NaN, no others.
Rule along(size_t axis, int64_t index) {
  return [=](const Dims& place) { return place[axis] == index ? Must::be_nan : Must::be_finite; };
}

/// What products are of; split: f32 in two parts.
enum class Operands { f32, bf16, split };

class WinogradNan : public testing::TestWithParam<Operands> {
 protected:
  void SetUp() override {
    if (!has_avx2()) GTEST_SKIP() << "this CPU has no AVX2";
    if (GetParam() == Operands::bf16 && !has_bf16()) GTEST_SKIP() << "this CPU has no bf16";
    if (split && !has_amx()) GTEST_SKIP() << "this CPU has no AMX";
  }

  StepCase step(Op op, std::vector<Operand> operands, const Json& more, std::vector<Dims> outputs) {
    StepCase c{
        op, std::move(operands), {{"stride", {1, 1}}, {"padding_begin", {1, 1}}, {"padding_end", {1, 1}}}, std::move(outputs)};
    c.attributes.update(more);
    c.fast = true;
    c.bf16 = GetParam() == Operands::bf16;
    c.candidate = split ? "winograd_split" : "winograd";
    return c;
  }
  StepCase forward(const Json& more = Json::object()) {
    return step(
        Op::conv,
        {{"x", draw.tensor(x)}, {"weight", draw.tensor(w)}, {"bias", draw.tensor({y[1]})}, {"residual", draw.tensor(y)}}, more,
        {y});
  }
  StepCase data() {
    return step(Op::conv_backward_data, {{"dy", draw.tensor(y)}, {"weight", draw.tensor(w)}}, {{"size", {8, 15}}}, {x});
  }
  StepCase weight() {
    return step(Op::conv_backward_weight, {{"x", draw.tensor(x)}, {"dy", draw.tensor(y)}},
                {{"kernel_size", {3, 3}}, {"bias", true}}, {w, {y[1]}});
  }

  /// With `value` at `place` of an operand, the outputs follow the rules.
  void check(StepCase c, const std::string& role, const Dims& place, const std::vector<Rule>& rules, float value = kNan) {
    SCOPED_TRACE(to_string(c.op) + " with it in " + role + " " + c.attributes.dump());
    for (Operand& operand : c.operands)
      if (operand.role == role) at(operand.value, place) = value;
    const auto run = run_step(c);
    ASSERT_TRUE(bool(run)) << to_string(run.error());
    EXPECT_EQ(run->candidate, c.candidate);
    for (size_t i = 0; i < rules.size(); ++i) expect(rules[i], run->outputs[i]);
  }

  const bool split = GetParam() == Operands::split;  // wants whole units of the depth: of channels, and of images for dweight
  const Dims x = {split ? 32 : 2, 32, 8, 15}, w = {split ? 64 : 48, 32, 3, 3},
             y = {x[0], w[0], 8, 15};  // 16 tiles of two images
  Draw draw{3};
};

TEST_P(WinogradNan, of_an_operand_reaches_y_through_relu) {
  const std::vector<Json> activations = {
      Json::object(), {{"activation", {{"kind", "relu"}}}}, {{"activation", {{"kind", "leaky_relu"}}}}};
  for (const Json& activation : activations) {
    check(forward(activation), "x", {1, 7, 4, 3}, {around(1, 4, 3)});
    check(forward(activation), "x", {0, 31, 0, 14}, {around(0, 0, 14)});
    check(forward(activation), "weight", {40, 7, 1, 1}, {along(1, 40)});
    check(forward(activation), "bias", {40}, {along(1, 40)});
    const Dims place = {1, 40, 7, 9};
    check(forward(activation), "residual", place, {[&](const Dims& p) { return p == place ? Must::be_nan : Must::be_finite; }});
  }
}

TEST_P(WinogradNan, of_an_operand_reaches_dx) {
  check(data(), "dy", {1, 40, 4, 3}, {around(1, 4, 3)});
  check(data(), "weight", {40, 7, 1, 1}, {along(1, 7)});
}

TEST_P(WinogradNan, of_an_operand_reaches_the_gradients_of_weight_and_bias) {
  check(weight(), "x", {1, 7, 4, 3}, {along(1, 7), [](const Dims&) { return Must::be_finite; }});
  check(weight(), "dy", {1, 40, 4, 3}, {along(0, 40), along(0, 40)});
}

TEST_P(WinogradNan, is_not_made_of_infinities_in_a_residual) {
  for (const float infinity : {-kInfinity, kInfinity}) {
    StepCase c = forward({{"activation", {{"kind", "relu"}}}});
    at(c.operands[3].value, {0, 1, 2, 3}) = infinity;
    auto run = run_step(c);
    ASSERT_TRUE(bool(run)) << to_string(run.error());
    EXPECT_EQ(run->candidate, c.candidate);
    EXPECT_EQ(at(run->outputs[0], {0, 1, 2, 3}), std::max(0.f, infinity));
  }
}

constexpr const char* names[] = {"f32", "bf16", "split"};
INSTANTIATE_TEST_SUITE_P(of, WinogradNan, testing::Values(Operands::f32, Operands::bf16, Operands::split),
                         [](const auto& info) { return names[size_t(info.param)]; });

}  // namespace
}  // namespace sheaf::test
