// Variables and their updates: the same numbers on any devices, in place where that is safe.
#include "tests/fixtures/convolution_plan.h"
#include "runtime/plan/op_list.h"
#include "tests/fixtures/training_run.h"

#include "runtime/bind/binding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace sheaf {
namespace {

void expect_near(const std::vector<float>& a, const std::vector<float>& b, const std::string& what) {
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(a[i], b[i], 1e-4 * (1 + std::abs(b[i]))) << what << " at " << i;
}

/// Trains three steps on batches of `rows` and compares with plain C++.
void expect_trains(const TrainingOptions& options, std::shared_ptr<const DeviceSet> devices, int64_t rows,
                   const std::string& what) {
  SCOPED_TRACE(what + ", " + std::to_string(rows) + " rows");
  const Model model = training_model(options);
  auto trainer = trainer_of(model, devices, rows);
  ASSERT_TRUE(trainer) << to_string(trainer.error());
  trainer->progress().lr = 0.125 / double(rows + 1);
  TrainingReference reference;
  reference.lr = static_cast<float>(trainer->progress().lr);
  for (int step = 0; step < 3; ++step) {
    const std::vector<float> before = reference.w;
    const TrainingBatch batch(rows, step);
    const float expected = reference.step(batch.x, batch.t);
    auto loss = trainer->step(batch.buffers());
    ASSERT_TRUE(loss) << to_string(loss.error());
    EXPECT_NEAR(*loss, expected, 1e-3 * (1 + expected));
    expect_near(parameter_values(model, 0), reference.w, "w");
    expect_near(parameter_values(model, 1), reference.row, "row");
    expect_near(momentum(model, *trainer), reference.m, "w.m");
    EXPECT_EQ(trainer->progress().steps, step + 1);
    if (options.slow_reader) {
      auto session = model.bind(devices, rows);
      const auto kept = parameter_values(model, 2);
      const float replicas = kept[0] / before[0];
      EXPECT_NEAR(replicas, std::round(replicas), 1e-3) << "another w than that of before the step";
      for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(kept[i], replicas * before[i], 1e-3 * (1 + std::abs(kept[i])));
    }
  }
}

TEST(TrainingUpdate, SameNumbersOnAllDevicesAndBatches) {
  for (int devices : {0, 1, 2, 3, 4}) {
    for (int64_t rows : {0, 1, 2, 4, 5, 7, 12}) {
      expect_trains({}, training_devices(devices), rows, std::to_string(devices) + " devices");
    }
  }
}

TEST(TrainingUpdate, WithoutInPlaceToo) {
  TrainingOptions options;
  options.in_place = false;
  for (int devices : {0, 1, 3}) expect_trains(options, training_devices(devices), 5, std::to_string(devices) + " devices");
}

TEST(TrainingUpdate, AllReadersOfTheOldValueComeFirst) {
  TrainingOptions options;
  options.slow_reader = true;
  for (int devices : {0, 1, 2, 3}) {
    for (int64_t rows : {2, 7}) expect_trains(options, training_devices(devices), rows, std::to_string(devices) + " devices");
  }
}

std::vector<std::string> operations(const Trainer& trainer) {
  std::vector<std::string> names;
  for (const OperationInfo& operation : trainer.binding().info().operations) names.push_back(to_string(operation.op));
  return names;
}

TEST(TrainingUpdate, IsMadeInPlaceAndNothingIsTakenForConstant) {
  const auto device = std::make_shared<TrainingDevice>();
  const Model model = training_model();
  for (int devices : {0, 2}) {
    auto trainer = trainer_of(model, training_devices(devices, device), 6);
    ASSERT_TRUE(trainer) << to_string(trainer.error());
    const auto names = operations(*trainer);
    EXPECT_EQ(std::count(names.begin(), names.end(), "check_finite"), 1);
    // The buffer's new value is made before the loss is known, so it has to wait; w and its momentum don't.
    EXPECT_EQ(std::count(names.begin(), names.end(), "update"), 1);
    EXPECT_EQ(trainer->binding().info().derived_bytes, 4U) << "the step without inputs alone is done once";
  }
  EXPECT_FALSE(device->constants_seen);
}

TEST(TrainingUpdate, StepsWithoutInputsRunOnce) {
  const Model model = training_model();
  auto trainer = trainer_of(model, training_devices(2), 6);
  ASSERT_TRUE(trainer);
  const int before = TrainingDevice::ones;
  const TrainingBatch batch(6);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(trainer->step(batch.buffers()));
  EXPECT_EQ(TrainingDevice::ones, before);
  EXPECT_GE(before, 1);
}

TEST(TrainingUpdate, AReaderAfterTheUpdateStillSeesTheOldValue) {
  TrainingOptions options;
  options.reads_after = true;
  for (int devices : {0, 1, 2}) {
    const Model model = training_model(options);
    auto trainer = trainer_of(model, training_devices(devices), 6);
    ASSERT_TRUE(trainer) << to_string(trainer.error());
    const TrainingBatch batch(6);
    const auto w = parameter_values(model, 0), old = parameter_values(model, 2);
    ASSERT_TRUE(trainer->step(batch.buffers()));
    EXPECT_NE(parameter_values(model, 0), w);
    for (size_t i = 0; i < 3; ++i) EXPECT_EQ(parameter_values(model, 2)[i], old[i] / 2 + w[i]);
  }
}

TEST(TrainingUpdate, VariablesChangePlaces) {
  TrainingOptions options;
  options.swap = true;
  for (int devices : {0, 1, 2}) {
    const Model model = training_model(options);
    auto trainer = trainer_of(model, training_devices(devices), 4);
    ASSERT_TRUE(trainer) << to_string(trainer.error());
    const auto a = parameter_values(model, 2), b = parameter_values(model, 3);
    ASSERT_NE(a, b);
    const TrainingBatch batch(4);
    ASSERT_TRUE(trainer->step(batch.buffers()));
    EXPECT_EQ(parameter_values(model, 2), b);
    EXPECT_EQ(parameter_values(model, 3), a);
    EXPECT_EQ(parameter_values(model, 4), b) << "c takes b's old value";
  }
}

TEST(TrainingUpdate, ConvolutionsShareTheReorderedVariable) {
  const int64_t rows = 7;
  const ConvolutionBatch batch(rows);
  std::vector<std::vector<float>> losses, weights;
  for (int devices : {0, 1, 2, 3}) {
    const Model model = ConvolutionPlan().model();
    auto trainer = trainer_of(model, training_devices(devices), rows);
    ASSERT_TRUE(trainer) << to_string(trainer.error());
    losses.emplace_back();
    for (int step = 0; step < 5; ++step) {
      auto loss = trainer->step(batch.buffers());
      ASSERT_TRUE(loss) << to_string(loss.error());
      losses.back().push_back(*loss);
    }
    weights.push_back(parameter_values(model, 0));
    std::map<std::string, int> reorders;
    for (const OperationInfo& operation : trainer->binding().info().operations) {
      if (operation.op != Op::reorder || operation.inputs[0] != "w") continue;
      const TensorSpec& made = operation.output_specs[0];
      ++reorders[made.plain() ? "plain" : made.format->name()];
    }
    for (const auto& [format, count] : reorders) EXPECT_EQ(count, 1) << "to " << format << " on " << devices << " devices";
  }
  EXPECT_LT(losses[0].back(), losses[0].front() * 0.99F) << "it should learn";
  for (size_t i = 1; i < losses.size(); ++i) {
    for (size_t s = 0; s < losses[0].size(); ++s) EXPECT_NEAR(losses[i][s], losses[0][s], 1e-4 * losses[0][s]);
    for (size_t j = 0; j < weights[0].size(); ++j) ASSERT_NEAR(weights[i][j], weights[0][j], 1e-5);
  }
}

TEST(TrainingUpdate, SessionsOfTheModelSeeTheNewValues) {
  const Model model = training_model();
  const auto devices = training_devices(2);
  auto trainer = trainer_of(model, devices, 5);
  auto session = model.bind(devices, 5);
  ASSERT_TRUE(trainer && session);
  const TrainingBatch batch(5);
  TrainingReference reference;
  for (int i = 0; i < 3; ++i) {
    reference.step(batch.x, batch.t);
    ASSERT_TRUE(trainer->step(batch.buffers()));
    std::vector<float> y(5);
    const void* in[] = {batch.x.data()};
    void* out[] = {y.data()};
    ASSERT_TRUE(session->run(in, out));
    for (size_t row = 0; row < 5; ++row) {
      float expected = 0;
      for (size_t j = 0; j < 3; ++j) expected += batch.x[3 * row + j] * parameter_values(model, 0)[j];
      EXPECT_NEAR(y[row], expected, 1e-3 * (1 + std::abs(expected)));
    }
  }
}

}  // namespace
}  // namespace sheaf
