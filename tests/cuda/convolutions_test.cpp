// Convolutions, their gradients and what is joined with them, through the product's own library and cudnn-frontend, with stand-ins for
// the driver and cuDNN: numbers, formats, engines, memory, and mistakes that must be found.
#include "tests/cuda/library_steps.h"
#include "tests/cuda/stand_in/cudnn.h"

namespace sheaf::cuda {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class Convolutions : public LibrarySteps {
 protected:
  void SetUp() override {
    LibrarySteps::SetUp();
    stand_in::take_counts();
  }
  void TearDown() override {
    stand_in::refuse_configuration("");
    LibrarySteps::TearDown();
  }
};

struct Window {
  int64_t stride = 1, padding = 0, dilation = 1, groups = 1;
  Json attributes(size_t spatial) const {
    const auto all = [&](int64_t value) { return Json(std::vector<int64_t>(spatial, value)); };
    return {{"stride", all(stride)},
            {"padding_begin", all(padding)},
            {"padding_end", all(padding)},
            {"dilation", all(dilation)},
            {"groups", groups}};
  }
  int64_t out(int64_t size, int64_t kernel) const { return (size + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1; }
};

/// A convolution of images, by loops: what x, weight and y contribute to each other.
struct Images {
  int64_t n = 2, in = 8, out = 16, size = 5, kernel = 3;
  Window window = {};
  int64_t y_size() const { return window.out(size, kernel); }
  Dims x() const { return {n, in, size, size}; }
  Dims weight() const { return {out, in / window.groups, kernel, kernel}; }
  Dims y() const { return {n, out, y_size(), y_size()}; }

  template <typename Use>
  void for_products(Use use) const {
    const int64_t inner = in / window.groups;
    for (int64_t b = 0; b < n; ++b)
      for (int64_t o = 0; o < out; ++o)
        for (int64_t r = 0; r < y_size(); ++r)
          for (int64_t c = 0; c < y_size(); ++c)
            for (int64_t i = 0; i < inner; ++i)
              for (int64_t p = 0; p < kernel; ++p)
                for (int64_t q = 0; q < kernel; ++q) {
                  const int64_t row = r * window.stride + p * window.dilation - window.padding,
                                column = c * window.stride + q * window.dilation - window.padding;
                  if (row < 0 || row >= size || column < 0 || column >= size) continue;
                  const int64_t channel = o / (out / window.groups) * inner + i;
                  use(size_t(((b * in + channel) * size + row) * size + column),
                      size_t(((o * inner + i) * kernel + p) * kernel + q),
                      size_t(((b * out + o) * y_size() + r) * y_size() + c));
                }
  }
  Floats forward(const Floats& x, const Floats& weight) const {
    Floats y(size_t(count_of(this->y())));
    for_products([&](size_t at_x, size_t at_w, size_t at_y) { y[at_y] += x[at_x] * weight[at_w]; });
    return y;
  }
  Floats backward_data(const Floats& dy, const Floats& weight) const {
    Floats dx(size_t(count_of(x())));
    for_products([&](size_t at_x, size_t at_w, size_t at_y) { dx[at_x] += dy[at_y] * weight[at_w]; });
    return dx;
  }
  Floats backward_weight(const Floats& x, const Floats& dy) const {
    Floats dweight(size_t(count_of(weight())));
    for_products([&](size_t at_x, size_t at_w, size_t at_y) { dweight[at_w] += x[at_x] * dy[at_y]; });
    return dweight;
  }
};

Case conv(const Images& images, DType dtype, std::vector<std::string> more = {}, Json activation = nullptr) {
  std::vector<std::string> roles = {"x", "weight"};
  std::vector<TensorSpec> inputs = {plain_tensor(dtype, images.x()), plain_tensor(dtype, images.weight())};
  for (const std::string& role : more) {
    roles.push_back(role);
    inputs.push_back(role == "bias" ? plain_tensor(kF32, {images.out}) : plain_tensor(dtype, images.y()));
  }
  Json attributes = images.window.attributes(2);
  if (!activation.is_null()) attributes["activation"] = {{"kind", activation}};
  return {Op::conv, roles, inputs, {plain_tensor(dtype, images.y())}, attributes};
}

std::string trouble(const auto& result) {
  return (result ? "" : result.error().message()) + " " + ::testing::PrintToString(stand_in::take_faults());
}

TEST_F(Convolutions, OfEveryWindowAndType) {
  for (const DType dtype : {kF32, kBf16, kF16}) {
    for (const bool recorded : {false, true}) {
      for (const Window& window : {Window{}, Window{1, 1}, Window{2, 1}, Window{1, 2, 2}, Window{1, 1, 1, 2}}) {
        Images images;
        images.window = window;
        Case of = conv(images, dtype);
        of.recorded = recorded;
        auto y = run(of);
        ASSERT_TRUE(y) << trouble(y);
        expect_near((*y)[0], images.forward(of.values[0], of.values[1]), dtype);
        EXPECT_EQ(implementation, dtype == kF32 ? "cuDNN engine 70" : "cuDNN engine 41");
        EXPECT_THAT(reason, StartsWith(dtype == kF32 ? "plain" : "channels last"));
      }
    }
  }
}

TEST_F(Convolutions, OfSignalsAndVolumes) {
  Case signal(Op::conv, {"x", "weight"}, {plain_tensor(kF32, {1, 2, 4}), plain_tensor(kF32, {1, 2, 2})},
              {plain_tensor(kF32, {1, 1, 3})}, Window{}.attributes(1));
  auto y = run(signal);
  ASSERT_TRUE(y) << trouble(y);
  const Floats &x = signal.values[0], &w = signal.values[1];
  Floats expected;
  for (size_t i = 0; i < 3; ++i) expected.push_back(x[i] * w[0] + x[i + 1] * w[1] + x[4 + i] * w[2] + x[5 + i] * w[3]);
  expect_near((*y)[0], expected, kF32);
  Case volume(Op::conv, {"x", "weight"}, {plain_tensor(kF32, {1, 1, 2, 2, 2}), plain_tensor(kF32, {1, 1, 2, 2, 2})},
              {plain_tensor(kF32, {1, 1, 1, 1, 1})}, Window{}.attributes(3));
  y = run(volume);
  ASSERT_TRUE(y) << trouble(y);
  float sum = 0;
  for (size_t i = 0; i < 8; ++i) sum += volume.values[0][i] * volume.values[1][i];
  expect_near((*y)[0], {sum}, kF32);
}

TEST_F(Convolutions, GradientsOfEveryType) {
  for (const DType dtype : {kF32, kBf16, kF16}) {
    for (const Window& window : {Window{1, 1}, Window{2, 1}, Window{1, 1, 1, 4}}) {
      Images images;
      images.window = window;
      Json attributes = window.attributes(2);
      attributes["size"] = {images.size, images.size};
      Case data(Op::conv_backward_data, {"dy", "weight"},
                {plain_tensor(dtype, images.y()), plain_tensor(dtype, images.weight())}, {plain_tensor(dtype, images.x())},
                attributes);
      auto dx = run(data);
      ASSERT_TRUE(dx) << trouble(dx);
      expect_near((*dx)[0], images.backward_data(data.values[0], data.values[1]), dtype);
      attributes = window.attributes(2);
      attributes["kernel_size"] = {images.kernel, images.kernel};
      Case weight(Op::conv_backward_weight, {"x", "dy"}, {plain_tensor(dtype, images.x()), plain_tensor(dtype, images.y())},
                  {plain_tensor(kF32, images.weight())}, attributes);
      auto dweight = run(weight);
      ASSERT_TRUE(dweight) << trouble(dweight);
      expect_near((*dweight)[0], images.backward_weight(weight.values[0], weight.values[1]), dtype);
    }
  }
}

/// Ready-made engines for one type throughout, compiled ones for others; none in strict f32.
TEST_F(Convolutions, BiasResidualAndActivationAreInTheirGraph) {
  for (const DType dtype : {kBf16, kF16, kF32}) {
    Images images;
    images.window = {1, 1};
    Case of = conv(images, dtype, {"bias", "residual"}, "relu");
    of.fast = dtype == kF32;
    auto y = run(of);
    ASSERT_TRUE(y) << trouble(y);
    Floats expected = images.forward(of.values[0], of.values[1]);
    for (size_t i = 0; i < expected.size(); ++i) {
      const float bias = rounded(of.values[2][i / size_t(images.y_size() * images.y_size()) % 16], dtype);
      expected[i] = std::max(0.F, expected[i] + bias + of.values[3][i]);
    }
    if (dtype != kF32) expect_near((*y)[0], expected, dtype);
    EXPECT_EQ(implementation, dtype == kF32 ? "cuDNN engine 33" : "cuDNN engine 7");
  }
  Case strict = conv({}, kF32, {"bias"}, "relu");
  ASSERT_TRUE(run(strict));
  EXPECT_EQ(implementation, "cuDNN engine 70");
  EXPECT_THAT(reason, HasSubstr("own kernel: cuDNN has no engine for all in one"));
}

TEST_F(Convolutions, ActivationsAreThePlans) {
  const auto by_hand = [](const std::string& kind, float a) {
    if (kind == "silu") return a / (1 + std::exp(-a));
    if (kind == "gelu") return a / 2 * (1 + std::erf(a / std::sqrt(2.F)));
    return kind == "tanh" ? std::tanh(a) : 1 / (1 + std::exp(-a));
  };
  for (const std::string kind : {"silu", "gelu", "tanh", "sigmoid"}) {
    Images images;
    images.kernel = 1;
    Case of = conv(images, kF16, {}, kind);
    auto y = run(of);
    ASSERT_TRUE(y) << trouble(y);
    Floats expected = images.forward(of.values[0], of.values[1]);
    for (float& one : expected) one = by_hand(kind, one);
    expect_near((*y)[0], expected, kF16);
    EXPECT_THAT(implementation, HasSubstr("engine 7"));
  }
}

/// Σ y and Σ y² are what the project's own kernel gets, which no stand-in runs; so are means and variances.
TEST_F(Convolutions, JoinedWithANorm) {
  Images images;
  images.window = {1, 1};
  Json attributes = images.window.attributes(2);
  attributes["statistics"] = 1e-5;
  Case of(Op::conv, {"x", "weight"}, {plain_tensor(kF16, images.x()), plain_tensor(kF16, images.weight())},
          {plain_tensor(kF16, images.y()), plain_tensor(kF32, {16}), plain_tensor(kF32, {16})}, attributes);
  auto y = run(of);
  ASSERT_TRUE(y) << trouble(y);
  EXPECT_THAT(implementation, HasSubstr("engine 65"));
  expect_near((*y)[0], images.forward(of.values[0], of.values[1]), kF16);
  // The gradient of relu(norm(x)) with the norm's sums.
  attributes = images.window.attributes(2);
  attributes["size"] = {images.size, images.size};
  Case data(Op::conv_backward_data, {"dy", "weight", "x", "moments", "norm_weight", "norm_bias"},
            {plain_tensor(kF16, images.y()), plain_tensor(kF16, images.weight()), plain_tensor(kF16, images.x()),
             plain_tensor(kF32, {2, 8}), plain_tensor(kF32, {8}), plain_tensor(kF32, {8})},
            {plain_tensor(kF16, images.x()), plain_tensor(kF32, {8}), plain_tensor(kF32, {8}), plain_tensor(kF32, {3, 8})},
            attributes);
  auto dx = run(data);
  ASSERT_TRUE(dx) << trouble(dx);
  EXPECT_THAT(implementation, HasSubstr("engine 65"));
  Floats gradient = images.backward_data(data.values[0], data.values[1]), dweight(8), dbias(8);
  const auto& [x, moments, weight, bias] = std::tie(data.values[2], data.values[3], data.values[4], data.values[5]);
  for (size_t i = 0; i < gradient.size(); ++i) {
    const size_t c = i / 25 % 8;
    const float normal = (x[i] - moments[c]) * moments[8 + c];
    gradient[i] = rounded(normal * weight[c] + bias[c] > 0 ? gradient[i] : 0, kF16);
    dbias[c] += gradient[i];
    dweight[c] += gradient[i] * normal;
  }
  expect_near((*dx)[0], gradient, kF16);
  expect_near((*dx)[1], dweight, kF16);
  expect_near((*dx)[2], dbias, kF16);
}

TEST_F(Convolutions, OrderOfSumsIsWhatWasAskedFor) {
  Images images;
  images.window = {1, 1};
  Json attributes = images.window.attributes(2);
  attributes["kernel_size"] = {3, 3};
  Case weight(Op::conv_backward_weight, {"x", "dy"}, {plain_tensor(kBf16, images.x()), plain_tensor(kBf16, images.y())},
              {plain_tensor(kF32, images.weight())}, attributes);
  ASSERT_TRUE(run(weight));
  EXPECT_EQ(implementation, "cuDNN engine 41");
  EXPECT_THAT(reason, HasSubstr("--deterministic leaves out engine 20"));
  weight.deterministic = false;
  ASSERT_TRUE(run(weight));
  EXPECT_EQ(implementation, "cuDNN engine 20");
}

std::vector<std::string> names_of(const Prepared& prepared) {
  std::vector<std::string> names;
  if (prepared.selection)
    for (const auto& candidate : prepared.selection->candidates) names.push_back(candidate.name);
  return names;
}

TEST_F(Convolutions, EnginesAreCandidatesInTheOrderOfTheHeuristics) {
  Images images;
  Case of = conv(images, kF32);
  auto untuned = prepare(of);
  ASSERT_TRUE(untuned);
  EXPECT_FALSE(untuned->selection) << "nobody asks for them";
  for (const std::string name : {"eng70_k2=0", "eng70_k2=3", "eng0_k2=0", "eng41_k2=0", "of another version", ""}) {
    const OneChoice choice(name);
    of.choices = &choice;
    auto prepared = prepare(of);
    ASSERT_TRUE(prepared) << prepared.error().message();
    EXPECT_THAT(names_of(*prepared), ElementsAre("eng70_k2=0", "eng70_k2=1", "eng70_k2=2", "eng70_k2=3", "eng0_k2=0"));
    const bool there = name == "eng70_k2=3" || name == "eng0_k2=0";
    EXPECT_EQ(prepared->selection->name(), there ? name : "eng70_k2=0") << "tensor cores are no candidates in strict f32";
    EXPECT_THAT(prepared->selection->key, StartsWith("Stand-in GPU, sm_90, cuDNN 9.19.0, CUDA driver 13.0: "));
    auto y = run(of);
    ASSERT_TRUE(y) << trouble(y);
    const Floats expected = images.forward(of.values[0], of.values[1]);
    for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR((*y)[0][i], expected[i], 1e-5) << "whatever the order of sums";
  }
}

TEST_F(Convolutions, CandidatesKeepTheRules) {
  Images images;
  Json attributes = images.window.attributes(2);
  attributes["kernel_size"] = {3, 3};
  Case weight(Op::conv_backward_weight, {"x", "dy"}, {plain_tensor(kF16, images.x()), plain_tensor(kF16, images.y())},
              {plain_tensor(kF32, images.weight())}, attributes);
  const OneChoice undeterministic("eng20_k2=0");
  weight.choices = &undeterministic;
  auto same = prepare(weight);
  ASSERT_TRUE(same);
  EXPECT_THAT(names_of(*same), ElementsAre("eng41_k2=0", "eng41_k2=1", "eng41_k2=2", "eng0_k2=0"));
  EXPECT_EQ(same->selection->name(), "eng41_k2=0");
  weight.deterministic = false;
  auto any = prepare(weight);
  ASSERT_TRUE(any);
  EXPECT_EQ(any->selection->name(), "eng20_k2=0");
  EXPECT_NE(any->selection->key, same->selection->key);
  // Compiled engines are none behind ready-made ones; one whose plan can't be made gives way.
  Case fused = conv(images, kBf16, {"bias"}, "relu");
  const OneChoice second("eng7_k2=1");
  fused.choices = &second;
  auto prepared = prepare(fused);
  ASSERT_TRUE(prepared);
  EXPECT_THAT(names_of(*prepared), ElementsAre("eng7_k2=0", "eng7_k2=1"));
  EXPECT_EQ(prepared->selection->name(), "eng7_k2=1");
  stand_in::refuse_configuration("eng7_k2=1");
  images.n = 3;
  fused = conv(images, kBf16, {"bias"}, "relu");
  fused.choices = &second;
  prepared = prepare(fused);
  ASSERT_TRUE(prepared);
  EXPECT_EQ(prepared->selection->name(), "eng7_k2=0");
}

/// The next engine is taken where one's plan can't be made.
TEST_F(Convolutions, AnEngineThatDoesNotBuildIsPassedOver) {
  stand_in::refuse_configuration("eng41_k2=0");
  auto prepared = prepare(conv({}, kF16));
  ASSERT_TRUE(prepared) << prepared.error().message();
  EXPECT_EQ(prepared->implementation, "cuDNN engine 41");
  EXPECT_EQ(prepared->scratch_bytes, 2000U) << "of its second choice";
}

TEST_F(Convolutions, PlansOfEqualGraphsAreMadeOnce) {
  ASSERT_TRUE(run(conv({}, kF16)));
  ASSERT_TRUE(run(conv({}, kF16)));
  const auto counts = stand_in::take_counts();
  EXPECT_EQ(counts.built, 1);
  EXPECT_EQ(counts.executed, 2);
}

TEST_F(Convolutions, MistakesAreFound) {
  const auto mistake = [&](auto&& make) {
    Case of = conv({}, kF16);
    make(of);
    auto result = run(of);
    EXPECT_FALSE(result);
    if (!result) EXPECT_THAT(result.error().message(), HasSubstr("cudnnBackendExecute: CUDNN_STATUS_BAD_PARAM"));
    return stand_in::take_faults();
  };
  EXPECT_THAT(mistake([](Case& of) { of.scratch_shift = 64; }),
              ElementsAre("cudnnBackendExecute: the workspace is not aligned to 256 bytes"));
  EXPECT_THAT(mistake([](Case& of) { of.operand_shift = 8; }),
              ElementsAre(HasSubstr("cudnnBackendExecute: tensor 1 is not aligned to 16 bytes")));
  EXPECT_THAT(mistake([](Case& of) { of.device_of_stream = 1; }),
              ElementsAre("cudnnBackendExecute: handle, stream and current context are of different devices"));
}

}  // namespace
}  // namespace sheaf::cuda
