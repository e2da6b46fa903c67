// Variables and their updates: the same numbers on any devices, in place where that is safe, nothing where a run fails.
#include "convolution_plan.h"
#include "variable_values.h"

#include "runtime/bind/binding.h"
#include "runtime/plan/check.h"
#include "runtime/training/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace sheaf {
namespace {

using ::testing::HasSubstr;

Model load(const TrainingOptions& options = {}) {
  TrainingPlan made(options);
  auto model = Model::from_plan(std::move(made.b.plan));
  EXPECT_TRUE(model && model->initialise_parameters(0));
  return *model;
}

struct Batch {
  std::vector<float> x, t;
  explicit Batch(int64_t rows, int seed = 0) : x(size_t(rows) * 3), t(size_t(rows)) {
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(int(i * 7 + size_t(seed) * 5) % 5 - 2);
    for (size_t i = 0; i < t.size(); ++i) t[i] = static_cast<float>(int(i * 3 + size_t(seed)) % 4 - 1);
  }
  std::vector<const void*> buffers() const { return {x.empty() ? &nothing : x.data(), t.empty() ? &nothing : t.data()}; }
  static inline const float nothing = 0;
};

std::vector<float> weight(const Model& model, size_t index) {
  return parameter_values(model, index);
}

std::vector<float> momentum(const Model& model, const Trainer& trainer) {
  const auto entries = lasting_state(model.plan());
  EXPECT_TRUE(entries.size() == 1 && entries[0].name == "w.m");
  return state_values(model, trainer, 0);
}

void expect_near(const std::vector<float>& a, const std::vector<float>& b, const std::string& what) {
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(a[i], b[i], 1e-4 * (1 + std::abs(b[i]))) << what << " at " << i;
}

Result<Trainer> trainer_of(const Model& model, std::shared_ptr<const DeviceSet> devices, int64_t batch) {
  return Trainer::bind(model, std::move(devices), batch, nullptr);
}

/// Trains three steps on batches of `rows` and compares with plain C++.
void expect_trains(const TrainingOptions& options, std::shared_ptr<const DeviceSet> devices, int64_t rows,
                   const std::string& what) {
  SCOPED_TRACE(what + ", " + std::to_string(rows) + " rows");
  const Model model = load(options);
  auto trainer = trainer_of(model, devices, rows);
  ASSERT_TRUE(trainer) << to_string(trainer.error());
  trainer->progress().lr = 0.125 / double(rows + 1);
  TrainingReference reference;
  reference.lr = static_cast<float>(trainer->progress().lr);
  for (int step = 0; step < 3; ++step) {
    const std::vector<float> before = reference.w;
    const Batch batch(rows, step);
    const float expected = reference.step(batch.x, batch.t);
    auto loss = trainer->step(batch.buffers());
    ASSERT_TRUE(loss) << to_string(loss.error());
    EXPECT_NEAR(*loss, expected, 1e-3 * (1 + expected));
    expect_near(weight(model, 0), reference.w, "w");
    expect_near(weight(model, 1), reference.row, "row");
    expect_near(momentum(model, *trainer), reference.m, "w.m");
    EXPECT_EQ(trainer->progress().steps, step + 1);
    if (options.slow_reader) {
      auto session = model.bind(devices, rows);
      const auto kept = weight(model, 2);
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
  for (const OperationInfo& operation : trainer.info().operations) names.push_back(operation.op);
  return names;
}

TEST(TrainingUpdate, IsMadeInPlaceAndNothingIsTakenForConstant) {
  const auto device = std::make_shared<TrainingDevice>();
  const Model model = load();
  for (int devices : {0, 2}) {
    auto trainer = trainer_of(model, training_devices(devices, device), 6);
    ASSERT_TRUE(trainer) << to_string(trainer.error());
    const auto names = operations(*trainer);
    EXPECT_EQ(std::count(names.begin(), names.end(), "check_finite"), 1);
    // The buffer's new value is made before the loss is known, so it has to wait; w and its momentum don't.
    EXPECT_EQ(std::count(names.begin(), names.end(), "update"), 1);
    EXPECT_EQ(trainer->info().derived_bytes, 4U) << "the step without inputs alone is done once";
  }
  EXPECT_FALSE(device->constants_seen);
}

TEST(TrainingUpdate, StepsWithoutInputsRunOnce) {
  const Model model = load();
  auto trainer = trainer_of(model, training_devices(2), 6);
  ASSERT_TRUE(trainer);
  const int before = TrainingDevice::ones;
  const Batch batch(6);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(trainer->step(batch.buffers()));
  EXPECT_EQ(TrainingDevice::ones, before);
  EXPECT_GE(before, 1);
}

TEST(TrainingUpdate, AReaderAfterTheUpdateStillSeesTheOldValue) {
  TrainingOptions options;
  options.reads_after = true;
  for (int devices : {0, 1, 2}) {
    const Model model = load(options);
    auto trainer = trainer_of(model, training_devices(devices), 6);
    ASSERT_TRUE(trainer) << to_string(trainer.error());
    const Batch batch(6);
    const auto w = weight(model, 0), old = weight(model, 2);
    ASSERT_TRUE(trainer->step(batch.buffers()));
    EXPECT_NE(weight(model, 0), w);
    for (size_t i = 0; i < 3; ++i) EXPECT_EQ(weight(model, 2)[i], old[i] / 2 + w[i]);
  }
}

TEST(TrainingUpdate, VariablesChangePlaces) {
  TrainingOptions options;
  options.swap = true;
  for (int devices : {0, 1, 2}) {
    const Model model = load(options);
    auto trainer = trainer_of(model, training_devices(devices), 4);
    ASSERT_TRUE(trainer) << to_string(trainer.error());
    const auto a = weight(model, 2), b = weight(model, 3);
    ASSERT_NE(a, b);
    const Batch batch(4);
    ASSERT_TRUE(trainer->step(batch.buffers()));
    EXPECT_EQ(weight(model, 2), b);
    EXPECT_EQ(weight(model, 3), a);
    EXPECT_EQ(weight(model, 4), b) << "c takes b's old value";
  }
}

TEST(TrainingUpdate, ALossThatIsNotFiniteLeavesEverythingAsItWas) {
  for (const auto& devices : {training_devices(0), training_devices(1), training_devices(3)}) {
    const Model model = load();
    auto trainer = trainer_of(model, devices, 7);
    ASSERT_TRUE(trainer) << to_string(trainer.error());
    trainer->progress().lr = 0.01;
    const Batch good(7);
    ASSERT_TRUE(trainer->step(good.buffers()));
    const auto w = weight(model, 0), row = weight(model, 1), m = momentum(model, *trainer);
    Batch bad(7);
    bad.x[16] = std::numeric_limits<float>::quiet_NaN();
    auto loss = trainer->step(bad.buffers());
    ASSERT_TRUE(loss) << to_string(loss.error());
    EXPECT_TRUE(std::isnan(*loss));
    EXPECT_EQ(trainer->progress().steps, 1);
    EXPECT_EQ(trainer->first_not_finite(bad.buffers()), "net.fc");
    EXPECT_EQ(trainer->first_not_finite(good.buffers()), "");
    EXPECT_EQ(weight(model, 0), w);
    EXPECT_EQ(weight(model, 1), row);
    EXPECT_EQ(momentum(model, *trainer), m);
    ASSERT_TRUE(trainer->step(good.buffers())) << "and it goes on";
    EXPECT_NE(weight(model, 0), w);
    EXPECT_NE(weight(model, 1), row);
    EXPECT_EQ(trainer->progress().steps, 2);
  }
}

TEST(TrainingUpdate, AFailureInAReplicaLeavesEverythingAsItWas) {
  TrainingOptions options;
  options.refuse = true;
  for (const auto& devices : {training_devices(0), training_devices(2), training_devices(3)}) {
    const Model model = load(options);
    auto trainer = trainer_of(model, devices, 6);
    ASSERT_TRUE(trainer) << to_string(trainer.error());
    const Batch good(6);
    Batch bad(6);
    bad.x[17] = 1000;  // the last replica's
    const auto w = weight(model, 0), row = weight(model, 1), m = momentum(model, *trainer);
    auto loss = trainer->step(bad.buffers());
    ASSERT_FALSE(loss);
    EXPECT_THAT(loss.error().message(), HasSubstr("it doesn't like what it sees"));
    EXPECT_EQ(weight(model, 0), w);
    EXPECT_EQ(weight(model, 1), row);
    EXPECT_EQ(momentum(model, *trainer), m);
    EXPECT_EQ(trainer->progress().steps, 0);
    EXPECT_TRUE(trainer->step(good.buffers()));
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
    for (const OperationInfo& operation : trainer->info().operations) {
      if (operation.op == "reorder" && operation.inputs[0].starts_with("w ")) ++reorders[operation.outputs[0]];
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
  const Model model = load();
  const auto devices = training_devices(2);
  auto trainer = trainer_of(model, devices, 5);
  auto session = model.bind(devices, 5);
  ASSERT_TRUE(trainer && session);
  const Batch batch(5);
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
      for (size_t j = 0; j < 3; ++j) expected += batch.x[3 * row + j] * weight(model, 0)[j];
      EXPECT_NEAR(y[row], expected, 1e-3 * (1 + std::abs(expected)));
    }
  }
}

}  // namespace
}  // namespace sheaf
