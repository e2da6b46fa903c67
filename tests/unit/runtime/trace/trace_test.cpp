// Traces of inference: what a file holds, how much of it is kept, what a trace outlives.
#include "runtime/plan/op_list.h"
#include "trace_file.h"

#include "runtime/session/open_devices.h"
#include "tests/sim/strict_machine.h"
#include "tests/fixtures/plan_builder.h"

#include "runtime/bind/binding.h"
#include "sheaf/model.h"
#include "sheaf/trace.h"

#include <filesystem>
#include <set>

namespace sheaf {
namespace {

/// fc1, then a data-parallel fc2 gathered on device 0, then fc3 there.
PlanBuilder three_layers() {
  PlanBuilder b;
  const int x = b.input("x", {b.batch(), 6});
  const int w = b.parameter("w", {6, 6}), bias = b.parameter("b", {6});
  const int first = b.linear(x, w, bias, "fc1", {b.batch(), 6}, b.host(), true);
  const int r = b.region("net", b.batch());
  const int part = b.scatter(first, r, 0, {b.chunk(r), 6});
  const int y = b.linear(part, b.replicate(w, r), b.replicate(bias, r), "fc2 \"quoted\"\n", {b.chunk(r), 6}, b.in_region(r));
  const int whole = b.gather(y, r, 0, {b.batch(), 6}, b.device(0), "net");
  const int w0 = b.step(Op::transfer, {w}, "w0", {6, 6}, b.device(0)),
            b0 = b.step(Op::transfer, {bias}, "b0", {6}, b.device(0));
  b.output("y", b.linear(whole, w0, b0, "fc3", {b.batch(), 6}, b.device(0)));
  return b;
}

struct BoundRun {
  Model model;
  Session session;
  std::vector<float> x, y;

  static BoundRun of(PlanBuilder builder, std::shared_ptr<const DeviceSet> devices, int64_t batch) {
    auto model = Model::from_plan(std::move(builder.plan));
    EXPECT_TRUE(model && model->initialise_parameters(1));
    auto session = model->bind(std::move(devices), batch);
    EXPECT_TRUE(session) << to_string(session.error());
    std::vector<float> x(static_cast<size_t>(batch) * 6 + 1, 0.5F), y(static_cast<size_t>(batch) * 6 + 1);
    return {*model, std::move(*session), std::move(x), std::move(y)};
  }
  static BoundRun of(PlanBuilder builder, const char* devices, int64_t batch) {
    return of(std::move(builder), std::make_shared<const DeviceSet>(*open_devices(*parse_devices(devices), 2)), batch);
  }
  void step(const std::shared_ptr<Trace>& trace) {
    const void* in[] = {x.data()};
    void* out[] = {y.data()};
    RunOptions options;
    options.trace = trace;
    options.print = [](std::string_view) {};
    auto ok = session.run(in, out, options);
    EXPECT_TRUE(ok) << to_string(ok.error());
  }
};

TEST(Trace, HoldsEveryOperationOfEveryStepOnItsLane) {
  BoundRun run = BoundRun::of(three_layers(), "cpu:0,cpu:1", 5);
  const auto trace = std::make_shared<Trace>();
  for (int i = 0; i < 3; ++i) run.step(trace);
  const TraceFile file(trace->json());
  std::set<std::string> tracks;
  for (const auto& [tid, name] : file.tracks) tracks.insert(name);
  EXPECT_EQ(tracks, (std::set<std::string>{"steps", "host", "cpu:0", "cpu:1"}));
  size_t operations = 0;
  for (const LaneInfo& lane : run.session.binding().info().lanes) operations += lane.operations;
  for (int64_t step = 1; step <= 3; ++step) {
    EXPECT_EQ(file.operations(step).size(), operations);
    std::multiset<std::string> names;
    for (const Json& slice : file.operations(step)) {
      names.insert(slice["name"]);
      EXPECT_EQ(slice["cat"], slice["args"]["op"]);
    }
    EXPECT_EQ(names.count("fc1"), 1U);
    EXPECT_EQ(names.count("fc2 \"quoted\"\n"), 2U) << "once a replica";
    EXPECT_EQ(names.count("fc3"), 1U);
  }
  const auto steps = file.slices_on("steps");
  ASSERT_EQ(steps.size(), 3U);
  EXPECT_EQ(steps[2]["name"], "step 3");
  EXPECT_EQ(steps[2]["args"]["rows"], 5);
  for (const Json& slice : file.slices_on("cpu:1")) {
    if (slice["cat"] == "wait") continue;
    EXPECT_EQ(slice["args"]["replica"], 1);
    EXPECT_EQ(slice["args"]["flops"], 2 * 6 * 6 * 2 + 2 * 6) << "two rows of five, a bias";
    EXPECT_FALSE(slice["args"]["implementation"].get<std::string>().empty());
  }
}

TEST(Trace, ArrowsSayWhatMovesBetweenLanes) {
  BoundRun run = BoundRun::of(three_layers(), "cpu:0,cpu:1", 5);
  const auto trace = std::make_shared<Trace>();
  run.step(trace);
  const TraceFile file(trace->json());
  std::multiset<std::string> arrows;
  for (const auto& [id, flow] : file.flows) {
    arrows.insert(flow.from["name"].get<std::string>() + " " + file.tracks.at(flow.from["tid"]) + " → " +
                  file.tracks.at(flow.to["tid"]) + " " + flow.from["args"]["bytes"].dump());
  }
  EXPECT_EQ(arrows, (std::multiset<std::string>{
                        "scatter host → cpu:0 72",  // three rows of six floats
                        "scatter host → cpu:1 48", "gather cpu:1 → cpu:0 48",
                        "share cpu:0 → steps 120",  // the output
                    }));
}

TEST(Trace, TheCallerGivesAndTakesWhereNoLaneDoes) {
  BoundRun run = BoundRun::of(data_parallel_linear(6, 6, PlanBuilder::device(0)), "cpu:0,cpu:1", 4);
  const auto trace = std::make_shared<Trace>();
  run.step(trace);
  const TraceFile file(trace->json());
  std::multiset<std::string> arrows;
  for (const auto& [id, flow] : file.flows) {
    arrows.insert(flow.from["name"].get<std::string>() + " " + file.tracks.at(flow.from["tid"]) + " → " +
                  file.tracks.at(flow.to["tid"]));
  }
  EXPECT_EQ(arrows, (std::multiset<std::string>{"scatter steps → cpu:0", "scatter steps → cpu:1", "gather cpu:0 → steps",
                                                "gather cpu:1 → steps"}));
}

TEST(Trace, CountsWhatIsLiveInEachArena) {
  BoundRun run = BoundRun::of(three_layers(), "cpu:0,cpu:1", 500);
  const auto trace = std::make_shared<Trace>();
  run.step(trace);
  const TraceFile file(trace->json());
  std::map<std::string, int64_t> most, last;
  for (const Json& counter : file.counters) {
    int64_t& value = most[counter["name"]];
    last[counter["name"]] = counter["args"]["live"];
    value = std::max<int64_t>(value, counter["args"]["live"]);
  }
  for (const LaneInfo& lane : run.session.binding().info().lanes) {
    EXPECT_EQ(most[lane.name + " arena"], static_cast<int64_t>(lane.arena_bound)) << lane.name;
    EXPECT_EQ(last[lane.name + " arena"], 0);
  }
}

TEST(Trace, KeepsTheLastStepsOnly) {
  BoundRun run = BoundRun::of(three_layers(), "cpu:0,cpu:1", 5);
  const auto trace = std::make_shared<Trace>(4 * 7 + 3);  // of 4 operations each
  for (int i = 0; i < 100; ++i) run.step(trace);
  EXPECT_EQ(trace->steps(), 100);
  const TraceFile file(trace->json());
  const auto steps = file.slices_on("steps");
  ASSERT_EQ(steps.size(), 7U);
  EXPECT_EQ(steps.front()["args"]["step"], 94);
  EXPECT_EQ(steps.back()["args"]["step"], 100);
  EXPECT_EQ(file.whole["otherData"]["programs"][0]["steps"], 100);
  EXPECT_EQ(file.whole["otherData"]["programs"][0]["kept_steps"], 7);
  EXPECT_EQ(trace->profiles()[0].steps, 7);

  const auto smallest = std::make_shared<Trace>(1);  // a step at least
  run.step(smallest);
  run.step(smallest);
  EXPECT_EQ(TraceFile(smallest->json()).slices_on("steps").size(), 1U);
}

TEST(Trace, TheLimitHoldsOverSeveralSessions) {
  BoundRun large = BoundRun::of(three_layers(), "cpu:0,cpu:1", 6), small = BoundRun::of(three_layers(), "cpu:0,cpu:1", 2);
  const auto trace = std::make_shared<Trace>(20);
  for (int i = 0; i < 9; ++i) large.step(trace);
  small.step(trace);
  const TraceFile file(trace->json());
  const auto steps = file.slices_on("steps");
  ASSERT_EQ(steps.size(), 5U);
  EXPECT_EQ(steps.back()["args"]["rows"], 2);
  EXPECT_EQ(steps.front()["args"]["rows"], 6);
  EXPECT_EQ(steps.back()["args"]["step"], 10) << "steps of one program are counted on";
  EXPECT_EQ(trace->profiles().size(), 2U);
}

TEST(Trace, OneAfterAnotherEvenInTheSamePlace) {
  BoundRun run = BoundRun::of(three_layers(), "cpu:0,cpu:1", 5);
  for (int i = 0; i < 20; ++i) {  // an allocator may return the same address again
    const auto trace = std::make_shared<Trace>();
    run.step(trace);
    run.step(nullptr);
    run.step(trace);
    EXPECT_EQ(trace->steps(), 2);
    EXPECT_EQ(TraceFile(trace->json()).slices_on("steps").size(), 2U);
  }
}

TEST(Trace, OutlivesItsSessionsAndMayBeEmpty) {
  const auto trace = std::make_shared<Trace>();
  EXPECT_TRUE(trace->profiles().empty());
  EXPECT_TRUE(TraceFile(trace->json()).slices.empty());
  {
    BoundRun run = BoundRun::of(three_layers(), "cpu", 5);
    run.step(trace);
  }
  EXPECT_EQ(TraceFile(trace->json()).operations(1).size(), 3U);
}

TEST(Trace, ADeviceListedTwiceHasTwoTracks) {
  BoundRun run = BoundRun::of(three_layers(), "cpu:0,cpu:0", 5);
  const auto trace = std::make_shared<Trace>();
  run.step(trace);
  const TraceFile file(trace->json());
  EXPECT_FALSE(file.slices_on("cpu:0").empty());
  EXPECT_FALSE(file.slices_on("cpu:0 (2)").empty());
}

TEST(Trace, QueuesThatWorkLaterShowWhatTheyAreHanded) {
  sim::SimMachine machine(sim::strict());
  const auto devices = machine.list("cuda:0,cuda:1");
  BoundRun run = BoundRun::of(three_layers(), devices, 5);
  const auto trace = std::make_shared<Trace>();
  for (int i = 0; i < 3; ++i) run.step(trace);
  const TraceFile file(trace->json());
  const auto slices = file.slices_on("cuda:1 (handing over)");
  ASSERT_FALSE(slices.empty());
  EXPECT_EQ(slices.back()["name"], "synchronize");
  EXPECT_GT(slices.back()["dur"].get<double>(), 0);
}

/// What takes 20 ms on the device shows 20 ms there, though it is handed over in no time.
TEST(Trace, DevicesThatTellShowWhenTheyDidTheWork) {
  sim::MachineOptions options = sim::strict();
  options.driver.seconds = [](const std::string& what) {
    return what.starts_with("layer 'fc2") ? 20e-3 : what.starts_with("copy of") ? 1e-3 : 0;
  };
  sim::SimMachine machine(options);
  const auto trace = std::make_shared<Trace>();
  {
    BoundRun run = BoundRun::of(three_layers(), machine.list("cuda:0,cuda:1"), 5);
    for (int i = 0; i < 3; ++i) run.step(trace);
  }
  const TraceFile file(trace->json());
  // The host may be held up at any moment by what else this machine does: between reading a device's clock and its own, or
  // between handing over an operation's first event and its work, for which the device then waits. But not for long.
  constexpr double kApart = 10e3;
  for (const char* device : {"cuda:0", "cuda:1"}) {
    const auto steps = file.slices_on("steps");
    std::vector<double> ends;
    for (const Json& slice : file.slices_on(device)) {
      if (slice["cat"] == "wait" || !slice["name"].get<std::string>().starts_with("fc2")) continue;
      EXPECT_GE(slice["dur"].get<double>(), 20e3 - 10) << slice;
      EXPECT_LE(slice["dur"].get<double>(), 20e3 + kApart) << slice;
      ASSERT_LT(ends.size(), steps.size());
      const Json& step = steps[ends.size()];
      ends.push_back(slice["ts"].get<double>() + slice["dur"].get<double>());
      EXPECT_GE(slice["ts"].get<double>(), step["ts"].get<double>() - kApart);
      EXPECT_LE(ends.back(), step["ts"].get<double>() + step["dur"].get<double>() + kApart);
    }
    ASSERT_EQ(ends.size(), 3U) << device;
    size_t synchronized = 0;
    for (const Json& slice : file.slices_on(device + std::string(" (handing over)"))) {
      if (slice["name"] != "synchronize") continue;
      ASSERT_LT(synchronized, ends.size());
      EXPECT_GE(slice["ts"].get<double>() + slice["dur"].get<double>(), ends[synchronized++] - kApart)
          << "the host waits for the device";
    }
    EXPECT_EQ(synchronized, ends.size()) << device;
  }
  const auto profiles = trace->profiles();
  ASSERT_EQ(profiles.size(), 1U);
  double seconds = 0;
  for (const OperationProfile& layer : by_layer(profiles[0]))
    if (layer.layer.starts_with("fc2")) seconds += layer.seconds;
  EXPECT_GE(seconds, 40e-3 - 1e-4) << "of two replicas";
  EXPECT_LE(seconds, 40e-3 + 2e-6 * kApart);
}

TEST(Trace, ProfilersGetTheNamesOfOperations) {
  sim::SimMachine machine(sim::strict());
  {
    BoundRun run = BoundRun::of(three_layers(), machine.list("cuda:0"), 5);
    for (int i = 0; i < 3; ++i) run.step(nullptr);
  }
  const auto ranges = machine.driver().ranges();
  ASSERT_TRUE(ranges.contains("run on cuda:0"));
  EXPECT_EQ(ranges.at("run on cuda:0"), 3);
  EXPECT_TRUE(ranges.contains("layer 'fc3', operation linear"));
  EXPECT_TRUE(std::ranges::any_of(
      ranges, [](const auto& range) { return range.first.find("recorded operations, from") != std::string::npos; }));
}

TEST(Trace, AFileIsWrittenWholeOrNotAtAll) {
  BoundRun run = BoundRun::of(three_layers(), "cpu:0", 5);
  const auto trace = std::make_shared<Trace>();
  run.step(trace);
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "sheaf-trace-test";
  std::filesystem::create_directory(folder);
  EXPECT_TRUE(trace->write((folder / "a.json").string()));
  EXPECT_GT(std::filesystem::file_size(folder / "a.json"), 100U);
  auto failed = trace->write((folder / "none" / "a.json").string());
  ASSERT_FALSE(failed);
  EXPECT_NE(to_string(failed.error()).find("a.json"), std::string::npos);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace sheaf
