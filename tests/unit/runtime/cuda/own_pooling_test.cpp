// Pooling by the project's own kernels, run from their PTX, against plain loops over PyTorch's definitions.
#include "runtime/cpu/ops/elements.h"
#include "runtime/plan/op_list.h"
#include "tests/unit/runtime/cuda/pooling_case.h"

#include <cmath>
#include <limits>

namespace sheaf::cuda {
namespace {

class OwnPooling : public OwnKernelTest {
 protected:
  template <typename T>
  void check_max(const PoolingCase& c, DType dtype, bool last, bool with_nan) {
    const TensorSpec x = tensor_of(c, c.x, dtype, last), y = tensor_of(c, c.y, dtype, false),
                     kept = plain_tensor(DType::uint8, {1});
    auto values = digits(element_count(x), 1);
    for (size_t i = 0; with_nan && i < values.size(); i += 11) values[i] = std::nan("");
    const auto dy = digits(element_count(y), 2);
    // By definition: the first of the greatest, NaN above all (of several, the last: PyTorch's loop).
    std::vector<double> wanted(dy.size()), wanted_dx(values.size(), 0.0);
    const int64_t plane_x = volume(c.x), plane_y = volume(c.y);
    for (int64_t plane = 0; plane < kImages * c.channels; ++plane) {
      outputs(c, [&](const Sizes& o, int64_t at) {
        double greatest = -std::numeric_limits<double>::infinity();
        int64_t where = -1;
        window(c, o, [&](int64_t i) {
          const double value = values[size_t(plane * plane_x + i)];
          if (where < 0 || value > greatest || std::isnan(value)) greatest = value, where = i;
        });
        wanted[size_t(plane * plane_y + at)] = greatest;
        wanted_dx[size_t(plane * plane_x + where)] += dy[size_t(plane * plane_y + at)];
      });
    }
    const TestStep step(Op::max_pool, {"x"}, {x}, {y}, c.attributes(false));
    Prepared plain = prepare_own_pooling(step.request(), kernels_, "a test");
    const Bytes x_bytes = laid<T>(x, values);
    const auto compare = [&](const Bytes& bytes, const Prepared& prepared) {
      const auto got = read<T>(prepared.outputs[0], bytes);
      for (size_t i = 0; i < wanted.size(); ++i)
        ASSERT_TRUE(got[i] == wanted[i] || (std::isnan(got[i]) && std::isnan(wanted[i])))
            << i << ": " << got[i] << ", not " << wanted[i];
    };
    compare(run(plain, {x_bytes}, {Bytes(plain.outputs[0].bytes)})[0], plain);

    const TestStep train_step(Op::max_pool_train, {"x"}, {x}, {y, kept}, c.attributes(false));
    Prepared train = prepare_own_pooling(train_step.request(), kernels_, "a test");
    ASSERT_TRUE(is_own_pool_workspace(train.outputs[1]));
    const auto trained = run(train, {x_bytes}, {Bytes(train.outputs[0].bytes), Bytes(train.outputs[1].bytes)});
    compare(trained[0], train);

    Json attributes = c.attributes(false);
    attributes["size"] = c.last(c.x);
    const TestStep back_step(Op::max_pool_backward, {"dy", "workspace"}, {y, train.outputs[1]}, {plain_tensor(dtype, x.dims)},
                             attributes);
    Prepared back = prepare_own_pooling(back_step.request(), kernels_, "a test");
    EXPECT_TRUE(same_format(back.outputs[0], x));
    const auto dx =
        read<T>(back.outputs[0], run(back, {laid<T>(back.inputs[0], dy), trained[1]}, {Bytes(back.outputs[0].bytes)})[0]);
    EXPECT_EQ(dx, wanted_dx);
  }

  template <typename T>
  void check_average(const PoolingCase& c, DType dtype, bool last) {
    const Op op = c.adaptive ? Op::adaptive_avg_pool : Op::avg_pool;
    const TensorSpec x = tensor_of(c, c.x, dtype, last), y = tensor_of(c, c.y, dtype, false);
    const auto values = digits(element_count(x), 3), dy = digits(element_count(y), 4);
    std::vector<double> wanted(dy.size(), 0.0), wanted_dx(values.size(), 0.0);
    const int64_t plane_x = volume(c.x), plane_y = volume(c.y);
    for (int64_t plane = 0; plane < kImages * c.channels; ++plane) {
      outputs(c, [&](const Sizes& o, int64_t at) {
        const double divisor = divisor_of(c, o);
        window(c, o, [&](int64_t i) {
          wanted[size_t(plane * plane_y + at)] += values[size_t(plane * plane_x + i)];
          wanted_dx[size_t(plane * plane_x + i)] += dy[size_t(plane * plane_y + at)] / divisor;
        });
        wanted[size_t(plane * plane_y + at)] /= divisor;
      });
    }
    const double tolerance = dtype == DType::float32 ? 1e-6 : dtype == DType::float16 ? 2e-3 : 2e-2;
    const auto compare = [&](const std::vector<double>& got, const std::vector<double>& expected) {
      for (size_t i = 0; i < expected.size(); ++i)
        ASSERT_NEAR(got[i], expected[i], tolerance * (1 + std::abs(expected[i]))) << to_string(op) << " at " << i;
    };
    const TestStep step(op, {"x"}, {x}, {y}, c.attributes(true));
    Prepared forward = prepare_own_pooling(step.request(), kernels_, "a test");
    compare(read<T>(forward.outputs[0], run(forward, {laid<T>(x, values)}, {Bytes(forward.outputs[0].bytes)})[0]), wanted);

    Json attributes = c.attributes(true);
    attributes["size"] = c.last(c.x);
    const TensorSpec dy_spec = forward.outputs[0];
    const TestStep back_step(c.adaptive ? Op::adaptive_avg_pool_backward : Op::avg_pool_backward, {"dy"}, {dy_spec},
                             {plain_tensor(dtype, x.dims)}, attributes);
    Prepared back = prepare_own_pooling(back_step.request(), kernels_, "a test");
    compare(read<T>(back.outputs[0], run(back, {laid<T>(dy_spec, dy)}, {Bytes(back.outputs[0].bytes)})[0]), wanted_dx);
  }
};

std::vector<PoolingCase> cases() {
  std::vector<PoolingCase> made(1);
  made.push_back({.kernel = {1, 2, 2}, .stride = {1, 2, 2}, .padding = {0, 0, 0}});
  made.push_back({.kernel = {1, 3, 3}, .stride = {1, 1, 1}, .padding = {0, 1, 1}});
  made.push_back({.x = {1, 8, 8}, .kernel = {1, 3, 3}, .stride = {1, 3, 3}, .padding = {0, 1, 0}, .ceil_mode = true});
  made.push_back({.x = {1, 5, 9}, .kernel = {1, 2, 4}, .stride = {1, 3, 3}, .padding = {0, 1, 2}, .ceil_mode = true});
  made.push_back({.spatial = 1, .x = {1, 1, 13}, .kernel = {1, 1, 4}, .stride = {1, 1, 3}, .padding = {0, 0, 2}});
  made.push_back({.spatial = 3, .x = {4, 5, 6}, .kernel = {2, 3, 2}, .stride = {2, 2, 1}, .padding = {1, 1, 0}});
  for (PoolingCase& c : made) c = c.sized();
  return made;
}

TEST_F(OwnPooling, MaximumAndItsGradient) {
  for (const PoolingCase& c : cases()) {
    for (const bool last : {false, true}) {
      check_max<float>(c, DType::float32, last, false);
      check_max<BFloat16>(c, DType::bfloat16, last, true);
      check_max<_Float16>(c, DType::float16, last, false);
    }
  }
}

TEST_F(OwnPooling, MaximumWithDilation) {
  for (const bool ceil_mode : {false, true}) {
    const PoolingCase c =
        PoolingCase{.x = {1, 9, 8}, .stride = {1, 2, 3}, .dilation = {1, 2, 3}, .ceil_mode = ceil_mode}.sized();
    check_max<float>(c, DType::float32, false, true);
    check_max<float>(c, DType::float32, true, false);
  }
}

// More than 256 places in a window need wider words in the workspace.
TEST_F(OwnPooling, MaximumOverLargeWindows) {
  const PoolingCase c = PoolingCase{.x = {1, 20, 19}, .kernel = {1, 18, 17}, .stride = {1, 1, 1}, .padding = {0, 0, 0}}.sized();
  check_max<float>(c, DType::float32, false, false);
  check_max<float>(c, DType::float32, true, true);
}

TEST_F(OwnPooling, AverageAndItsGradient) {
  for (PoolingCase c : cases()) {
    for (const bool last : {false, true}) {
      for (const bool count_include_pad : {false, true}) {
        c.count_include_pad = count_include_pad;
        check_average<float>(c, DType::float32, last);
      }
      check_average<BFloat16>(c, DType::bfloat16, last);
      c.divisor = 5;
      check_average<_Float16>(c, DType::float16, last);
      c.divisor = 0;
    }
  }
}

TEST_F(OwnPooling, AdaptiveAverageAndItsGradient) {
  for (const Sizes& y : {Sizes{1, 1, 1}, Sizes{1, 3, 4}, Sizes{1, 7, 6}, Sizes{1, 9, 2}}) {
    PoolingCase c;
    c.adaptive = true;
    c.y = y;
    check_average<float>(c, DType::float32, false);
    check_average<float>(c, DType::float32, true);
  }
  PoolingCase c{.spatial = 3, .x = {3, 5, 4}, .y = {2, 2, 3}, .adaptive = true};
  check_average<BFloat16>(c, DType::bfloat16, true);
}

// Channels last that fill vectors of 16 bytes: bf16 and f16 by eight, f32 by four.
TEST_F(OwnPooling, VectorsOfChannels) {
  for (const int64_t channels : {8, 24}) {
    for (PoolingCase c : cases()) {
      c.channels = channels;
      check_max<float>(c, DType::float32, true, false);
      check_max<BFloat16>(c, DType::bfloat16, true, true);
      check_max<_Float16>(c, DType::float16, true, true);
      check_average<float>(c, DType::float32, true);
      check_average<BFloat16>(c, DType::bfloat16, true);
      c.count_include_pad = false;
      check_average<_Float16>(c, DType::float16, true);
    }
  }
  PoolingCase c = PoolingCase{.x = {1, 9, 8}, .stride = {1, 2, 3}, .dilation = {1, 2, 3}, .channels = 8}.sized();
  check_max<BFloat16>(c, DType::bfloat16, true, true);
  c = PoolingCase{.x = {1, 20, 19}, .kernel = {1, 18, 17}, .stride = {1, 1, 1}, .padding = {0, 0, 0}, .channels = 8}.sized();
  check_max<BFloat16>(c, DType::bfloat16, true, false);
  c = PoolingCase{.y = {1, 3, 4}, .adaptive = true, .channels = 8};
  check_average<BFloat16>(c, DType::bfloat16, true);
}

TEST_F(OwnPooling, PlannedWithoutADevice) {
  const PoolingCase c = cases()[0];
  const TestStep step(Op::max_pool, {"x"}, {tensor_of(c, c.x, DType::float32, true)},
                      {tensor_of(c, c.y, DType::float32, false)}, c.attributes(false));
  const Prepared prepared = prepare_own_pooling(step.request(), nullptr, "a test");
  EXPECT_EQ(prepared.executable, nullptr);
  EXPECT_TRUE(is_channels_last(prepared.outputs[0]));
  EXPECT_EQ(prepared.implementation, "pooling kernel, channels last");
  EXPECT_EQ(prepared.reason, "the project's own kernel: a test");  // three channels
}

TEST_F(OwnPooling, TakesVectorsWhereChannelsFillThem) {
  for (const bool last : {false, true}) {
    PoolingCase c = cases()[0];
    c.channels = 8;
    const TestStep step(Op::max_pool, {"x"}, {tensor_of(c, c.x, DType::bfloat16, last)},
                        {tensor_of(c, c.y, DType::bfloat16, false)}, c.attributes(false));
    const Prepared prepared = prepare_own_pooling(step.request(), kernels_, "a test");
    EXPECT_EQ(prepared.reason, std::string("the project's own kernel: a test") + (last ? "; by vectors of 8 channels" : ""));
    EXPECT_EQ(dynamic_cast<const Operation&>(*prepared.executable).operand_alignment, last ? 16u : 1u);
  }
}

TEST_F(OwnPooling, RefusesAForeignWorkspace) {
  const PoolingCase c = cases()[0];
  Json attributes = c.attributes(false);
  attributes["size"] = c.last(c.x);
  const TestStep step(Op::max_pool_backward, {"dy", "workspace"},
                      {tensor_of(c, c.y, DType::float32, false), plain_tensor(DType::uint8, {1})},
                      {tensor_of(c, c.x, DType::float32, false)}, attributes);
  EXPECT_THROW((void)prepare_own_pooling(step.request(), kernels_, "a test"), OperationError);
}

}  // namespace
}  // namespace sheaf::cuda
