// Arithmetic and traffic of operations, against numbers worked out by hand.
#include "runtime/cost/cost.h"
#include "runtime/cost/description.h"
#include "runtime/plan/op_list.h"

#include <gtest/gtest.h>

namespace sheaf {
namespace {

struct Case {
  Step step;
  std::vector<TensorSpec> inputs, outputs;

  Case(Op op, Json attributes = Json::object()) {
    step.op = op;
    step.attributes = std::move(attributes);
  }
  Case& in(std::string role, std::vector<int64_t> dims) {
    step.roles.push_back(std::move(role));
    inputs.push_back(plain_tensor(DType::float32, std::move(dims)));
    return *this;
  }
  Case& out(std::vector<int64_t> dims) {
    outputs.push_back(plain_tensor(DType::float32, std::move(dims)));
    return *this;
  }
  Cost cost(const Plan& plan = {}) const { return operation_cost(plan, step, inputs, outputs); }
  double flops() const { return cost().flops; }
};

TEST(Cost, Convolutions) {
  // 2·8·16·14·14 outputs, each a sum over 4 input channels of a group and 9 taps.
  const double products = 2.0 * (2 * 16 * 14 * 14) * (4 * 9);
  const double y = 2 * 16 * 14 * 14;
  EXPECT_EQ(Case(Op::conv).in("x", {2, 8, 28, 28}).in("weight", {16, 4, 3, 3}).out({2, 16, 14, 14}).flops(), products);
  EXPECT_EQ(Case(Op::conv, {{"activation", {{"kind", "relu"}}}})
                .in("x", {2, 8, 28, 28})
                .in("weight", {16, 4, 3, 3})
                .in("bias", {16})
                .in("residual", {2, 16, 14, 14})
                .out({2, 16, 14, 14})
                .flops(),
            products + 3 * y);
  EXPECT_EQ(Case(Op::conv_backward_data).in("dy", {2, 16, 14, 14}).in("weight", {16, 4, 3, 3}).out({2, 8, 28, 28}).flops(),
            products);
  EXPECT_EQ(Case(Op::conv_backward_weight, {{"bias", true}})
                .in("x", {2, 8, 28, 28})
                .in("dy", {2, 16, 14, 14})
                .out({16, 4, 3, 3})
                .out({16})
                .flops(),
            products + y);
  // Each input element meets every weight of its channel once.
  EXPECT_EQ(Case(Op::conv_transpose).in("x", {2, 8, 7, 7}).in("weight", {8, 4, 4, 4}).out({2, 4, 14, 14}).flops(),
            2.0 * (2 * 8 * 7 * 7) * (4 * 16));
}

TEST(Cost, LookupsReadWhatTheyWrite) {
  Plan plan;
  plan.kernels.push_back({.name = "k"});
  const auto read = [&](Json attributes, std::vector<int64_t> table, std::vector<int64_t> found) {
    Case kernel(Op::kernel, std::move(attributes));
    kernel.in("x", {3}).in("x1", std::move(table)).out(std::move(found));
    kernel.step.kernel = "k";
    return kernel.cost(plan).read_bytes;
  };
  EXPECT_EQ(read(Json::object(), {1000, 8}, {3, 8}), 4 * (3 + 8000));
  EXPECT_EQ(read({{"status", 1}}, {1000, 8}, {3, 8}), 4 * (3 + 24));
  EXPECT_EQ(read({{"lookup_dim", 1}}, {3, 1000}, {3}), 4 * (3 + 3));
  EXPECT_EQ(read({{"status", 1}}, {2, 8}, {3, 8}), 4 * (3 + 16));  // twice the same entry
}

TEST(Cost, Products) {
  EXPECT_EQ(Case(Op::linear).in("x", {5, 7, 10}).in("weight", {20, 10}).in("bias", {20}).out({5, 7, 20}).flops(),
            35 * 20 * (2 * 10 + 1.0));
  EXPECT_EQ(Case(Op::linear_backward_data).in("dy", {35, 20}).in("weight", {20, 10}).out({35, 10}).flops(), 2.0 * 35 * 10 * 20);
  EXPECT_EQ(Case(Op::linear_backward_weight).in("x", {35, 10}).in("dy", {35, 20}).out({20, 10}).out({20}).flops(),
            2.0 * 35 * 20 * 10 + 35 * 20);
  EXPECT_EQ(Case(Op::matmul).in("a", {3, 4, 5}).in("b", {3, 5, 6}).out({3, 4, 6}).flops(), 2.0 * 3 * 4 * 5 * 6);
  EXPECT_EQ(Case(Op::matmul, {{"transpose_a", true}}).in("a", {3, 5, 4}).in("b", {3, 5, 6}).out({3, 4, 6}).flops(),
            2.0 * 3 * 4 * 5 * 6);
}

TEST(Cost, RecurrentLayersMultiplyEveryWeightAtEachStep) {
  Case lstm(Op::lstm,
            {{"hidden_size", 6}, {"num_layers", 1}, {"bidirectional", false}, {"batch_first", false}, {"bias", false}});
  lstm.in("x", {11, 3, 8}).in("weight_ih_l0", {24, 8}).in("weight_hh_l0", {24, 6}).out({11, 3, 6});
  EXPECT_EQ(lstm.flops(), 33 * (2.0 * 24 * (8 + 6) + 6 * 24));
  Case backward = lstm;
  backward.step.op = Op::lstm_backward;
  EXPECT_EQ(backward.flops(), 33 * (4.0 * 24 * (8 + 6) + 6 * 24));
}

TEST(Cost, PoolsAndNorms) {
  const Json window = {{"kernel_size", {3, 2}}};
  EXPECT_EQ(Case(Op::max_pool, window).in("x", {1, 4, 9, 8}).out({1, 4, 3, 4}).flops(), 6 * 48);
  EXPECT_EQ(Case(Op::max_pool_backward, window).in("dy", {1, 4, 3, 4}).in("workspace", {1}).out({1, 4, 9, 8}).flops(), 48);
  EXPECT_EQ(Case(Op::adaptive_avg_pool).in("x", {1, 4, 9, 8}).out({1, 4, 1, 1}).flops(), 288);
  EXPECT_EQ(Case(Op::batch_norm_train).in("x", {2, 4, 5, 5}).out({2, 4, 5, 5}).out({4}).out({4}).flops(), 6 * 200);
}

TEST(Cost, KernelsSayThemselves) {
  Plan plan;
  plan.kernels.resize(2);
  plan.kernels[0].name = "other";
  plan.kernels[0].arithmetic = {{100, 0}};
  plan.kernels[1].name = "mean_1";
  plan.kernels[1].arithmetic = {{3, 0, 30}, {1, 2, 2}, {7, 9, 7}};  // the last names no operand: nothing
  Case kernel(Op::kernel);
  kernel.step.kernel = "mean_1";
  kernel.in("x", {4, 5}).in("x1", {4}).out({4});
  EXPECT_EQ(kernel.cost(plan).flops, 3 * 20 + 4);
  EXPECT_EQ(kernel.cost(plan).instructions, 30 * 20 + 2 * 4);
  kernel.step.kernel = "gone";
  EXPECT_EQ(kernel.cost(plan).flops, 0);
}

TEST(Cost, TrafficIsEachOperandOnce) {
  const Cost cost = Case(Op::reduce).in("x0", {10}).in("x1", {10}).in("x2", {10}).out({10}).cost();
  EXPECT_EQ(cost.flops, 20);
  EXPECT_EQ(cost.read_bytes, 120);
  EXPECT_EQ(cost.written_bytes, 40);
  EXPECT_EQ(Case(Op::view).in("x", {10}).out({2, 5}).cost().bytes(), 0) << "another name for the same memory";
  EXPECT_EQ(Case(Op::reorder).in("x", {10}).out({10}).cost().bytes(), 80);
  EXPECT_EQ(Case(Op::reorder).in("x", {10}).out({10}).cost().flops, 0);
}

TEST(Cost, RooflineTakesTheLargerPart) {
  const Roofline roofline{100, 10, 1};
  EXPECT_DOUBLE_EQ(seconds(roofline, {400, 10, 10}), 5);
  EXPECT_EQ(bound_by(roofline, {400, 10, 10}), Bound::compute);
  EXPECT_DOUBLE_EQ(seconds(roofline, {400, 10, 10, 900}), 10) << "what its flops take";
  EXPECT_DOUBLE_EQ(seconds(roofline, {400, 50, 10}), 7);
  EXPECT_EQ(bound_by(roofline, {400, 50, 10}), Bound::memory);
  EXPECT_EQ(bound_by(roofline, {1, 1, 0}), Bound::overhead);
}

TEST(Cost, LanesShareTheMachine) {
  DeviceDescription cpu;
  cpu.cores = 4;
  cpu.flops_per_second = 400;
  cpu.bytes_per_second = 40;
  cpu.core_bytes_per_second = 20;
  cpu.cache_bytes = 400;
  cpu.cache_bytes_per_second = 800;
  cpu.operations[Op::conv] = 200;
  EXPECT_DOUBLE_EQ(lane_roofline(cpu, 2, 4, Op::linear, DType::float32, 1e6).flops_per_second, 200);
  EXPECT_DOUBLE_EQ(lane_roofline(cpu, 2, 4, Op::conv, DType::float32, 1e6).flops_per_second, 100);
  EXPECT_DOUBLE_EQ(lane_roofline(cpu, 2, 4, Op::conv, DType::float32, 1e6).bytes_per_second, 20) << "half of the bandwidth";
  EXPECT_DOUBLE_EQ(lane_roofline(cpu, 1, 1, Op::conv, DType::float32, 1e6).bytes_per_second, 20)
      << "no more than a core can move";
  EXPECT_DOUBLE_EQ(lane_roofline(cpu, 2, 4, Op::conv, DType::float32, 100).bytes_per_second, 400) << "in the cache";
  EXPECT_DOUBLE_EQ(lane_cache(cpu, 2, 4), 200);
  EXPECT_DOUBLE_EQ(lane_roofline(cpu, 2, 4, Op::conv, DType::float32, 1000, 400).bytes_per_second,
                   1000 / (400 / 400. + 600 / 20.))
      << "a part of it";
}

TEST(Cost, NarrowOperandsHaveTheirOwnRates) {
  DeviceDescription cpu;
  cpu.flops_per_second = 100;
  cpu.operations = {{Op::conv, 50}, {Op::conv_backward_data, 40}};
  const auto rate = [&](Op op, DType dtype) { return lane_roofline(cpu, 1, 1, op, dtype, 0).flops_per_second; };
  EXPECT_DOUBLE_EQ(rate(Op::conv, DType::bfloat16), 50) << "not known: as f32";
  cpu.bf16_flops_per_second = 300;
  cpu.bf16_operations = {{Op::conv, 120}};
  EXPECT_DOUBLE_EQ(rate(Op::linear, DType::bfloat16), 300);
  EXPECT_DOUBLE_EQ(rate(Op::conv, DType::bfloat16), 120);
  EXPECT_DOUBLE_EQ(rate(Op::conv_backward_data, DType::float16), 120) << "three times its f32 rate, as products have";
  EXPECT_DOUBLE_EQ(rate(Op::conv, DType::float32), 50);
}

TEST(Cost, ConvolutionsHaveRatesByChannels) {
  DeviceDescription cpu;
  cpu.operations = {{Op::conv, 100}};
  const auto share = [&](int64_t channels) { return channels_share(cpu, Op::conv, DType::float32, channels, "direct"); };
  EXPECT_EQ(share(8), 1) << "not known";
  cpu.by_channels = {{Op::conv, {{8, 50}, {16, 90}, {64, 110}}}};
  EXPECT_DOUBLE_EQ(share(64), 1.1);
  EXPECT_DOUBLE_EQ(share(8), .5);
  EXPECT_DOUBLE_EQ(share(32), 1) << "half-way between 16 and 64";
  EXPECT_DOUBLE_EQ(share(512), 1.1) << "as the nearest";
  EXPECT_DOUBLE_EQ(share(3), .5);
  EXPECT_EQ(channels_share(cpu, Op::linear, DType::float32, 8, ""), 1);
  EXPECT_EQ(channels_share(cpu, Op::conv, DType::bfloat16, 8, ""), 1);
}

TEST(Cost, ImplementationsThatFastNumericsAllowHaveTheirOwn) {
  DeviceDescription cpu;
  cpu.operations = {{Op::conv, 100}};
  cpu.by_channels = {{Op::conv, {{8, 50}}}};
  cpu.fast_by_channels = {{Op::conv, {{"winograd", {{8, 200}}}}}};
  cpu.bf16_fast_by_channels = {{Op::conv, {{"winograd", {{8, 300}}}}}};
  const auto share = [&](DType dtype, const char* candidate) { return channels_share(cpu, Op::conv, dtype, 8, candidate); };
  EXPECT_DOUBLE_EQ(share(DType::float32, "winograd"), 2);
  EXPECT_DOUBLE_EQ(share(DType::float32, "direct"), .5);
  EXPECT_DOUBLE_EQ(share(DType::bfloat16, "winograd"), 3);
  EXPECT_EQ(channels_share(cpu, Op::conv_backward_data, DType::float32, 8, "winograd"), 1);
}

TEST(Cost, ChannelsOfConvolutions) {
  const auto of = [](std::vector<int64_t> dims) { return plain_tensor(DType::float32, std::move(dims)); };
  const TensorSpec x = of({2, 12, 9, 9}), y = of({2, 4, 9, 9}), weight = of({4, 3, 3, 3});  // four groups
  EXPECT_EQ(channels_of(Op::conv, std::vector{x, weight}, std::vector{y}), 1);
  EXPECT_EQ(channels_of(Op::conv_backward_data, std::vector{y, weight}, std::vector{x}), 3);
  EXPECT_EQ(channels_of(Op::conv_backward_weight, std::vector{x, y}, std::vector{weight}), 1);
  const TensorSpec wide = of({16, 12, 3, 3}), of_wide = of({2, 16, 9, 9});
  EXPECT_EQ(channels_of(Op::conv, std::vector{x, wide}, std::vector{of_wide}), 16);
  EXPECT_EQ(channels_of(Op::conv_transpose, std::vector{of_wide, wide}, std::vector{x}), 12);
  EXPECT_EQ(channels_of(Op::linear, std::vector{x, weight}, std::vector{y}), 0);
}

TEST(Cost, ProductsAloneAreOfNarrowOperands) {
  const std::vector<TensorSpec> narrow = {plain_tensor(DType::float32, {4}), plain_tensor(DType::bfloat16, {4})};
  EXPECT_EQ(multiplied(Op::conv_backward_weight, narrow), DType::bfloat16);
  EXPECT_EQ(multiplied(Op::matmul, {narrow.data() + 1, 1}), DType::bfloat16);
  EXPECT_EQ(multiplied(Op::matmul, {narrow.data(), 1}), DType::float32);
  EXPECT_EQ(multiplied(Op::kernel, narrow), DType::float32) << "computes in f32";
  EXPECT_EQ(multiplied(Op::batch_norm_train, narrow), DType::float32);
}

}  // namespace
}  // namespace sheaf
