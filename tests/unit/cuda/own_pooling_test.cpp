// Pooling by the project's own kernels, run from their PTX, against plain loops over PyTorch's definitions.
#include "runtime/cpu/ops/elements.h"
#include "runtime/cuda/format.h"
#include "tests/unit/cuda/own_kernel_bench.h"

#include <cmath>
#include <limits>
#include <random>

namespace sheaf::cuda {
namespace {

/// Sizes along depth, height and width.
using Sizes = std::array<int64_t, 3>;

struct Case {
  int spatial = 2;
  Sizes x{1, 7, 6}, kernel{1, 3, 2}, stride{1, 2, 2}, padding{0, 1, 1}, dilation{1, 1, 1}, y{1, 1, 1};
  bool ceil_mode = false, count_include_pad = true, adaptive = false;
  int64_t divisor = 0;

  /// The sizes of y by PyTorch's rule.
  Case sized() const {
    Case made = *this;
    for (int d = 0; d < 3; ++d) {
      const int64_t room = x[d] + 2 * padding[d] - dilation[d] * (kernel[d] - 1) - 1;
      made.y[d] = (room + (ceil_mode ? stride[d] - 1 : 0)) / stride[d] + 1;
      if (ceil_mode && (made.y[d] - 1) * stride[d] >= x[d] + padding[d]) --made.y[d];
    }
    return made;
  }
  std::vector<int64_t> last(const Sizes& sizes) const { return {sizes.end() - spatial, sizes.end()}; }
  Json attributes(bool average) const {
    if (adaptive) return Json::object();
    Json made = {{"kernel_size", last(kernel)}, {"stride", last(stride)}, {"padding", last(padding)}, {"ceil_mode", ceil_mode}};
    if (average) made.update(Json{{"count_include_pad", count_include_pad}, {"divisor_override", divisor}});
    else made["dilation"] = last(dilation);
    return made;
  }
};

constexpr int64_t kImages = 2, kChannels = 3;

std::vector<int64_t> dims_of(const Case& c, const Sizes& sizes) {
  std::vector<int64_t> dims = {kImages, kChannels};
  for (const int64_t size : c.last(sizes)) dims.push_back(size);
  return dims;
}

TensorSpec tensor_of(const Case& c, const Sizes& sizes, DType dtype, bool last) {
  const TensorSpec plain = plain_tensor(dtype, dims_of(c, sizes));
  return last ? channels_last(plain) : plain;
}

/// Calls body(window element's position in the plane, its tap) for the elements of x in an output's window.
template <typename Body>
void window(const Case& c, const Sizes& o, const Body& body) {
  Sizes begin, count, step;
  for (size_t d = 0; d < 3; ++d) {
    begin[d] = c.adaptive ? o[d] * c.x[d] / c.y[d] : o[d] * c.stride[d] - c.padding[d];
    count[d] = c.adaptive ? ((o[d] + 1) * c.x[d] + c.y[d] - 1) / c.y[d] - begin[d] : c.kernel[d];
    step[d] = c.adaptive ? 1 : c.dilation[d];
  }
  for (int64_t i = 0; i < count[0]; ++i)
    for (int64_t j = 0; j < count[1]; ++j)
      for (int64_t k = 0; k < count[2]; ++k) {
        const int64_t d = begin[0] + i * step[0], h = begin[1] + j * step[1], w = begin[2] + k * step[2];
        if (d >= 0 && d < c.x[0] && h >= 0 && h < c.x[1] && w >= 0 && w < c.x[2]) body((d * c.x[1] + h) * c.x[2] + w);
      }
}

double divisor_of(const Case& c, const Sizes& o) {
  if (c.divisor) return double(c.divisor);
  int64_t inside = 0, reach = 1;
  window(c, o, [&](int64_t) { ++inside; });
  for (size_t d = 0; d < 3; ++d)
    reach *= std::min(o[d] * c.stride[d] - c.padding[d] + c.kernel[d], c.x[d] + c.padding[d]) - (o[d] * c.stride[d] - c.padding[d]);
  return double(c.adaptive || !c.count_include_pad ? inside : reach);
}

template <typename Body>
void outputs(const Case& c, const Body& body) {
  int64_t at = 0;
  for (int64_t d = 0; d < c.y[0]; ++d)
    for (int64_t h = 0; h < c.y[1]; ++h)
      for (int64_t w = 0; w < c.y[2]; ++w) body(Sizes{d, h, w}, at++);
}

int64_t volume(const Sizes& sizes) { return sizes[0] * sizes[1] * sizes[2]; }

/// Elements in the order of the dims as they lie in the tensor's format, and back.
template <typename T>
Bytes laid(const TensorSpec& tensor, const std::vector<double>& values, bool back = false, const Bytes& from = {}) {
  const auto strides = strides_of(tensor);
  const int64_t plane = element_count(tensor) / (kImages * kChannels);
  Bytes bytes = back ? Bytes(values.size() * sizeof(double)) : Bytes(tensor.bytes);
  for (int64_t i = 0; i < element_count(tensor); ++i) {
    const int64_t position = i % plane, channel = i / plane % kChannels, image = i / plane / kChannels;
    const int64_t at = image * strides[0] + channel * strides[1] + position * strides.back();
    if (back) {
      T value;
      std::memcpy(&value, &from[size_t(at) * sizeof(T)], sizeof(T));
      const double wide = float(value);
      std::memcpy(&bytes[size_t(i) * sizeof(double)], &wide, sizeof wide);
    } else {
      const T value(static_cast<float>(values[size_t(i)]));
      std::memcpy(&bytes[size_t(at) * sizeof(T)], &value, sizeof(T));
    }
  }
  return bytes;
}

template <typename T>
std::vector<double> read(const TensorSpec& tensor, const Bytes& bytes) {
  return values_of<double>(laid<T>(tensor, std::vector<double>(size_t(element_count(tensor))), true, bytes));
}

/// Small whole numbers, so that sums are exact in every type and there are ties.
std::vector<double> digits(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> digit(-3, 3);
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(digit(random));
  return values;
}

class OwnPooling : public OwnKernelTest {
 protected:
  template <typename T>
  void check_max(const Case& c, DType dtype, bool last, bool with_nan) {
    const TensorSpec x = tensor_of(c, c.x, dtype, last), y = tensor_of(c, c.y, dtype, false),
                     kept = plain_tensor(DType::uint8, {1});
    auto values = digits(element_count(x), 1);
    for (size_t i = 0; with_nan && i < values.size(); i += 11) values[i] = std::nan("");
    const auto dy = digits(element_count(y), 2);
    // By definition: the first of the greatest, NaN before all (of several, the last: PyTorch's loop).
    std::vector<double> wanted(dy.size()), wanted_dx(values.size(), 0.0);
    const int64_t plane_x = volume(c.x), plane_y = volume(c.y);
    for (int64_t plane = 0; plane < kImages * kChannels; ++plane) {
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
    const TestStep step("max_pool", {"x"}, {x}, {y}, c.attributes(false));
    Prepared plain = prepare_own_pooling(step.request(), kernels_, "a test");
    const Bytes x_bytes = laid<T>(x, values);
    const auto compare = [&](const Bytes& bytes, const Prepared& prepared) {
      const auto got = read<T>(prepared.outputs[0], bytes);
      for (size_t i = 0; i < wanted.size(); ++i)
        ASSERT_TRUE(got[i] == wanted[i] || (std::isnan(got[i]) && std::isnan(wanted[i]))) << i << ": " << got[i] << ", not " << wanted[i];
    };
    compare(run(plain, {x_bytes}, {Bytes(plain.outputs[0].bytes)})[0], plain);

    const TestStep train_step("max_pool_train", {"x"}, {x}, {y, kept}, c.attributes(false));
    Prepared train = prepare_own_pooling(train_step.request(), kernels_, "a test");
    ASSERT_TRUE(is_own_pool_workspace(train.outputs[1]));
    const auto trained = run(train, {x_bytes}, {Bytes(train.outputs[0].bytes), Bytes(train.outputs[1].bytes)});
    compare(trained[0], train);

    Json attributes = c.attributes(false);
    attributes["size"] = c.last(c.x);
    const TestStep back_step("max_pool_backward", {"dy", "workspace"}, {y, train.outputs[1]}, {plain_tensor(dtype, x.dims)}, attributes);
    Prepared back = prepare_own_pooling(back_step.request(), kernels_, "a test");
    EXPECT_TRUE(same_format(back.outputs[0], x));
    const auto dx = read<T>(back.outputs[0], run(back, {laid<T>(back.inputs[0], dy), trained[1]}, {Bytes(back.outputs[0].bytes)})[0]);
    EXPECT_EQ(dx, wanted_dx);
  }

  template <typename T>
  void check_average(const Case& c, DType dtype, bool last) {
    const std::string op = c.adaptive ? "adaptive_avg_pool" : "avg_pool";
    const TensorSpec x = tensor_of(c, c.x, dtype, last), y = tensor_of(c, c.y, dtype, false);
    const auto values = digits(element_count(x), 3), dy = digits(element_count(y), 4);
    std::vector<double> wanted(dy.size(), 0.0), wanted_dx(values.size(), 0.0);
    const int64_t plane_x = volume(c.x), plane_y = volume(c.y);
    for (int64_t plane = 0; plane < kImages * kChannels; ++plane) {
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
        ASSERT_NEAR(got[i], expected[i], tolerance * (1 + std::abs(expected[i]))) << op << " at " << i;
    };
    const TestStep step(op, {"x"}, {x}, {y}, c.attributes(true));
    Prepared forward = prepare_own_pooling(step.request(), kernels_, "a test");
    compare(read<T>(forward.outputs[0], run(forward, {laid<T>(x, values)}, {Bytes(forward.outputs[0].bytes)})[0]), wanted);

    Json attributes = c.attributes(true);
    attributes["size"] = c.last(c.x);
    const TensorSpec dy_spec = forward.outputs[0];
    const TestStep back_step(op + "_backward", {"dy"}, {dy_spec}, {plain_tensor(dtype, x.dims)}, attributes);
    Prepared back = prepare_own_pooling(back_step.request(), kernels_, "a test");
    compare(read<T>(back.outputs[0], run(back, {laid<T>(dy_spec, dy)}, {Bytes(back.outputs[0].bytes)})[0]), wanted_dx);
  }
};

std::vector<Case> cases() {
  std::vector<Case> made(1);
  made.push_back({.kernel = {1, 2, 2}, .stride = {1, 2, 2}, .padding = {0, 0, 0}});
  made.push_back({.kernel = {1, 3, 3}, .stride = {1, 1, 1}, .padding = {0, 1, 1}});
  made.push_back({.x = {1, 8, 8}, .kernel = {1, 3, 3}, .stride = {1, 3, 3}, .padding = {0, 1, 0}, .ceil_mode = true});
  made.push_back({.x = {1, 5, 9}, .kernel = {1, 2, 4}, .stride = {1, 3, 3}, .padding = {0, 1, 2}, .ceil_mode = true});
  made.push_back({.spatial = 1, .x = {1, 1, 13}, .kernel = {1, 1, 4}, .stride = {1, 1, 3}, .padding = {0, 0, 2}});
  made.push_back({.spatial = 3, .x = {4, 5, 6}, .kernel = {2, 3, 2}, .stride = {2, 2, 1}, .padding = {1, 1, 0}});
  for (Case& c : made) c = c.sized();
  return made;
}

TEST_F(OwnPooling, MaximumAndItsGradient) {
  for (const Case& c : cases()) {
    for (const bool last : {false, true}) {
      check_max<float>(c, DType::float32, last, false);
      check_max<BFloat16>(c, DType::bfloat16, last, true);
      check_max<_Float16>(c, DType::float16, last, false);
    }
  }
}

TEST_F(OwnPooling, MaximumWithDilation) {
  for (const bool ceil_mode : {false, true}) {
    const Case c = Case{.x = {1, 9, 8}, .stride = {1, 2, 3}, .dilation = {1, 2, 3}, .ceil_mode = ceil_mode}.sized();
    check_max<float>(c, DType::float32, false, true);
    check_max<float>(c, DType::float32, true, false);
  }
}

// More than 256 places in a window take wider words in the workspace.
TEST_F(OwnPooling, MaximumOverLargeWindows) {
  const Case c = Case{.x = {1, 20, 19}, .kernel = {1, 18, 17}, .stride = {1, 1, 1}, .padding = {0, 0, 0}}.sized();
  check_max<float>(c, DType::float32, false, false);
  check_max<float>(c, DType::float32, true, true);
}

TEST_F(OwnPooling, AverageAndItsGradient) {
  for (Case c : cases()) {
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
    Case c;
    c.adaptive = true;
    c.y = y;
    check_average<float>(c, DType::float32, false);
    check_average<float>(c, DType::float32, true);
  }
  Case c{.spatial = 3, .x = {3, 5, 4}, .y = {2, 2, 3}, .adaptive = true};
  check_average<BFloat16>(c, DType::bfloat16, true);
}

TEST_F(OwnPooling, PlannedWithoutADevice) {
  const Case c = cases()[0];
  const TestStep step("max_pool", {"x"}, {tensor_of(c, c.x, DType::float32, true)}, {tensor_of(c, c.y, DType::float32, false)},
                      c.attributes(false));
  const Prepared prepared = prepare_own_pooling(step.request(), nullptr, "a test");
  EXPECT_EQ(prepared.executable, nullptr);
  EXPECT_TRUE(is_channels_last(prepared.outputs[0]));
  EXPECT_EQ(prepared.implementation, "pooling kernel, channels last");
}

TEST_F(OwnPooling, RefusesAForeignWorkspace) {
  const Case c = cases()[0];
  Json attributes = c.attributes(false);
  attributes["size"] = c.last(c.x);
  const TestStep step("max_pool_backward", {"dy", "workspace"},
                      {tensor_of(c, c.y, DType::float32, false), plain_tensor(DType::uint8, {1})},
                      {tensor_of(c, c.x, DType::float32, false)}, attributes);
  EXPECT_THROW((void)prepare_own_pooling(step.request(), kernels_, "a test"), OperationError);
}

}  // namespace
}  // namespace sheaf::cuda
