// Randomly drawn steps of a training pass, compared with loops in double precision.
#include <gtest/gtest.h>

#include <cstring>

#include "runtime/cpu/dnnl/dnnl_engine.h"
#include "runtime/machine/isa.h"
#include "runtime/plan/op_list.h"
#include "tests/unit/runtime/cpu/draw.h"
#include "tests/unit/runtime/cpu/reference.h"
#include "tests/unit/runtime/cpu/reference_training.h"
#include "tests/unit/runtime/cpu/training_runner.h"

namespace sheaf::test {
namespace {

std::string layout(Draw& draw) { return draw.one_of<std::string>({"plain", "16c", "last"}); }

TrainingStep step_of(const StepCase& c, Draw& draw) {
  return step_of(c, [&] { return layout(draw); });
}

void compare(const TrainingRun& run, const std::vector<Tensor>& expected, double tolerance) {
  ASSERT_GE(run.outputs.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_LT(relative_error(plain(run.outputs[i]), expected[i]), tolerance) << "output " << i << " by " << run.implementation;
}

/// Draws the operands' formats and the threads; compares.
void check_training(StepCase c, Draw& draw) {
  c.threads = draw.threads();
  SCOPED_TRACE(describe(c));
  auto run = run_training(step_of(c, draw));
  ASSERT_TRUE(bool(run)) << to_string(run.error());
  // Winograd, the fast way, rounds differently; and a single sum may nearly cancel out.
  compare(*run, reference_training(c), c.fast ? 1e-4 : 5e-5);
}

ConvCase draw_conv(Draw& draw) {
  const size_t rank = draw.number(1, 3);
  const bool depthwise = draw.chance(15);
  const int64_t groups = depthwise ? draw.one_of<int64_t>({8, 16, 20}) : draw.one_of<int64_t>({1, 1, 1, 2, 4});
  const int64_t in = depthwise ? 1 : draw.one_of<int64_t>({1, 2, 3, 8, 16, 17}),
                out = depthwise ? 1 : draw.one_of<int64_t>({1, 2, 5, 8, 16, 19});
  ConvCase c;
  const int64_t rows = draw.one_of<int64_t>({1, 2, 5});
  c.x = {rows, in * groups};
  c.weight = {out * groups, in};
  c.y = {rows, out * groups};
  Dims kernel = draw.numbers(rank, 1, 4), stride = draw.numbers(rank, 1, 3), dilation = draw.numbers(rank, 1, 2), begin, end;
  for (size_t i = 0; i < rank; ++i) {
    const int64_t reach = dilation[i] * (kernel[i] - 1) + 1;
    begin.push_back(draw.number(0, 2));
    end.push_back(draw.chance(30) ? draw.number(0, 2) : begin[i]);
    const int64_t least = std::max<int64_t>(1, reach - begin[i] - end[i]);
    c.x.push_back(draw.number(least, std::max<int64_t>(least, rank == 3 ? 6 : 12)));
    c.y.push_back((c.x.back() + begin[i] + end[i] - reach) / stride[i] + 1);
    c.weight.push_back(kernel[i]);
  }
  c.attributes = {
      {"stride", stride}, {"padding_begin", begin}, {"padding_end", end}, {"dilation", dilation}, {"groups", groups}};
  return c;
}

Dims sizes_of(const Dims& dims) { return Dims(dims.begin() + 2, dims.end()); }

void check_conv(const ConvCase& conv, Draw& draw, bool fast) {
  StepCase data;
  data.op = Op::conv_backward_data;
  data.fast = fast;
  data.attributes = conv.attributes;
  data.attributes["size"] = sizes_of(conv.x);
  data.operands = {{"dy", draw.tensor(conv.y)}, {"weight", draw.tensor(conv.weight)}};
  data.outputs = {conv.x};
  check_training(data, draw);
  StepCase weight;
  weight.op = Op::conv_backward_weight;
  weight.fast = fast;
  weight.attributes = conv.attributes;
  weight.attributes["kernel_size"] = sizes_of(conv.weight);
  weight.attributes["bias"] = draw.chance(50);
  weight.operands = {{"x", draw.tensor(conv.x)}, {"dy", draw.tensor(conv.y)}};
  weight.outputs = {conv.weight};
  if (weight.attributes["bias"]) weight.outputs.push_back({conv.weight[0]});
  check_training(weight, draw);
}

class RandomTraining : public testing::TestWithParam<uint32_t> {};

TEST_P(RandomTraining, conv_gradients_agree_with_loops) {
  Draw draw(GetParam());
  for (int i = 0; i < 20; ++i) check_conv(draw_conv(draw), draw, draw.chance(30));
}

/// Sizes for which oneDNN uses Winograd in all three passes; it must agree with the direct way, which the test above compares
/// with loops.
TEST(Winograd, agrees_with_direct_convolution) {
  Draw draw(1);
  const Dims x = {32, 256, 7, 7}, w = {256, 256, 3, 3};
  TrainingStep step;
  step.threads = 2;
  step.attributes = {
      {"stride", {1, 1}}, {"padding_begin", {1, 1}}, {"padding_end", {1, 1}}, {"dilation", {1, 1}}, {"groups", 1}};
  struct Pass {
    Op op;
    std::string first, second;
    Dims a, b, result;
    Json attributes;
  };
  const Pass passes[] = {{Op::conv, "x", "weight", x, w, x, Json::object()},
                         {Op::conv_backward_data, "dy", "weight", x, w, x, {{"size", {7, 7}}}},
                         {Op::conv_backward_weight, "x", "dy", x, x, w, {{"kernel_size", {3, 3}}, {"bias", false}}}};
  for (const Pass& pass : passes) {
    SCOPED_TRACE(to_string(pass.op));
    TrainingStep direct = step;
    direct.op = pass.op;
    direct.attributes.update(pass.attributes);
    direct.operands = {{pass.first, store(draw.tensor(pass.a), "16c")}, {pass.second, store(draw.tensor(pass.b))}};
    direct.outputs = {pass.result};
    TrainingStep fast = direct;
    fast.fast = true;
    auto expected = run_training(direct), run = run_training(fast);
    ASSERT_TRUE(bool(expected)) << to_string(expected.error());
    ASSERT_TRUE(bool(run)) << to_string(run.error());
    EXPECT_LT(relative_error(plain(run->outputs[0]), plain(expected->outputs[0])), 1e-4);
    if (has_avx512()) EXPECT_NE(run->implementation.find("wino"), std::string::npos) << run->implementation;
  }
}

TEST_P(RandomTraining, linear_gradients_agree_with_loops) {
  Draw draw(GetParam());
  for (int i = 0; i < 20; ++i) {
    const int64_t in = draw.one_of<int64_t>({0, 1, 5, 16, 33, 64, 200}), out = draw.one_of<int64_t>({1, 2, 10, 16, 65, 128});
    Dims x = draw.numbers(draw.number(0, 2), 1, 40), dy = x;
    x.push_back(in);
    dy.push_back(out);
    StepCase data;
    data.op = Op::linear_backward_data;
    data.operands = {{"dy", draw.tensor(dy)}, {"weight", draw.tensor({out, in})}};
    data.outputs = {x};
    check_training(data, draw);
    StepCase weight;
    weight.op = Op::linear_backward_weight;
    weight.attributes["bias"] = draw.chance(50);
    weight.operands = {{"x", draw.tensor(x)}, {"dy", draw.tensor(dy)}};
    weight.outputs = {{out, in}};
    if (weight.attributes["bias"]) weight.outputs.push_back({out});
    check_training(weight, draw);
  }
}

Tensor transposed(const Tensor& tensor) {
  Tensor result = tensor;
  const size_t rank = tensor.dims.size();
  const int64_t rows = tensor.dims[rank - 2], columns = tensor.dims[rank - 1];
  std::swap(result.dims[rank - 1], result.dims[rank - 2]);
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const int64_t matrix = i / (rows * columns), row = i / columns % rows, column = i % columns;
    result.data[matrix * rows * columns + column * rows + row] = tensor.data[i];
  }
  return result;
}

TEST_P(RandomTraining, matmul_of_transposed_matrices_agrees_with_loops) {
  Draw draw(GetParam());
  for (int i = 0; i < 25; ++i) {
    StepCase c;
    c.op = Op::matmul;
    Dims a, b;
    for (int64_t d = draw.number(0, 3); d > 0; --d) {
      const int64_t size = draw.number(1, 4);
      a.push_back(draw.chance(30) ? 1 : size);
      b.push_back(draw.chance(30) ? 1 : size);
    }
    if (draw.chance(30)) a.clear();
    if (draw.chance(30)) b.clear();
    const int64_t inner = draw.number(0, 20);
    a.insert(a.end(), {draw.number(1, 20), inner});
    b.insert(b.end(), {inner, draw.number(1, 40)});
    const Tensor left = draw.tensor(a), right = draw.tensor(b);
    c.operands = {{"a", left, false}, {"b", right, draw.chance(30)}};
    const std::vector<Tensor> expected = reference(c);
    c.outputs = {expected[0].dims};
    const int which = int(draw.number(1, 3));
    if (which & 1) c.operands[0].value = transposed(left);
    if (which & 2) c.operands[1].value = transposed(right);
    c.attributes = {{"transpose_a", bool(which & 1)}, {"transpose_b", bool(which & 2)}};
    c.threads = draw.threads();
    SCOPED_TRACE(describe(c));
    auto run = run_step(c);
    ASSERT_TRUE(bool(run)) << to_string(run.error());
    EXPECT_LT(relative_error(run->outputs[0], expected[0]), 1e-5) << run->implementation;
  }
}

TEST_P(RandomTraining, batch_norm_agrees_with_loops) {
  Draw draw(GetParam());
  for (int i = 0; i < 25; ++i) {
    const bool affine = draw.chance(70), relu = draw.chance(50);
    Dims dims = {draw.number(2, 6), draw.one_of<int64_t>({1, 3, 16, 20, 32, 33})};
    const Dims sizes = draw.numbers(draw.number(0, 3), 1, 6);
    dims.insert(dims.end(), sizes.begin(), sizes.end());
    const Dims channels = {dims[1]};
    StepCase train;
    train.op = Op::batch_norm_train;
    train.threads = draw.threads();
    train.attributes["eps"] = draw.one_of<double>({1e-5, 1e-3});
    if (relu) train.attributes["activation"] = {{"kind", "relu"}};
    Tensor x = draw.tensor(dims, 2);
    for (float& value : x.data) value += 3;  // a mean that must not harm the variance
    train.operands = {{"x", x}};
    if (affine)
      train.operands.insert(train.operands.end(), {{"weight", draw.tensor(channels)}, {"bias", draw.tensor(channels)}});
    train.outputs = {dims, channels, channels};
    SCOPED_TRACE(describe(train));
    TrainingStep forward = step_of(train, draw);
    if (relu) {
      forward.outputs.push_back({1});
      forward.workspace = 3;
    }
    auto made = run_training(forward);
    ASSERT_TRUE(bool(made)) << to_string(made.error());
    compare(*made, reference_training(train), 1e-5);

    StepCase back;
    back.op = Op::batch_norm_backward;
    back.threads = train.threads;
    back.attributes = train.attributes;
    const Tensor y = plain(made->outputs[0]), mean = plain(made->outputs[1]), var = plain(made->outputs[2]);
    back.operands = {{"x", x}, {"dy", draw.tensor(dims)}, {"mean", mean}, {"var", var}};
    if (affine) back.operands.push_back(train.operands[1]);
    back.outputs = {dims};
    if (affine) back.outputs.insert(back.outputs.end(), {channels, channels});
    TrainingStep backward = step_of(back, draw);
    backward.in_place = draw.chance(50);
    if (relu) {
      backward.operands.emplace_back("workspace", made->outputs[3]);
      back.operands.push_back({"y", y});  // for the reference: where the ReLU was closed
    }
    auto run = run_training(backward);
    ASSERT_TRUE(bool(run)) << to_string(run.error());
    compare(*run, reference_training(back), 1e-4);
  }
}

/// Attributes and shapes of a pooling.
struct PoolCase {
  Json attributes;
  Dims x, y;
};

PoolCase draw_pool(Draw& draw, bool maximum) {
  const size_t rank = draw.number(1, 3);
  const bool dilated = maximum && draw.chance(30), ceil = draw.chance(50);
  PoolCase c;
  c.x = {draw.number(1, 4), draw.one_of<int64_t>({1, 3, 16, 20, 32})};
  c.y = c.x;
  Dims kernel, stride, padding, dilation;
  for (size_t i = 0; i < rank; ++i) {
    kernel.push_back(draw.number(1, 4));
    stride.push_back(draw.number(1, 3));
    padding.push_back(draw.number(0, kernel.back() / 2));
    dilation.push_back(dilated ? 2 : 1);
    const int64_t reach = dilation.back() * (kernel.back() - 1) + 1;
    const int64_t least = std::max<int64_t>(1, reach - 2 * padding.back());
    c.x.push_back(draw.number(least, std::max<int64_t>(least, rank == 3 ? 6 : 13)));
    c.y.push_back(reference_pooled(c.x.back(), kernel.back(), stride.back(), padding.back(), dilation.back(), ceil));
  }
  c.attributes = {{"kernel_size", kernel}, {"stride", stride}, {"padding", padding}, {"ceil_mode", ceil}};
  if (maximum) c.attributes["dilation"] = dilation;
  return c;
}

TEST_P(RandomTraining, max_pool_gradients_agree_with_loops) {
  Draw draw(GetParam());
  for (int i = 0; i < 25; ++i) {
    const PoolCase pool = draw_pool(draw, true);
    StepCase train;
    train.op = Op::max_pool_train;
    train.threads = draw.threads();
    train.attributes = pool.attributes;
    Tensor x = draw.tensor(pool.x);
    for (float& value : x.data) value = std::max(0.f, std::round(2 * value));  // many equal elements, as after a ReLU
    train.operands = {{"x", x}};
    train.outputs = {pool.y, {1}};
    SCOPED_TRACE(describe(train));
    TrainingStep forward = step_of(train, draw);
    forward.workspace = 1;
    auto made = run_training(forward);
    ASSERT_TRUE(bool(made)) << to_string(made.error());
    StepCase inference = train;
    inference.op = Op::max_pool;
    EXPECT_EQ(relative_error(plain(made->outputs[0]), reference(inference)[0]), 0.0);

    StepCase back = train;
    back.op = Op::max_pool_backward;
    back.attributes["size"] = sizes_of(pool.x);
    back.operands = {{"dy", draw.tensor(pool.y)}};
    back.outputs = {pool.x};
    TrainingStep backward = step_of(back, draw);
    backward.operands.emplace_back("workspace", made->outputs[1]);
    back.operands.push_back({"x", x});  // for the reference
    auto run = run_training(backward);
    ASSERT_TRUE(bool(run)) << to_string(run.error());
    compare(*run, reference_training(back), 1e-6);
  }
}

TEST_P(RandomTraining, average_pool_gradients_agree_with_loops) {
  Draw draw(GetParam());
  for (int i = 0; i < 25; ++i) {
    const PoolCase pool = draw_pool(draw, false);
    StepCase c;
    c.op = Op::avg_pool_backward;
    c.attributes = pool.attributes;
    c.attributes["count_include_pad"] = draw.chance(50);
    c.attributes["divisor_override"] = draw.chance(25) ? 3 : 0;
    c.attributes["size"] = sizes_of(pool.x);
    c.operands = {{"dy", draw.tensor(pool.y)}};
    c.outputs = {pool.x};
    check_training(c, draw);
  }
}

TEST_P(RandomTraining, adaptive_pool_gradients_agree_with_loops) {
  Draw draw(GetParam());
  for (int i = 0; i < 20; ++i) {
    const Dims start = {draw.number(1, 4), draw.one_of<int64_t>({1, 3, 16, 20, 32})};
    Dims x = start, y = start;
    for (int64_t d = draw.number(1, 3); d > 0; --d) {
      y.push_back(draw.number(1, 4));
      x.push_back(draw.chance(50) ? y.back() * draw.number(1, 3) : draw.number(1, 9));
    }
    StepCase c;
    c.op = Op::adaptive_avg_pool_backward;
    c.attributes["size"] = sizes_of(x);
    c.operands = {{"dy", draw.tensor(y)}};
    c.outputs = {x};
    check_training(c, draw);
  }
}

TEST_P(RandomTraining, reduce_adds_from_left_to_right) {
  Draw draw(GetParam());
  for (int i = 0; i < 20; ++i) {
    TrainingStep step;
    step.op = Op::reduce;
    Dims dims = draw.one_of<Dims>({{}, {5}, {17, 3}, {3, 20, 5, 5}, {2, 32, 40, 41}});
    step.outputs = {dims};
    step.threads = draw.threads();
    step.in_place = draw.chance(50);
    Tensor expected(dims);
    const int64_t inputs = draw.number(1, 20);
    for (int64_t k = 0; k < inputs; ++k) {
      const Tensor x = draw.tensor(dims, k % 3 ? 1 : 1e4);  // so that another order gives other bits
      for (int64_t j = 0; j < x.size(); ++j) expected.data[j] = k == 0 ? x.data[j] : expected.data[j] + x.data[j];
      step.operands.emplace_back("x" + std::to_string(k), store(x, layout(draw)));
    }
    auto run = run_training(step);
    ASSERT_TRUE(bool(run)) << to_string(run.error());
    const Tensor sum = plain(run->outputs[0]);
    EXPECT_EQ(std::memcmp(sum.data.data(), expected.data.data(), sum.data.size() * sizeof(float)), 0)
        << inputs << " inputs of " << Json(dims).dump();
    EXPECT_TRUE(same_format(run->outputs[0].spec, step.operands[0].second.spec));
  }
}

INSTANTIATE_TEST_SUITE_P(seeds, RandomTraining, testing::Values(1u, 2u, 3u, 4u));

}  // namespace
}  // namespace sheaf::test
