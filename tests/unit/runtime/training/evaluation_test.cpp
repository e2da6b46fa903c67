// Losses and accuracy on the host (expected values: PyTorch 2.11), target checks, and evaluation through a session.
#include "runtime/base/file.h"
#include "runtime/device/device_set.h"
#include "runtime/session/open_devices.h"
#include "runtime/training/evaluator.h"
#include "tools/train/train_settings.h"
#include "tests/fixtures/plan_builder.h"
#include "tests/unit/runtime/training/fake_learner.h"

#include <gmock/gmock.h>

#include <cmath>

namespace sheaf::training_tests {
namespace {

using testing::HasSubstr;

template <typename T>
HostTensor tensor_of(DType dtype, std::vector<int64_t> shape, const std::vector<T>& values) {
  auto tensor = make_tensor(dtype, std::move(shape));
  EXPECT_TRUE(tensor && tensor->bytes.size() == values.size() * sizeof(T));
  std::copy(values.begin(), values.end(), tensor->template as<T>().begin());
  return *std::move(tensor);
}

LossSection classes_loss(const std::string& type, int64_t count) {
  LossSection loss;
  loss.type = type;
  loss.inputs = {{"net", 0}, {"label", {}}};
  loss.classes = true;
  loss.class_dim = 1;
  loss.class_count = count;
  loss.metrics = {Metric::accuracy};
  return loss;
}

Result<void> add_batch(const LossSection& loss, const HostTensor& output, const HostTensor& target, EvaluationSums& sums) {
  const HostTensor* const inputs[] = {&output, &target};
  return sheaf::add_batch(loss, inputs, sums);
}

/// The value of `metric` for `loss`; NaN if it isn't reported.
double told(const LossSection& loss, const EvaluationSums& sums, Metric metric) {
  for (const auto& [name, value] : sums.metrics.results(loss, sums.loss / sums.weight))
    if (name == metric) return value;
  return std::nan("");
}

const HostTensor kOutput = tensor_of<float>(DType::float32, {4, 3}, {0.5F, -1, 2, 3, 0.25F, -0.5F, 0, 0, 1, 1, 1, 1});
const HostTensor kTarget = tensor_of<int64_t>(DType::int64, {4}, {2, 0, -100, 1});

TEST(HostLoss, CrossEntropyPassesOverIgnoredTargets) {
  LossSection loss = classes_loss("CrossEntropyLoss", 3);
  EvaluationSums sums;
  ASSERT_TRUE(add_batch(loss, kOutput, kTarget, sums));
  EXPECT_NEAR(sums.loss / sums.weight, 0.47662627696990967, 1e-6);
  EXPECT_DOUBLE_EQ(told(loss, sums, Metric::accuracy), 2.0 / 3)
      << "of equal scores the first is the largest, so the last row is wrong";
  loss.label_smoothing = 0.1;
  EvaluationSums smooth;
  ASSERT_TRUE(add_batch(loss, kOutput, kTarget, smooth));
  EXPECT_NEAR(smooth.loss, 1.7882120609283447, 1e-6);
  EXPECT_NEAR(smooth.loss / smooth.weight, 0.5960707068443298, 1e-6);
}

TEST(HostLoss, ClassesInDimensionOneOfMore) {
  std::vector<float> x(24);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(std::sin(static_cast<double>(i)));
  const HostTensor output = tensor_of<float>(DType::float32, {2, 3, 4}, x);
  const HostTensor target = tensor_of<int32_t>(DType::int32, {2, 4}, {0, 1, 2, 1, 2, 2, -100, 0});
  EvaluationSums sums, nll;
  ASSERT_TRUE(add_batch(classes_loss("CrossEntropyLoss", 3), output, target, sums));
  EXPECT_NEAR(sums.loss / sums.weight, 1.131748080253601, 1e-6);
  EXPECT_DOUBLE_EQ(told(classes_loss("CrossEntropyLoss", 3), sums, Metric::accuracy), 4.0 / 7);
  ASSERT_TRUE(add_batch(classes_loss("NLLLoss", 3), output, target, nll));
  EXPECT_NEAR(nll.loss / nll.weight, -0.22198998928070068, 1e-6);
}

TEST(HostLoss, ProbabilitiesOfTheClasses) {
  LossSection loss = classes_loss("CrossEntropyLoss", 3);
  loss.classes = false;
  loss.probabilities = true;
  const auto sums_of = [&](const HostTensor& output, const HostTensor& target) {
    EvaluationSums sums;
    EXPECT_TRUE(add_batch(loss, output, target, sums));
    return sums;
  };
  const HostTensor x = tensor_of<float>(DType::float32, {2, 3}, {1, 2, 0.5F, -1, 0, 3});
  const HostTensor q = tensor_of<float>(DType::float32, {2, 3}, {0.2F, 0.5F, 0.3F, 0, 0.9F, 0.1F});
  const EvaluationSums plain = sums_of(x, q);
  EXPECT_NEAR(plain.loss / plain.weight, 1.9401264190673828, 1e-6);
  EXPECT_DOUBLE_EQ(told(loss, plain, Metric::accuracy), 0.5) << "the most probable class counts";
  const HostTensor images = tensor_of<float>(DType::float32, {2, 3, 2}, {1, 1.5F, 2, 1, 0.5F, 0.5F, -1, -1, 0, 2, 3, 4});
  const HostTensor of_images =
      tensor_of<float>(DType::float32, {2, 3, 2}, {0.2F, 0.3F, 0.5F, 0.5F, 0.3F, 0.2F, 0, 0.1F, 0.9F, 0.9F, 0.1F, 0});
  const EvaluationSums inner = sums_of(images, of_images);
  EXPECT_NEAR(inner.loss / inner.weight, 1.860841989517212, 1e-6);
  loss.weight = {0.5, 2, 1.25};
  loss.label_smoothing = 0.1;
  const EvaluationSums weighted = sums_of(x, q);
  EXPECT_NEAR(weighted.loss / weighted.weight, 3.2994792461395264, 1e-6);
}

TEST(HostLoss, TargetsOfBceAreFromZeroToOne) {
  LossSection loss;
  loss.type = "BCELoss";
  loss.inputs = {{"net", 0}, {"y", {}}};
  EXPECT_TRUE(check_input(loss, 1, "--data", tensor_of<float>(DType::float32, {2, 2}, {0, 1, 0.5F, 0}), 0));
  for (const float wrong : {1.5F, -0.25F, std::nanf("")}) {
    const auto refused = check_input(loss, 1, "--data y=y.npy", tensor_of<float>(DType::float32, {2, 2}, {0, 1, wrong, 0}), 0);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message(), testing::HasSubstr("--data y=y.npy: target 'y' of row 1 (from 0) is "));
  }
}

TEST(HostLoss, ElementByElement) {
  const HostTensor p = tensor_of<float>(DType::float32, {4}, {0.1F, 0.9F, 0, 1});
  const HostTensor z = tensor_of<float>(DType::float32, {4}, {-200, -1, 0.5F, 90});
  const HostTensor q = tensor_of<float>(DType::float32, {4}, {0, 1, 1, 0.25F});
  const auto mean = [&](const char* type, const HostTensor& output, Json arguments = {}) {
    LossSection loss;
    loss.type = type;
    loss.arguments = std::move(arguments);
    EvaluationSums sums;
    EXPECT_TRUE(add_batch(loss, output, q, sums));
    EXPECT_EQ(sums.weight, 4);
    EXPECT_TRUE(std::isnan(told(loss, sums, Metric::accuracy)));
    return sums.loss / sums.weight;
  };
  EXPECT_NEAR(mean("BCELoss", p), 43.80268096923828, 1e-5);
  EXPECT_NEAR(mean("BCEWithLogitsLoss", z), 17.321834564208984, 1e-5);
  EXPECT_NEAR(mean("MSELoss", p), 0.3956249952316284, 1e-7);
  EXPECT_NEAR(mean("L1Loss", p) * 4, 1.9500000476837158, 1e-6);
  EXPECT_NEAR(mean("SmoothL1Loss", p), 0.19781250063329942, 1e-6);
  EXPECT_NEAR(mean("SmoothL1Loss", p, {{"beta", 0.25}}), 0.38500000253319766, 1e-6);
  EXPECT_NEAR(mean("SmoothL1Loss", p, {{"beta", 0.0}}), 0.4875000063329935, 1e-6);
  EXPECT_NEAR(mean("HuberLoss", p, {{"delta", 0.5}}), 0.15875000063329942, 1e-6);
  EXPECT_NEAR(mean("KLDivLoss", p), -0.3741433916095287, 1e-6);
  EXPECT_NEAR(mean("KLDivLoss", p, {{"log_target", true}}), 0.4817727530269792, 1e-6);
  EXPECT_NEAR(mean("PoissonNLLLoss", p), 1.5332639561347066, 1e-6);
  EXPECT_NEAR(mean("PoissonNLLLoss", p, {{"log_input", false}}), 5.131510312534574, 1e-6);
  EXPECT_NEAR(mean("PoissonNLLLoss", p, {{"full", true}}), 1.5332639561347066, 1e-6);
  EXPECT_NEAR(mean("SoftMarginLoss", p), 0.5758469156555808, 1e-6);
  EXPECT_NEAR(mean("HingeEmbeddingLoss", p, {{"margin", 0.5}}), 0.5999999940395355, 1e-6);
}

TEST(HostLoss, OfSeveralOutputs) {
  const HostTensor a = tensor_of<float>(DType::float32, {2, 3}, {0.5F, -1, 2, 3, 0.25F, -0.5F});
  const HostTensor b = tensor_of<float>(DType::float32, {2, 3}, {1, 0.5F, 1.5F, -1, 2, 0.75F});
  const HostTensor c = tensor_of<float>(DType::float32, {2, 3}, {0.25F, -0.75F, 2, 2.5F, 0.5F, 0});
  const HostTensor narrow = tensor_of<float>(DType::float32, {2, 1}, {0.5F, 2});
  const HostTensor signs = tensor_of<float>(DType::float32, {2}, {1, -1});
  const HostTensor all_signs = tensor_of<float>(DType::float32, {2, 3}, {1, -1, 1, -1, 1, -1});
  const auto mean = [](const char* type, std::vector<const HostTensor*> inputs, Json arguments = {}) {
    LossSection loss;
    loss.type = type;
    loss.arguments = std::move(arguments);
    EvaluationSums sums;
    EXPECT_TRUE(sheaf::add_batch(loss, inputs, sums)) << type;
    return sums.loss / sums.weight;
  };
  EXPECT_NEAR(mean("GaussianNLLLoss", {&a, &b, &narrow}), 1.3177083333333333, 1e-6);
  EXPECT_NEAR(mean("GaussianNLLLoss", {&a, &b, &narrow}, {{"full", true}, {"eps", 1.0}}), 2.1807669950113255, 1e-6);
  EXPECT_NEAR(mean("MarginRankingLoss", {&a, &b, &all_signs}), 1.0416666666666667, 1e-6);
  EXPECT_NEAR(mean("MarginRankingLoss", {&a, &b, &all_signs}, {{"margin", 0.5}}), 1.2916666666666667, 1e-6);
  EXPECT_NEAR(mean("CosineEmbeddingLoss", {&a, &c, &signs}), 0.4953643918077715, 1e-6);
  EXPECT_NEAR(mean("CosineEmbeddingLoss", {&a, &c, &signs}, {{"margin", 0.25}}), 0.3703643918077715, 1e-6);
  EXPECT_NEAR(mean("TripletMarginLoss", {&a, &c, &b}, {{"margin", 4.0}}), 1.4518829076412352, 1e-6);
  EXPECT_NEAR(mean("TripletMarginLoss", {&a, &c, &b}, {{"p", 1.0}, {"margin", 8.0}}), 4.125000999999999, 1e-6);
  EXPECT_NEAR(mean("TripletMarginLoss", {&a, &b, &c}, {{"swap", true}}), 3.5481170923587655, 1e-6);
  LossSection loss;
  loss.type = "TripletMarginLoss";
  loss.inputs = {{"a", 0}, {"b", 1}, {"c", 2}};
  EvaluationSums sums;
  const auto refused = sheaf::add_batch(loss, std::vector{&a, &b, &kOutput}, sums);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(),
            "'a' of shape [2, 3], 'b' of shape [2, 3] and 'c' of shape [4, 3] can't be compared by TripletMarginLoss");
}

TEST(HostLoss, OfMargins) {
  const HostTensor x = tensor_of<float>(DType::float32, {2, 3}, {0.5F, -1, 2, 3, 0.25F, -0.5F});
  const HostTensor one = tensor_of<int64_t>(DType::int64, {2}, {2, 1});
  const HostTensor several = tensor_of<int64_t>(DType::int64, {2, 3}, {1, 0, -1, 2, -1, 0});
  const HostTensor shares = tensor_of<float>(DType::float32, {2, 3}, {0, 1, 0.25F, 1, 0, 0.5F});
  const auto mean = [&](const char* type, const HostTensor& target, Json arguments = {}, std::vector<double> weight = {}) {
    LossSection loss;
    loss.type = type;
    loss.arguments = std::move(arguments);
    loss.weight = std::move(weight);
    EvaluationSums sums;
    EXPECT_TRUE(sheaf::add_batch(loss, std::vector{&x, &target}, sums)) << type;
    return sums.loss / sums.weight;
  };
  EXPECT_NEAR(mean("MultiMarginLoss", one, {{"margin", 2.5}}), 1.3333333333333335, 1e-6);
  EXPECT_NEAR(mean("MultiMarginLoss", one, {{"p", 2}}, {0.5, 2, 1.25}), 4.708333333333333, 1e-6);
  EXPECT_NEAR(mean("MultiLabelMarginLoss", several), 2.125, 1e-6);
  EXPECT_NEAR(mean("MultiLabelSoftMarginLoss", shares), 0.918811739728999, 1e-6);
  EXPECT_NEAR(mean("MultiLabelSoftMarginLoss", shares, {}, {0.5, 2, 1.25}), 1.288081771116651, 1e-6);
}

TEST(HostLoss, TargetsOfMarginsAreClasses) {
  const auto refused = [](const char* type, int64_t target) {
    LossSection loss;
    loss.type = type;
    loss.class_count = 3;
    loss.inputs = {{"a", 0}, {"t", std::nullopt}};
    const auto checked = check_input(loss, 1, "--data", tensor_of<int64_t>(DType::int64, {1}, {target}), 0);
    return checked ? "" : checked.error().message();
  };
  EXPECT_EQ(refused("MultiMarginLoss", 2), "");
  EXPECT_EQ(refused("MultiMarginLoss", -1),
            "--data: target 't' of row 0 (from 0) is -1; the model has 3 classes: expected 0 to 2");
  EXPECT_EQ(refused("MultiLabelMarginLoss", -1), "");
  EXPECT_EQ(refused("MultiLabelMarginLoss", 3),
            "--data: target 't' of row 0 (from 0) is 3; the model has 3 classes: expected 0 to 2, or -1 behind a row's last");
}

TEST(HostLoss, Weights) {
  LossSection loss = classes_loss("CrossEntropyLoss", 3);
  loss.weight = {0.5, 2, 1.25};
  const auto mean = [&](const HostTensor& output, const HostTensor& target) {
    EvaluationSums sums;
    EXPECT_TRUE(add_batch(loss, output, target, sums));
    return sums.loss / sums.weight;
  };
  EXPECT_NEAR(mean(kOutput, kTarget), 0.678357720375061, 1e-6);
  loss.label_smoothing = 0.1;
  EXPECT_NEAR(mean(kOutput, kTarget), 0.805962324142456, 1e-6);
  loss.label_smoothing = 0;
  loss.type = "NLLLoss";
  EXPECT_NEAR(mean(kOutput, kTarget), -1.600000023841858, 1e-6);
  const HostTensor p = tensor_of<float>(DType::float32, {2, 2}, {0.1F, 0.9F, 0, 1});
  const HostTensor z = tensor_of<float>(DType::float32, {2, 2}, {-200, -1, 0.5F, 90});
  const HostTensor q = tensor_of<float>(DType::float32, {2, 2}, {0, 1, 1, 0.25F});
  loss = LossSection();
  loss.type = "BCELoss";
  loss.weight = {2, 0.5};
  EXPECT_NEAR(mean(p, q), 59.44084930419922, 1e-5);
  loss.type = "BCEWithLogitsLoss";
  loss.weight = {3};
  loss.pos_weight = {2, 0.5};
  EXPECT_NEAR(mean(z, q), 51.828590393066406, 1e-5);
}

TEST(HostLoss, MetricsAreToldWhereTheyAreAskedFor) {
  const auto accuracy = [](const LossSection& loss, const HostTensor& output, const HostTensor& target) {
    EvaluationSums sums;
    EXPECT_TRUE(add_batch(loss, output, target, sums));
    return told(loss, sums, Metric::accuracy);
  };
  LossSection loss = classes_loss("CrossEntropyLoss", 3);
  EXPECT_DOUBLE_EQ(accuracy(loss, kOutput, kTarget), 2.0 / 3);
  loss.metrics.clear();
  EXPECT_TRUE(std::isnan(accuracy(loss, kOutput, kTarget)));
  // Yes and no: logits are on either side of 0, probabilities on either side of 0.5.
  const HostTensor z = tensor_of<float>(DType::float32, {2, 2}, {-200, 0.25F, 0.75F, 90});
  const HostTensor q = tensor_of<float>(DType::float32, {2, 2}, {0, 1, 1, 0.25F});
  loss = LossSection();
  loss.type = "BCEWithLogitsLoss";
  EXPECT_TRUE(std::isnan(accuracy(loss, z, q)));
  loss.metrics = {Metric::accuracy};
  EXPECT_DOUBLE_EQ(accuracy(loss, z, q), 0.75);
  loss.type = "BCELoss";
  EXPECT_DOUBLE_EQ(accuracy(loss, z, q), 0.5);
}

TEST(HostLoss, MetricsOfClasses) {
  std::vector<float> x(10 * 7);
  std::vector<int64_t> labels(10);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(std::sin(static_cast<double>(i * i)));
  for (size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<int64_t>(i * 3 % 7);
  LossSection loss = classes_loss("CrossEntropyLoss", 7);
  loss.metrics = all_metrics(loss);
  EvaluationSums sums;
  ASSERT_TRUE(
      add_batch(loss, tensor_of<float>(DType::float32, {10, 7}, x), tensor_of<int64_t>(DType::int64, {10}, labels), sums));
  // scikit-learn's accuracy_score, top_k_accuracy_score(k=5), f1_score(average="macro"); exp of torch's cross_entropy.
  EXPECT_NEAR(told(loss, sums, Metric::accuracy), 0.2, 1e-9);
  EXPECT_NEAR(told(loss, sums, Metric::top5_accuracy), 0.8, 1e-9);
  EXPECT_NEAR(told(loss, sums, Metric::f1), 0.16666666666666666, 1e-9);
  EXPECT_NEAR(told(loss, sums, Metric::perplexity), 8.087943810165955, 1e-5);
  EXPECT_TRUE(std::isnan(told(loss, sums, Metric::mean_absolute_error)));
}

TEST(HostLoss, MetricsOfYesAndNoAndOfNumbers) {
  const HostTensor z = tensor_of<float>(DType::float32, {2, 3}, {-2, 0.25F, 0.75F, 9, -1, 3});
  const HostTensor q = tensor_of<float>(DType::float32, {2, 3}, {0, 1, 1, 0, 1, 1});
  LossSection loss;
  loss.type = "BCEWithLogitsLoss";
  loss.metrics = all_metrics(loss);
  EvaluationSums sums;
  ASSERT_TRUE(add_batch(loss, z, q, sums));
  EXPECT_DOUBLE_EQ(told(loss, sums, Metric::f1), 0.75) << "3 of 4 that are told, 3 of 4 that are wanted";
  LossSection numbers;
  numbers.type = "MSELoss";
  numbers.metrics = all_metrics(numbers);
  EvaluationSums errors;
  ASSERT_TRUE(add_batch(numbers, z, q, errors));
  EXPECT_DOUBLE_EQ(told(numbers, errors, Metric::mean_absolute_error), 16.0 / 6);
  EXPECT_EQ(numbers.metrics.size(), 1U);
}

TEST(HostLoss, ShapesThatDoNotFit) {
  EvaluationSums sums;
  const auto ok = add_batch(classes_loss("CrossEntropyLoss", 4), kOutput, kTarget, sums);
  ASSERT_FALSE(ok);
  EXPECT_THAT(ok.error().message(), testing::AllOf(HasSubstr("[4, 3]"), HasSubstr("[4]")));
}

TEST(Targets, OutOfRangeNamesRowAndValue) {
  LossSection loss = classes_loss("CrossEntropyLoss", 3);
  EXPECT_TRUE(check_input(loss, 1, "--data", kTarget, 0));
  loss.ignore_index = 7;
  auto refused = check_input(loss, 1, "--data label=y.npy", kTarget, 0);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(),
              testing::AllOf(HasSubstr("--data label=y.npy"), HasSubstr("row 2"), HasSubstr("is -100"), HasSubstr("0 to 2"),
                             HasSubstr("ignore_index, 7")));
  // Rows in dimension 1, as sequences have them: element 5 of [2, 4] is row 1.
  const HostTensor sequence = tensor_of<int64_t>(DType::int64, {2, 4}, {0, 1, 2, 0, 7, 3, 0, 0});
  refused = check_input(loss, 1, "--eval", sequence, 1);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), testing::AllOf(HasSubstr("row 1 "), HasSubstr("is 3")));
  loss.classes = false;
  EXPECT_TRUE(check_input(loss, 1, "--eval", sequence, 1)) << "other losses have no classes";
}

/// net: y = x W' with W the identity of size 2, so that a row's class is its larger element's.
TEST(Evaluator, AllRowsWithARemainder) {
  PlanBuilder b = data_parallel_linear(2, 2, PlanBuilder::device(0));
  b.plan.train.symbols = b.plan.infer.symbols;
  for (const auto& [name, role] : {std::pair{"label", Value::target}, std::pair{"x", Value::input}}) {
    Value value;
    value.name = name;
    value.role = role;
    value.shape = {PlanBuilder::batch()};
    if (role == Value::input) value.shape.push_back(2);
    value.dtype = role == Value::input ? DType::float32 : DType::int64;
    b.plan.train.values.push_back(value);
  }
  auto model = Model::from_plan(b.plan);
  ASSERT_TRUE(model);
  const float identity[] = {1, 0, 0, 1}, zero[] = {0, 0};
  ASSERT_TRUE(model->set_parameters(
      std::vector<TensorView>{{"net.weight", DType::float32, {2, 2}, identity}, {"net.bias", DType::float32, {2}, zero}}));
  const auto values = training_values(model->plan());
  ASSERT_EQ(values.size(), 2U);
  EXPECT_EQ(values[0].name, "x") << "inputs come first, wherever they stand";

  // Rows 0, 3, 6, … have label 1 and x = (1, 0): wrong. The others are right.
  std::vector<float> x;
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < 11; ++i) {
    x.insert(x.end(), {1, 0});
    labels.push_back(i % 3 == 0);
  }
  std::vector<HostTensor> tensors;
  tensors.push_back(tensor_of<float>(DType::float32, {11, 2}, x));
  tensors.push_back(tensor_of<int64_t>(DType::int64, {11}, labels));
  auto data = Dataset::make(values, std::move(tensors));
  ASSERT_TRUE(data);
  auto devices = open_devices(*parse_devices("cpu:0,cpu:1"));
  ASSERT_TRUE(devices);
  const auto set = std::make_shared<const DeviceSet>(std::move(*devices));
  for (const int64_t batch : {1, 3, 4, 11, 100}) {
    auto evaluator = Evaluator::make(*model, set, *data, classes_loss("CrossEntropyLoss", 2), batch, {});
    ASSERT_TRUE(evaluator) << to_string(evaluator.error());
    const auto found = evaluator->run([] { return false; });
    ASSERT_TRUE(found) << to_string(found.error());
    ASSERT_TRUE(*found);
    ASSERT_EQ((*found)->metrics.size(), 1U);
    EXPECT_DOUBLE_EQ((*found)->metrics[0].second, 7.0 / 11) << batch;
    const double right = std::log1p(std::exp(-1)), wrong = right + 1;
    EXPECT_NEAR(*(*found)->loss, (7 * right + 4 * wrong) / 11, 1e-6);
    EXPECT_EQ((*found)->rows, 11);
    const auto stopped = evaluator->run([] { return true; });
    ASSERT_TRUE(stopped);
    EXPECT_FALSE(*stopped);
  }
}

Result<TrainSettings> parsed(std::vector<std::string> more) {
  std::vector<std::string> arguments{"m.plan", "--devices", "cpu:0", "--data", "x=random:4"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  auto options = train_options().parse(arguments);
  return options ? train_settings(*options) : Result<TrainSettings>(options.error());
}

TEST(Settings, FaultsOfTheCommandLine) {
  const std::vector<std::pair<std::vector<std::string>, const char*>> wrong = {
      {{"--batch-size", "2"}, "--epochs"},
      {{"--batch-size", "2", "--epochs", "1", "--steps", "1"}, "one of them"},
      {{"--epochs", "1"}, "--batch-size"},
      {{"--batch-size", "0", "--epochs", "1"}, "--batch-size"},
      {{"--batch-size", "2", "--epochs", "0"}, "--epochs"},
      {{"--batch-size", "2", "--steps", "-1"}, "--steps"},
      {{"--batch-size", "2", "--steps", "1", "--lr", "fast"}, "--lr"},
      {{"--batch-size", "2", "--steps", "1", "--lr", "-0.1"}, "--lr"},
      {{"--batch-size", "2", "--steps", "1", "--lr", "nan"}, "--lr"},
      {{"--batch-size", "2", "--steps", "1", "--lr", "0.1x"}, "--lr"},
      {{"--batch-size", "2", "--steps", "1", "--resume"}, "--checkpoint"},
      {{"--batch-size", "2", "--steps", "1", "--keep", "2"}, "--checkpoint"},
      {{"--batch-size", "2", "--steps", "1", "--checkpoint", "d", "--keep", "0"}, "--keep"},
      {{"--batch-size", "2", "--steps", "1", "--checkpoint-every", "2"}, "--checkpoint"},
      {{"--batch-size", "2", "--steps", "1", "--data", "x=random:5"}, "given twice"},
      {{"--batch-size", "2", "--steps", "1", "--eval", "x"}, "NAME=SOURCE"},
      {{"--batch-size", "2", "--steps", "1", "--seed", "-3"}, "--seed"},
      {{"--batch-size", "2", "--steps", "1", "--numerics", "sloppy"}, "--numerics"}};
  for (const auto& [arguments, word] : wrong) {
    const auto settings = parsed(arguments);
    ASSERT_FALSE(settings) << testing::PrintToString(arguments);
    EXPECT_THAT(to_string(settings.error()), HasSubstr(word)) << testing::PrintToString(arguments);
  }
  const auto right = parsed(
      {"--batch-size", "2", "--steps", "9", "--lr", "1e-3", "--no-shuffle", "--checkpoint", "d", "--resume", "--keep", "5"});
  ASSERT_TRUE(right) << to_string(right.error());
  EXPECT_EQ(right->lr, 1e-3);
  EXPECT_FALSE(right->shuffle);
  EXPECT_TRUE(right->resume);
  EXPECT_EQ(right->keep, 5);
  EXPECT_EQ(right->steps, 9);
}

using Outputs = Folder;

TEST_F(Outputs, ThatCannotBeWrittenAreRefusedAtTheStart) {
  EXPECT_TRUE(check_output(""));
  EXPECT_TRUE(check_output(path("new.svg")));
  EXPECT_TRUE(check_output("/dev/null"));
  EXPECT_FALSE(check_output(path("no/such.svg")));
  EXPECT_FALSE(check_output(path("")));
}

}  // namespace
}  // namespace sheaf::training_tests
