// The Trainer's own part: schedules, settings, the optimiser's state, wrong calls.
#include "tests/fixtures/training_run.h"

#include "runtime/training/plateau.h"
#include "runtime/training/step_program.h"
#include "sheaf/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace sheaf {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pointwise;

double rate(Json schedule, double base, int64_t epoch) {
  Plan plan;
  plan.training = {{"optimizer", {{"lr", base}}}};
  if (!schedule.is_null()) plan.training["schedule"] = std::move(schedule);
  return learning_rate(plan, base, {epoch, 0});
}

TEST(LearningRate, IsPyTorchs) {
  EXPECT_DOUBLE_EQ(rate(nullptr, 0.3, 7), 0.3);
  const Json step = {{"type", "StepLR"}, {"step_size", 3}, {"gamma", 0.5}};
  EXPECT_DOUBLE_EQ(rate(step, 0.8, 0), 0.8);
  EXPECT_DOUBLE_EQ(rate(step, 0.8, 2), 0.8);
  EXPECT_DOUBLE_EQ(rate(step, 0.8, 3), 0.4);
  EXPECT_DOUBLE_EQ(rate(step, 0.8, 8), 0.2);
  const Json multi = {{"type", "MultiStepLR"}, {"milestones", {2, 5, 5}}, {"gamma", 0.1}};
  EXPECT_DOUBLE_EQ(rate(multi, 1, 1), 1);
  EXPECT_DOUBLE_EQ(rate(multi, 1, 2), 0.1);
  EXPECT_NEAR(rate(multi, 1, 5), 0.001, 1e-15) << "a milestone that appears twice counts twice";
  const Json cosine = {{"type", "CosineAnnealingLR"}, {"T_max", 4}, {"eta_min", 0.1}};
  EXPECT_DOUBLE_EQ(rate(cosine, 1.1, 0), 1.1);
  EXPECT_DOUBLE_EQ(rate(cosine, 1.1, 2), 0.6);
  EXPECT_DOUBLE_EQ(rate(cosine, 1.1, 1), 0.1 + 0.5 * (1 + std::cos(std::numbers::pi / 4)));
  EXPECT_DOUBLE_EQ(rate(cosine, 1.1, 4), 0.1);
  EXPECT_DOUBLE_EQ(rate(cosine, 1.1, 8), 1.1) << "and up again";
  const Json linear = {{"type", "LinearLR"}, {"start_factor", 0.25}, {"end_factor", 1.0}, {"total_iters", 3}};
  EXPECT_DOUBLE_EQ(rate(linear, 2, 0), 0.5);
  EXPECT_DOUBLE_EQ(rate(linear, 2, 1), 1);
  EXPECT_DOUBLE_EQ(rate(linear, 2, 3), 2);
  EXPECT_DOUBLE_EQ(rate(linear, 2, 99), 2);
}

TEST(LearningRate, OfTheFurtherSchedulesIsPyTorchs) {
  const auto rates = [](const Json& schedule, double base, int64_t count) {
    std::vector<double> all;
    for (int64_t at = 0; at < count; ++at) all.push_back(rate(schedule, base, at));
    return all;
  };
  EXPECT_THAT(
      rates({{"type", "ExponentialLR"}, {"gamma", 0.9}}, 0.8, 4),
      Pointwise(DoubleNear(1e-12), std::vector<double>{0.8, 0.7200000000000001, 0.6480000000000001, 0.5832000000000002}));
  EXPECT_THAT(rates({{"type", "ConstantLR"}, {"factor", 0.25}, {"total_iters", 2}}, 0.8, 4),
              Pointwise(DoubleNear(1e-12), std::vector<double>{0.2, 0.2, 0.8, 0.8}));
  EXPECT_THAT(
      rates({{"type", "PolynomialLR"}, {"total_iters", 4}, {"power", 2.0}}, 0.8, 6),
      Pointwise(DoubleNear(1e-12), std::vector<double>{0.8, 0.45, 0.19999999999999998, 0.049999999999999996, 0.0, 0.0}));
  EXPECT_THAT(rates({{"type", "CosineAnnealingWarmRestarts"}, {"T_0", 3}, {"T_mult", 2}, {"eta_min", 0.1}}, 0.8, 12),
              Pointwise(DoubleNear(1e-12), std::vector<double>{0.8, 0.625, 0.27500000000000013, 0.8, 0.7531088913245536, 0.625,
                                                               0.45000000000000007, 0.27500000000000013, 0.14689110867544647,
                                                               0.8, 0.7880740392011739, 0.7531088913245536}));
  EXPECT_THAT(
      rates({{"type", "CosineAnnealingWarmRestarts"}, {"T_0", 3}}, 0.8, 5),
      Pointwise(DoubleNear(1e-12), std::vector<double>{0.8, 0.6000000000000001, 0.2000000000000001, 0.8, 0.6000000000000001}));
  EXPECT_THAT(rates({{"type", "OneCycleLR"}, {"max_lr", 0.5}, {"total_steps", 10}, {"cycle_momentum", false}}, 0.8, 10),
              Pointwise(DoubleNear(1e-12), std::vector<double>{0.020000000000000018, 0.26, 0.5, 0.47524231600673683,
                                                               0.40587282697488153, 0.30563101096814466, 0.19437098903185537,
                                                               0.09412917302511849, 0.024759683993263143, 2e-06}));
  EXPECT_THAT(
      rates({{"type", "OneCycleLR"},
             {"max_lr", 0.5},
             {"total_steps", 12},
             {"three_phase", true},
             {"anneal_strategy", "linear"},
             {"pct_start", 0.4},
             {"cycle_momentum", false}},
            0.8, 12),
      Pointwise(DoubleNear(1e-12),
                std::vector<double>{0.02, 0.14631578947368415, 0.27263157894736834, 0.3989473684210526, 0.47473684210526323,
                                    0.3484210526315791, 0.22210526315789492, 0.0957894736842107, 0.017647294117647067,
                                    0.011765529411764711, 0.005883764705882356, 1.9999999999985307e-06}));
  EXPECT_THAT(rates({{"type", "SequentialLR"},
                     {"schedulers",
                      {{{"type", "LinearLR"}, {"start_factor", 0.25}, {"total_iters", 3}},
                       {{"type", "CosineAnnealingLR"}, {"T_max", 4}}}},
                     {"milestones", Json::array({3})}},
                    0.8, 8),
              Pointwise(DoubleNear(1e-12), std::vector<double>{0.2, 0.4, 0.6000000000000001, 0.8, 0.682842712474619, 0.4,
                                                               0.11715728752538102, 0.0}));
}

TEST(LearningRate, OfReduceLROnPlateauIsPyTorchs) {
  const std::vector<double> values = {3.0,  2.0, 2.1,  1.9999, 2.2,  2.3,  1.5,  1.6,   1.7, 1.8, 1.9,
                                      1.55, 1.4, 1.45, 1.43,   1.44, 1.42, 1.41, 1.405, 1.6, 1.7, 1.8};
  const auto rates = [&](Json schedule) {
    schedule["type"] = "ReduceLROnPlateau";
    Plateau state;
    std::vector<double> all;
    for (const double value : values) {
      state = after_epoch(schedule, state, value);
      all.push_back(reduced_rate(schedule, 0.1, state.reductions));
    }
    return all;
  };
  const auto near = [](std::vector<double> expected) { return Pointwise(DoubleNear(1e-15), std::move(expected)); };
  EXPECT_THAT(rates({{"factor", 0.5}, {"patience", 1}}),
              near({0.1,       0.1,       0.1,        0.05,       0.05,        0.025,      0.025,    0.025,
                    0.0125,    0.0125,    0.00625,    0.00625,    0.00625,     0.00625,    0.003125, 0.003125,
                    0.0015625, 0.0015625, 0.00078125, 0.00078125, 0.000390625, 0.000390625}));
  EXPECT_THAT(rates({{"factor", 0.3}, {"patience", 0}, {"cooldown", 2}, {"min_lr", 0.004}}),
              near({0.1,   0.1,   0.03,  0.03,  0.03,  0.009, 0.009, 0.009, 0.004, 0.004, 0.004,
                    0.004, 0.004, 0.004, 0.004, 0.004, 0.004, 0.004, 0.004, 0.004, 0.004, 0.004}));
  EXPECT_THAT(rates({{"mode", "max"}, {"patience", 2}, {"threshold", 0.2}, {"threshold_mode", "abs"}}),
              near({0.1,  0.1,  0.1,  1e-2, 1e-2, 1e-2, 1e-3, 1e-3, 1e-3, 1e-4, 1e-4,
                    1e-4, 1e-5, 1e-5, 1e-5, 1e-6, 1e-6, 1e-6, 1e-7, 1e-7, 1e-7, 1e-8}));
  EXPECT_THAT(rates({{"patience", 0}, {"eps", 1e-3}}),
              near({0.1,  0.1,  1e-2, 1e-3, 1e-3, 1e-3, 1e-3, 1e-3, 1e-3, 1e-3, 1e-3,
                    1e-3, 1e-3, 1e-3, 1e-3, 1e-3, 1e-3, 1e-3, 1e-3, 1e-3, 1e-3, 1e-3}));
}

TEST(LearningRate, OfAParameterGroupKeepsItsProportion) {
  Plan plan;
  plan.training = {{"optimizer", {{"lr", 0.1}, {"parameter_groups", {{{"lr", 0.02}}, {{"weight_decay", 0}}, {{"lr", 0.4}}}}}},
                   {"schedule", {{"type", "CosineAnnealingLR"}, {"T_max", 2}, {"eta_min", 0.01}}}};
  StepSettings settings;
  settings.set_rates(plan, 0.1, {1, 0});
  EXPECT_FLOAT_EQ(settings.lr, 0.055F);
  EXPECT_EQ(settings.group_lr.size(), 2U);
  EXPECT_FLOAT_EQ(*static_cast<const float*>(settings.find("lr[0]")), 0.015F);
  EXPECT_FLOAT_EQ(*static_cast<const float*>(settings.find("lr[2]")), 0.205F);
  EXPECT_EQ(settings.find("lr[1]"), nullptr);
  settings.set_rates(plan, 0.2, {0, 0});
  EXPECT_FLOAT_EQ(settings.lr, 0.2F);
  EXPECT_FLOAT_EQ(*static_cast<const float*>(settings.find("lr[2]")), 0.8F);
}

TEST(LearningRate, GoesOnWithEpochsOrSteps) {
  Plan plan;
  plan.training = {{"schedule", {{"type", "ExponentialLR"}, {"gamma", 0.5}}}};
  EXPECT_FALSE(counts_steps(plan));
  EXPECT_DOUBLE_EQ(learning_rate(plan, 1, {.epochs = 1, .steps = 3}), 0.5);
  plan.training["schedule"]["interval"] = "step";
  EXPECT_TRUE(counts_steps(plan));
  EXPECT_DOUBLE_EQ(learning_rate(plan, 1, {.epochs = 1, .steps = 3}), 0.125);
}

/// A program that reveals its settings: they become buffers' values.
Model settings_model() {
  PlanBuilder b;
  b.plan.training = {{"optimizer", {{"type", "Adam"}, {"lr", 0.5}}},
                     {"schedule", {{"type", "StepLR"}, {"step_size", 1}, {"gamma", 0.5}}}};
  const int x = b.input("x", {b.batch()});
  b.output("loss", b.step("squares", {x, x}, "loss", {}, b.host()));
  for (const auto& [name, dtype] :
       std::vector<std::pair<std::string, DType>>{{"step", DType::int64}, {"seed", DType::int64}, {"lr", DType::float32}}) {
    const int setting = b.value(name, {}, b.host(), dtype);
    b.program.values.back().role = Value::setting;
    b.plan.parameters.push_back({"seen." + name, dtype, {}, true, {}, {{"type", "zeros"}}});
    b.program.updates.push_back({"seen." + name, setting});
  }
  b.plan.train = b.plan.infer;
  b.plan.infer = {};
  auto model = Model::from_plan(std::move(b.plan));
  EXPECT_TRUE(model && model->initialise_parameters(0));
  return *model;
}

TEST(Trainer, GivesTheSettingsOfEachStep) {
  const Model model = settings_model();
  for (int devices : {0, 1, 2}) {
    auto trainer = Trainer::bind(model, training_devices(devices), 2);
    ASSERT_TRUE(trainer) << to_string(trainer.error());
    const float x[] = {1, 2};
    const void* buffers[] = {x};
    const auto real = [&](size_t i) { return parameter_values(model, i)[0]; };
    const auto integer = [&](size_t i) { return parameter_values<int64_t>(model, i)[0]; };
    EXPECT_EQ(trainer->progress().lr, 0.5);
    trainer->progress().seed = 77;
    ASSERT_TRUE(trainer->step(buffers));
    EXPECT_EQ(integer(0), 1);
    EXPECT_EQ(integer(1), 77);
    EXPECT_EQ(real(2), 0.5F);
    trainer->progress().epochs = 2;
    ASSERT_TRUE(trainer->step(buffers));
    EXPECT_EQ(integer(0), 2);
    EXPECT_EQ(real(2), 0.125F);
    trainer->progress().lr = 8;
    trainer->progress().steps = 9;  // as from a checkpoint
    ASSERT_TRUE(trainer->step(buffers));
    EXPECT_EQ(integer(0), 10);
    EXPECT_EQ(real(2), 2);
  }
}

TEST(Trainer, TakesInputsThenTargets) {
  TrainingPlan made;
  auto model = Model::from_plan(std::move(made.b.plan));
  ASSERT_TRUE(model && model->initialise_parameters(0));
  auto trainer = Trainer::bind(*model, "cpu", 4);
  ASSERT_FALSE(trainer) << "the CPU has no operation 'first_row'";
  trainer = Trainer::bind(*model, training_devices(2), 4);
  ASSERT_TRUE(trainer) << to_string(trainer.error());
  ASSERT_EQ(trainer->inputs().size(), 2U);
  EXPECT_EQ(trainer->inputs()[0].name, "x");
  EXPECT_EQ(trainer->inputs()[1].name, "t");
  EXPECT_EQ(trainer->inputs()[1].batch_dim, 0);
  EXPECT_THAT(trainer->input_shape(0), ElementsAre(4, 3));
  EXPECT_THAT(trainer->input_shape(1), ElementsAre(4));
  const float x[13] = {};
  const void* one[] = {x};
  auto loss = trainer->step(one);
  ASSERT_FALSE(loss);
  EXPECT_THAT(loss.error().message(), HasSubstr("needs 2 buffers"));
  const void* missing[] = {x, nullptr};
  EXPECT_FALSE(trainer->step(missing));
  const void* skewed[] = {reinterpret_cast<const char*>(x) + 1, x};
  EXPECT_FALSE(trainer->step(skewed));
  EXPECT_EQ(trainer->progress().steps, 0);
  const void* both[] = {x, x};
  EXPECT_TRUE(trainer->step(both));
}

TEST(Trainer, NeedsATrainingProgramAndWeights) {
  auto without = Model::from_plan(data_parallel_linear(5, 2, PlanBuilder::device(0)).plan);
  ASSERT_TRUE(without);
  auto none = Trainer::bind(*without, "cpu", 4);
  ASSERT_FALSE(none);
  EXPECT_THAT(to_string(none.error()), HasSubstr("holds no training program"));
  TrainingPlan made;
  auto model = Model::from_plan(std::move(made.b.plan));
  ASSERT_TRUE(model);
  auto trainer = Trainer::bind(*model, training_devices(0), 2);
  ASSERT_TRUE(trainer) << to_string(trainer.error());
  const float x[6] = {};
  const void* buffers[] = {x, x};
  auto loss = trainer->step(buffers);
  ASSERT_FALSE(loss);
  EXPECT_THAT(loss.error().message(), HasSubstr("weights were never set"));
  ASSERT_TRUE(model->initialise_parameters(0));
  EXPECT_TRUE(trainer->step(buffers));
}

TEST(Trainer, ASmallerBatchIsAStepLikeAnyOther) {
  TrainingPlan made;
  auto model = Model::from_plan(std::move(made.b.plan));
  ASSERT_TRUE(model && model->initialise_parameters(0));
  auto trainer = Trainer::bind(*model, training_devices(2), 4);
  ASSERT_TRUE(trainer);
  trainer->progress().lr = 0.5;
  const float x[] = {1, 0, 2, 1, 1, 0, 0, 0, 1, 2, 2, 0}, t[] = {1, 0, 1, 0};
  const void* buffers[] = {x, t};
  TrainingReference reference;
  reference.lr = 0.5;
  reference.step({x, x + 12}, {t, t + 4});
  ASSERT_TRUE(trainer->step(buffers));
  reference.step({x, x + 3}, {t, t + 1});
  ASSERT_TRUE(trainer->step_rows(1, buffers));
  EXPECT_EQ(trainer->progress().steps, 2);
  const auto w = parameter_values(*model, 0);
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(w[i], reference.w[i], 1e-4 * (1 + std::abs(w[i])));
  EXPECT_THAT(trainer->input_shape(0), ElementsAre(4, 3)) << "of a whole batch";
  auto large = trainer->step_rows(5, buffers);
  ASSERT_FALSE(large);
  EXPECT_THAT(large.error().message(), HasSubstr("bound to batches of 4 rows, and to smaller ones"));
  EXPECT_FALSE(trainer->prepare(-1));
}

TEST(Trainer, BatchesOfManySizesAreDroppedAndBoundAgain) {
  TrainingPlan made;
  auto model = Model::from_plan(std::move(made.b.plan));
  ASSERT_TRUE(model && model->initialise_parameters(0));
  auto trainer = Trainer::bind(*model, training_devices(2), 12);
  ASSERT_TRUE(trainer);
  const std::vector<float> x(36, 0.25F), t(12, 1);
  const void* buffers[] = {x.data(), t.data()};
  for (int round = 0; round < 2; ++round) {
    for (int64_t rows = 1; rows <= 12; ++rows) ASSERT_TRUE(trainer->step_rows(rows, buffers)) << rows;
  }
  EXPECT_EQ(trainer->progress().steps, 24);
  EXPECT_THAT(trainer->input_shape(0), ElementsAre(12, 3)) << "the whole batch is never dropped";
}

TEST(Trainer, TakesTensorsByNameOrInOrder) {
  const Model model = training_model();
  auto trainer = Trainer::bind(model, training_devices(2), 4);
  ASSERT_TRUE(trainer);
  const TrainingBatch batch(4);
  const TensorView x{"x", DType::float32, {4, 3}, batch.x.data()}, t{"t", DType::float32, {4}, batch.t.data()};
  const auto step = [&](std::vector<TensorView> values) { return trainer->step(values); };
  const auto refuse = [&](std::vector<TensorView> values, const std::string& reason) {
    auto loss = trainer->step(values);
    ASSERT_FALSE(loss) << reason;
    EXPECT_THAT(loss.error().message(), HasSubstr(reason));
  };
  EXPECT_TRUE(step({t, x}));
  EXPECT_TRUE(step({{"", x.dtype, {2, 3}, x.data}, {"", t.dtype, {2}, t.data}})) << "two rows";
  EXPECT_EQ(trainer->progress().steps, 2);
  refuse({x}, "input 't' is missing");
  refuse({x, x}, "input 'x' is given twice");
  refuse({x, {"tt", t.dtype, {4}, t.data}}, "there is no input 'tt'");
  refuse({x, {"", t.dtype, {4}, t.data}}, "some have names");
  refuse({x, {"t", t.dtype, {3}, t.data}}, "input 't' is float32 [3]; expected float32 [4]");
  refuse({x, {"t", DType::int32, {4}, t.data}}, "input 't' is int32 [4]; expected float32 [4]");
  refuse({{"x", x.dtype, {4, 2}, x.data}, t}, "input 'x' is float32 [4, 2]; expected float32 [4, 3]");
  refuse({{"x", x.dtype, {}, x.data}, t}, "input 'x' is float32 []");
  refuse({{"x", x.dtype, {4, 3}, nullptr}, t}, "input 'x' has no address");
  refuse({{"x", x.dtype, {5, 3}, x.data}, {"t", t.dtype, {5}, t.data}}, "a batch of 5 rows");
  EXPECT_EQ(trainer->progress().steps, 2);
}

TEST(Trainer, StateIsTakenAndGivenBack) {
  TrainingPlan made;
  auto model = Model::from_plan(std::move(made.b.plan));
  ASSERT_TRUE(model && model->initialise_parameters(0));
  auto trainer = Trainer::bind(*model, training_devices(0), 1);
  ASSERT_TRUE(trainer);
  const float given[] = {3, 4, 5}, other[] = {9, 9, 9};
  const TensorView good{"w.m", DType::float32, {3}, given};
  const auto refuse = [&](std::vector<TensorView> tensors, const std::string& reason) {
    auto set = trainer->set_state(tensors);
    ASSERT_FALSE(set) << reason;
    EXPECT_THAT(to_string(set.error()), HasSubstr(reason));
    EXPECT_EQ(state_values(*model, *trainer, 0)[0], 0) << "nothing may change";
  };
  refuse({}, "missing: 'w.m'");
  refuse({good, {"v.m", DType::float32, {3}, other}}, "superfluous: 'v.m'");
  refuse({good, good}, "given twice: 'w.m'");
  refuse({{"w.m", DType::float32, {4}, other}}, "misshapen: 'w.m' is float32 [4]; expected float32 [3]");
  refuse({{"w.m", DType::int32, {3}, other}}, "misshapen");
  EXPECT_EQ(trainer->state().size(), 1U);
  float number = 0;
  EXPECT_FALSE(trainer->read_state(1, std::as_writable_bytes(std::span(&number, 1)))) << "there is no such entry";
  EXPECT_FALSE(trainer->read_state(0, std::as_writable_bytes(std::span(&number, 1)))) << "it is larger";
  auto mistyped = trainer->read_state("w.n");
  ASSERT_FALSE(mistyped);
  EXPECT_THAT(mistyped.error().message(), HasSubstr("did you mean 'w.m'?"));
  ASSERT_TRUE(trainer->set_state(std::vector{good}));
  EXPECT_THAT(trainer->read_state("w.m")->as<float>(), ElementsAre(3, 4, 5));
  EXPECT_THAT(state_values(*model, *trainer, 0), ElementsAre(3, 4, 5));
}

}  // namespace
}  // namespace sheaf
