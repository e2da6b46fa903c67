// Randomly drawn steps of every library operation, compared with loops in double precision.
#include "runtime/ops/recurrent.h"
#include "runtime/plan/op_list.h"
#include "tests/unit/runtime/cpu/draw.h"
#include "tests/unit/runtime/cpu/draw_recurrent.h"
#include "tests/unit/runtime/cpu/reference.h"

#include <gtest/gtest.h>

namespace sheaf::test {
namespace {

void add_extras(Draw& draw, StepCase& c, int64_t channels, bool residual) {
  if (draw.chance(60)) c.operands.push_back({"bias", draw.tensor({channels}), true});
  if (draw.chance(60)) c.attributes["activation"] = draw.activation();
  if (residual) {
    StepCase bare = c;
    c.operands.push_back({"residual", draw.tensor(reference(bare)[0].dims), false});
    c.alias_residual = draw.chance(50);
  }
}

StepCase draw_conv(Draw& draw, bool transpose) {
  const size_t rank = draw.number(1, 2);
  const int64_t groups = draw.one_of<int64_t>({1, 1, 1, 2, 4});
  const bool depthwise = draw.chance(15);
  const int64_t g = depthwise ? draw.one_of<int64_t>({8, 16, 20}) : groups;
  const int64_t in = depthwise ? g : g * draw.one_of<int64_t>({1, 2, 3, 8, 16, 17}),
                out = depthwise ? g : g * draw.one_of<int64_t>({1, 2, 5, 8, 16, 19});
  StepCase c;
  c.op = transpose ? Op::conv_transpose : Op::conv;
  Dims x = {draw.batch(), in}, weight = transpose ? Dims{in, out / g} : Dims{out, in / g};
  Dims kernel = draw.numbers(rank, 1, 4), stride = draw.numbers(rank, 1, 3), dilation = draw.numbers(rank, 1, 2);
  Dims begin(rank), end(rank), extra(rank);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t reach = dilation[i] * (kernel[i] - 1) + 1;
    begin[i] = draw.number(0, transpose ? std::min<int64_t>(2, (reach - 1) / 2) : 2);
    end[i] = draw.chance(30) ? draw.number(0, 2) : begin[i];
    x.push_back(draw.number(std::max<int64_t>(1, reach - begin[i] - end[i]), 12));
    extra[i] = draw.number(0, std::max(stride[i], dilation[i]) - 1);
  }
  weight.insert(weight.end(), kernel.begin(), kernel.end());
  c.attributes = {{"stride", stride}, {"dilation", dilation}, {"groups", g}};
  if (transpose) {
    c.attributes["padding"] = begin;
    c.attributes["output_padding"] = extra;
  } else {
    c.attributes["padding_begin"] = begin;
    c.attributes["padding_end"] = end;
  }
  c.operands = {{"x", draw.tensor(x), false}, {"weight", draw.tensor(weight, 0.3), draw.chance(60)}};
  add_extras(draw, c, out, !transpose && draw.chance(40));
  return c;
}

StepCase draw_linear(Draw& draw) {
  StepCase c;
  c.op = Op::linear;
  const int64_t in = draw.one_of<int64_t>({0, 1, 5, 16, 33, 64, 200}), out = draw.one_of<int64_t>({1, 2, 10, 16, 65, 128});
  Dims x = draw.numbers(draw.number(0, 2), 1, 4);
  if (!x.empty()) x[0] = draw.batch();
  x.push_back(in);
  c.operands = {{"x", draw.tensor(x), false}, {"weight", draw.tensor({out, in}, 0.3), draw.chance(80)}};
  add_extras(draw, c, out, draw.chance(40));
  return c;
}

StepCase draw_matmul(Draw& draw) {
  StepCase c;
  c.op = Op::matmul;
  const int64_t inner = draw.number(0, 20);
  Dims a, b;
  const size_t rank = draw.number(0, 3);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t size = draw.batch();
    a.push_back(draw.chance(30) ? 1 : size);
    b.push_back(draw.chance(30) ? 1 : size);
  }
  if (rank > 0 && draw.chance(30)) a.erase(a.begin(), a.begin() + draw.number(1, int64_t(rank)));
  if (rank > 0 && draw.chance(30)) b.erase(b.begin(), b.begin() + draw.number(1, int64_t(rank)));
  if (!a.empty() || draw.chance(70)) a.push_back(draw.number(1, 20));
  a.push_back(inner);
  const bool matrix = !b.empty() || draw.chance(70);
  b.push_back(inner);
  if (matrix) b.push_back(draw.number(1, 40));
  c.operands = {{"a", draw.tensor(a), false}, {"b", draw.tensor(b), draw.chance(30)}};
  return c;
}

StepCase draw_pool(Draw& draw) {
  StepCase c;
  c.op = draw.one_of<Op>({Op::max_pool, Op::avg_pool});
  const bool ceil = draw.chance(50), maximum = c.op == Op::max_pool;
  Dims x = {draw.batch(), draw.one_of<int64_t>({1, 3, 16, 20})}, kernel, stride, padding, dilation;
  const size_t rank = draw.number(1, 2);
  const bool dilated = maximum && draw.chance(25);
  for (size_t i = 0; i < rank; ++i) {
    kernel.push_back(draw.number(1, 4));
    stride.push_back(draw.number(1, 3));
    padding.push_back(draw.number(0, kernel.back() / 2));
    dilation.push_back(dilated ? 2 : 1);
    const int64_t reach = dilation.back() * (kernel.back() - 1) + 1;
    x.push_back(draw.number(std::max<int64_t>(1, reach - 2 * padding.back()), 13));
  }
  c.attributes = {{"kernel_size", kernel}, {"stride", stride}, {"padding", padding}, {"ceil_mode", ceil}};
  if (maximum) c.attributes["dilation"] = dilation;
  else {
    c.attributes["count_include_pad"] = draw.chance(50);
    c.attributes["divisor_override"] = draw.chance(25) ? 3 : 0;
  }
  c.operands = {{"x", draw.tensor(x), false}};
  return c;
}

StepCase draw_adaptive(Draw& draw) {
  StepCase c;
  c.op = Op::adaptive_avg_pool;
  Dims x = {draw.batch(), draw.one_of<int64_t>({1, 3, 16, 20})}, y = x;
  for (int64_t i = draw.number(1, 2); i > 0; --i) {
    x.push_back(draw.number(1, 13));
    y.push_back(draw.number(1, 15));
  }
  c.operands = {{"x", draw.tensor(x), false}};
  c.outputs = {y};
  return c;
}

void check_inference(StepCase c, Draw& draw) {
  c.threads = draw.threads();
  SCOPED_TRACE(describe(c));
  const std::vector<Tensor> expected = reference(c);
  c.outputs.clear();
  for (const Tensor& tensor : expected) c.outputs.push_back(tensor.dims);
  auto run = run_step(c);
  ASSERT_TRUE(bool(run)) << to_string(run.error());
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_LT(relative_error(run->outputs[i], expected[i]), 1e-5) << "output " << i << " by " << run->implementation;
}

class RandomSteps : public testing::TestWithParam<uint32_t> {};

TEST_P(RandomSteps, conv_agrees_with_loops) {
  Draw draw(GetParam());
  for (int i = 0; i < 20; ++i) check_inference(draw_conv(draw, false), draw);
}
TEST_P(RandomSteps, conv_transpose_agrees_with_loops) {
  Draw draw(GetParam());
  for (int i = 0; i < 15; ++i) check_inference(draw_conv(draw, true), draw);
}
TEST_P(RandomSteps, linear_agrees_with_loops) {
  Draw draw(GetParam());
  for (int i = 0; i < 20; ++i) check_inference(draw_linear(draw), draw);
}
TEST_P(RandomSteps, matmul_agrees_with_loops) {
  Draw draw(GetParam());
  for (int i = 0; i < 20; ++i) check_inference(draw_matmul(draw), draw);
}
TEST_P(RandomSteps, pooling_agrees_with_loops) {
  Draw draw(GetParam());
  for (int i = 0; i < 25; ++i) check_inference(draw_pool(draw), draw);
}
TEST_P(RandomSteps, adaptive_pooling_agrees_with_loops) {
  Draw draw(GetParam());
  for (int i = 0; i < 15; ++i) check_inference(draw_adaptive(draw), draw);
}
TEST_P(RandomSteps, recurrent_steps_agree_with_loops) {
  Draw draw(GetParam());
  for (int i = 0; i < 15; ++i) {
    const Op op = draw.one_of<Op>({Op::lstm, Op::gru, Op::rnn});
    const int64_t hidden = draw.one_of<int64_t>({1, 3, 16, 20});
    check_inference(draw_recurrent(draw, op, draw.batch(), hidden), draw);
  }
}

INSTANTIATE_TEST_SUITE_P(seeds, RandomSteps, testing::Values(1u, 2u, 3u, 4u));

}  // namespace
}  // namespace sheaf::test
