// Sums of traces, of training steps too.
#include "tests/unit/runtime/trace/trace_file.h"

#include "tests/fixtures/training_plan.h"

#include "runtime/bind/binding.h"
#include "tools/cli/print_profile.h"
#include "sheaf/trace.h"
#include "sheaf/trainer.h"

#include <set>

namespace sheaf {
namespace {

struct Steps {
  std::shared_ptr<Trace> trace = std::make_shared<Trace>();
  size_t operations = 0;

  Steps(const TrainingOptions& options, int devices, int count, float value = 1) {
    TrainingPlan made(options);
    auto model = Model::from_plan(std::move(made.b.plan));
    EXPECT_TRUE(model && model->initialise_parameters(1));
    auto trainer = Trainer::bind(*model, training_devices(devices), 6);
    EXPECT_TRUE(trainer) << to_string(trainer.error());
    trainer->progress().lr = 0;
    for (const LaneInfo& lane : trainer->binding().info().lanes) operations += lane.operations;
    const std::vector<float> x(18, value), t(6, 1);
    RunOptions run;
    run.trace = trace;
    for (int i = 0; i < count; ++i) {
      const void* buffers[] = {x.data(), t.data()};
      const int64_t asked = Trace::now();
      trace->add_data_wait(asked);
      auto loss = trainer->step(buffers, run);
      failed = !loss;
    }
  }
  bool failed = false;
};

TEST(Profile, SumsAreThoseOfTheOperations) {
  const Steps steps({}, 2, 5);
  const auto profiles = steps.trace->profiles();
  ASSERT_EQ(profiles.size(), 1U);
  const Profile& profile = profiles[0];
  EXPECT_EQ(profile.program, "train");
  EXPECT_EQ(profile.batch, 6);
  EXPECT_EQ(profile.steps, 5);
  EXPECT_EQ(profile.operations.size(), steps.operations);
  EXPECT_GT(profile.step_seconds, 0);
  double all = 0, bytes = 0;
  for (const OperationProfile& operation : profile.operations) {
    EXPECT_GE(operation.seconds, 0);
    all += operation.seconds;
    bytes += operation.bytes;
  }
  for (const auto& sums : {by_layer(profile), by_kind(profile)}) {
    double seconds = 0, summed_bytes = 0;
    int64_t count = 0;
    for (size_t i = 0; i < sums.size(); ++i) {
      seconds += sums[i].seconds;
      summed_bytes += sums[i].bytes;
      count += sums[i].operations;
      if (i > 0) EXPECT_GE(sums[i - 1].seconds, sums[i].seconds);
    }
    EXPECT_NEAR(seconds, all, 1e-9);
    EXPECT_DOUBLE_EQ(summed_bytes, bytes);
    EXPECT_EQ(count, static_cast<int64_t>(profile.operations.size()));
  }
  double lanes = 0;
  for (const LaneProfile& lane : profile.lanes) {
    lanes += lane.seconds;
    EXPECT_GE(lane.wait_seconds, 0);
    EXPECT_GT(lane.flops_per_second, 0);
  }
  EXPECT_NEAR(lanes, all, 1e-9);
  std::set<std::string> kinds;
  for (const OperationProfile& sum : by_kind(profile)) kinds.insert(sum.op);
  EXPECT_TRUE(kinds.contains("rows_times") && kinds.contains("squares") && kinds.contains("check_finite")) << kinds.size();
}

TEST(Profile, TimesAreThoseOfTheSlowOperation) {
  TrainingOptions options;
  options.slow_reader = true;  // each replica sleeps for 0.4 ms
  const Steps steps(options, 2, 5);
  const Profile profile = steps.trace->profiles()[0];
  double slow = 0;
  for (const OperationProfile& sum : by_kind(profile)) slow += sum.op == "slow_copy" ? sum.seconds : 0;
  EXPECT_GE(slow, 2 * 0.4e-3 * 0.99);
  EXPECT_GE(profile.step_seconds, 0.4e-3 * 0.99);
}

TEST(Profile, AStepThatFailedIsNotThere) {
  TrainingOptions options;
  options.refuse = true;
  const Steps steps(options, 2, 2, 1000);  // inputs above 900 are refused
  EXPECT_TRUE(steps.failed);
  EXPECT_EQ(steps.trace->steps(), 0);
  EXPECT_TRUE(steps.trace->profiles().empty());
}

TEST(Profile, TrainingHasArrowsForGradientsAndATrackForData) {
  const Steps steps({}, 2, 3);
  const TraceFile file(steps.trace->json());
  std::set<std::string> arrows;
  for (const auto& [id, flow] : file.flows) arrows.insert(flow.from["name"]);
  EXPECT_TRUE(arrows.contains("reduce")) << "gradients of replicas are added up";
  EXPECT_TRUE(arrows.contains("scatter"));
  const auto waits = file.slices_on("data");
  ASSERT_EQ(waits.size(), 3U);
  EXPECT_EQ(waits[2]["args"]["step"], 3);
  EXPECT_EQ(waits[2]["name"], "wait for data");
  for (int64_t step = 1; step <= 3; ++step) EXPECT_EQ(file.operations(step).size(), steps.operations);
}

TEST(Profile, TextAndJsonSayTheSame) {
  const Steps steps({}, 2, 3);
  const Profile profile = steps.trace->profiles()[0];
  const std::string text = profile_text(profile, true);
  for (const char* word :
       {"profile of train, batch 6", "median of 3 steps", "GFLOP/s", "roofline", "rows_times", "cpu:1", "waits"}) {
    EXPECT_NE(text.find(word), std::string::npos) << word << "\n" << text;
  }
  const Json json = profile_json(profile);
  EXPECT_EQ(json["operations"].size(), profile.operations.size());
  EXPECT_EQ(json["by_kind"].size(), by_kind(profile).size());
  EXPECT_DOUBLE_EQ(json["step_seconds"].get<double>(), profile.step_seconds);
  EXPECT_GT(json["lanes"][0]["roofline"]["flops_per_s"].get<double>(), 0);
}

TEST(Profile, ManyLayersAreSummedUpAtTheEnd) {
  Profile profile;
  profile.program = "infer";
  profile.steps = 1;
  for (int i = 0; i < 100; ++i) {
    OperationProfile operation;
    operation.lane = "host";
    operation.op = "conv";
    operation.layer = "layer" + std::to_string(i);
    operation.seconds = 1e-3 * (i + 1);
    operation.flops = 1e6;
    operation.least_seconds = operation.seconds / 2;
    profile.operations.push_back(operation);
  }
  const std::string text = profile_text(profile);
  EXPECT_NE(text.find("(61 more)"), std::string::npos) << text;
  EXPECT_NE(text.find("50%"), std::string::npos) << "of the roofline\n" << text;
  EXPECT_EQ(by_kind(profile).size(), 1U);
  EXPECT_EQ(by_kind(profile)[0].operations, 100);
  EXPECT_EQ(by_kind(profile)[0].layer, "") << "not common";
}

}  // namespace
}  // namespace sheaf
