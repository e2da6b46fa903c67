// The search among candidates, on a device whose operations take as long as the test says.
#include "runtime/bind/candidate_search.h"
#include "runtime/machine/tick_clock.h"
#include "tests/fixtures/plan_builder.h"
#include "tests/unit/runtime/bind/fixed_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <thread>

namespace sheaf {
namespace {

using testing::Key;
using testing::UnorderedElementsAre;

/// A way to compute a layer: what it takes by the cost model and in truth, in milliseconds, and whether its operands are blocked.
struct Way {
  std::string name;
  double model = 1, truth = 1;
  bool blocked = false;
};

class TimedExecutable final : public Executable {
 public:
  TimedExecutable(double milliseconds, int* launches) : milliseconds(milliseconds), launches(launches) {}
  void run(void* const*, void*) override {}
  const double milliseconds;
  int* const launches;  ///< counted
};

/// Says, if it `tells` the time, that each launch took its executable's; of it, `real` truly passes.
class TimedQueue final : public Queue {
 public:
  TimedQueue(double real, bool tells) : real_(real), tells_(tells) {}
  void begin_run() override { milliseconds_ = 0; }
  void launch(Executable& executable, void* const*, void*, bool) override {
    const auto& timed = static_cast<TimedExecutable&>(executable);
    const double milliseconds = timed.milliseconds;
    milliseconds_ += milliseconds;
    ++*timed.launches;
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(real_ * milliseconds));
  }
  void copy(void*, const void*, const CopyShape&, bool) override {}
  void record(Event&) override {}
  Result<void> wait(Event&) override { return {}; }
  Result<void> synchronize() override { return {}; }
  bool times_work() const override { return tells_; }
  Result<void> work_times(std::span<WorkTimes> times) override {
    times[0] = {0, scale_.fix().ticks(1e-3 * milliseconds_), false};
    return {};
  }

 private:
  double real_, milliseconds_ = 0;
  bool tells_;
  TickScale scale_;
};

class TimedDevice final : public Device {
 public:
  std::map<std::string, std::vector<Way>> ways;  ///< by layer
  double reorder = 1;                            ///< milliseconds
  double real = 0;                               ///< the share of these times that passes
  bool tells = true;                             ///< queues tell these times; else the host's clock does
  std::map<std::string, int> launches;           ///< by candidate, and of reorders ""

  TimedDevice() { info_.shares_host_memory = true; }
  const DeviceInfo& info() const override { return info_; }
  int memory_space() const override { return 0; }
  Result<void*> allocate(size_t bytes) override { return std::malloc(std::max<size_t>(bytes, 1)); }
  void release(void* memory) override { std::free(memory); }
  Result<std::unique_ptr<Queue>> open_queue(int, Seconds) override {
    return std::unique_ptr<Queue>(std::make_unique<TimedQueue>(real, tells));
  }
  Result<std::unique_ptr<Event>> make_event() override { return Error("none are needed"); }
  Result<std::shared_ptr<const Kernels>> load_kernels(const Plan&) override { return Error("none are needed"); }

  Result<Prepared> prepare(const PrepareRequest& request) override {
    const std::vector<Way>& known = ways.at(request.step.layer);
    auto selection = std::make_shared<Selection>();
    selection->key = request.step.layer;
    for (size_t i = 0; i < known.size(); ++i) {
      selection->candidates.push_back({known[i].name, 1e-3 * known[i].model});
      if (known[i].model < known[selection->taken].model) selection->taken = i;
    }
    for (size_t i = 0; request.choices && i < known.size(); ++i)
      if (known[i].name == request.choices->candidate(selection->key)) selection->taken = i;
    const Way& way = known[selection->taken];
    Prepared prepared;
    const auto laid_out = [&](const TensorSpec& tensor) {
      TensorSpec spec = plain_tensor(tensor.dtype, tensor.dims);
      if (way.blocked) spec.format = blocked_;
      return spec;
    };
    for (const TensorSpec& input : request.inputs) prepared.inputs.push_back(laid_out(input));
    for (const TensorSpec& output : request.outputs) prepared.outputs.push_back(laid_out(output));
    prepared.executable = std::make_unique<TimedExecutable>(way.truth, &launches[way.name]);
    prepared.selection = std::move(selection);
    return prepared;
  }
  Result<Prepared> prepare_reorder(const TensorSpec& from, const TensorSpec& to, int) override {
    Prepared prepared;
    prepared.inputs = {from};
    prepared.outputs = {to};
    prepared.executable = std::make_unique<TimedExecutable>(reorder, &launches[""]);
    return prepared;
  }

 private:
  DeviceInfo info_;
  std::shared_ptr<const Format> blocked_ = std::make_shared<FixedFormat>();
};

/// Layers one after another, on one device.
class Searches : public testing::Test {
 protected:
  using Ways = std::vector<Way>;

  void layer(const std::string& name, const Ways& ways) {
    if (last_ < 0) last_ = builder_.input("x", {PlanBuilder::batch(), 8});
    last_ = builder_.step("timed", {last_}, name, {PlanBuilder::batch(), 8}, PlanBuilder::device(0));
    device_->ways[name] = ways;
  }

  /// What is chosen.
  std::map<std::string, std::string> chosen(Tune tune) {
    if (builder_.program.outputs.empty()) builder_.output("y", last_);
    DeviceSet devices(std::make_shared<FixedDevice>(0), {device_}, {"timed:0"}, 1);
    VariableStore store(std::shared_ptr<Device>(&devices.host(), [](Device*) {}), {}, {});
    BindContext context{builder_.plan, builder_.program, devices, {}, store, 4};
    context.kernels.resize(devices.lanes().size());
    BindContext known = context;
    known.choices = &cache_;
    const auto planned = plan_binding(known);
    EXPECT_TRUE(planned) << to_string(planned.error());
    const auto done = planned ? choose_candidates(context, tune, planned->program, cache_) : Result<void>();
    EXPECT_TRUE(done) << to_string(done.error());
    std::map<std::string, std::string> taken;
    for (const auto& [name, ways] : device_->ways) taken[name] = cache_.candidate(name);
    return taken;
  }
  /// Milliseconds by candidate, as measured.
  std::map<std::string, double> measured(const std::string& layer) const {
    Selection selection{layer, {}, 0};
    for (const Way& way : device_->ways.at(layer)) selection.candidates.push_back({way.name, way.model});
    const KnownChoice* known = cache_.find(selection);
    return known ? known->seconds : std::map<std::string, double>{{"unknown", 0}};
  }

  PlanBuilder builder_;
  std::shared_ptr<TimedDevice> device_ = std::make_shared<TimedDevice>();
  ChoiceCache cache_ = ChoiceCache::open(DeviceInfo(), "");
  int last_ = -1;
};

TEST_F(Searches, TakeTheFasterInTruth) {
  layer("a", {{"this", 1, 8}, {"that", 2, 5}});
  for (const Tune tune : {Tune::quick, Tune::full}) EXPECT_EQ(chosen(tune)["a"], "that");
}

TEST_F(Searches, CountReordersOfNeighbours) {
  device_->reorder = 2;
  layer("a", {{"plain", 1, 8}, {"blocked", 2, 5, true}});  // with two reorders it takes 9
  EXPECT_EQ(chosen(Tune::quick)["a"], "plain");
}

TEST_F(Searches, ChooseTheWholeByItsSum) {
  device_->reorder = 4;
  for (const char* name : {"a", "b", "c"}) layer(name, {{"plain", 1, 8}, {"blocked", 2, 5, true}});
  // Each by itself would take 13 blocked; all three together take 4 + 15 + 4, instead of 24.
  for (const auto& [name, taken] : chosen(Tune::quick)) EXPECT_EQ(taken, "blocked") << name;
}

TEST_F(Searches, MixLayoutsWhereThatIsBest) {
  device_->reorder = 4;
  for (const char* name : {"a", "b"}) layer(name, {{"plain", 1, 20}, {"blocked", 2, 5, true}});
  layer("c",
        {{"plain", 1, 8}, {"blocked", 2, 9, true}});  // a reorder is before it or, as the program's result is plain, behind it
  EXPECT_EQ(chosen(Tune::full), (std::map<std::string, std::string>{{"a", "blocked"}, {"b", "blocked"}, {"c", "plain"}}));
}

TEST_F(Searches, LeaveOutWhatTheModelFindsHopelessInAHurry) {
  layer("a", {{"this", 1, 8}, {"that", 2, 7}, {"another", 3.5, 1}});
  EXPECT_EQ(chosen(Tune::quick)["a"], "that");
  EXPECT_THAT(measured("a"), UnorderedElementsAre(Key("this"), Key("that")));
  EXPECT_EQ(chosen(Tune::full)["a"], "another");
  EXPECT_THAT(measured("a"), UnorderedElementsAre(Key("this"), Key("that"), Key("another")));
}

TEST_F(Searches, CountTheFirstRunOfWhatTakesLong) {
  device_->real = 1;
  device_->tells = false;
  const auto runs = [&](Tune tune) {
    device_->launches.clear();
    chosen(tune);
    return device_->launches["that"];
  };
  layer("a", {{"this", 1, 6}, {"that", 2, 7}});
  EXPECT_EQ(runs(Tune::full), 3);
  device_->ways["a"][0].truth = 1;  // one of them is short, so all are run once more, untimed
  EXPECT_EQ(runs(Tune::full), 6);
  device_->ways["a"][0].truth = 6;
  device_->tells = true;
  EXPECT_EQ(runs(Tune::full), 6) << "on a GPU";
}

TEST_F(Searches, KeepWhatIsKnownUnlessAllIsMeasuredAnew) {
  layer("a", {{"this", 1, 8}, {"that", 2, 5}});
  cache_.put("a", {"this", {}, "this", {"that", "this"}});
  EXPECT_EQ(chosen(Tune::quick)["a"], "this");
  EXPECT_EQ(chosen(Tune::full)["a"], "that");
}

TEST_F(Searches, LeaveTheRestToTheModelWhenTimeIsUp) {
  device_->real = 1;
  layer("large", {{"this", 400, 300}, {"that", 500, 200}});
  layer("small", {{"this", 1, 8}, {"that", 2, 5}});
  EXPECT_EQ(chosen(Tune::quick), (std::map<std::string, std::string>{{"large", "that"}, {"small", "this"}}));
  EXPECT_THAT(measured("large"), UnorderedElementsAre(Key("this"), Key("that")));
  EXPECT_THAT(measured("small"), testing::IsEmpty());
}

}  // namespace
}  // namespace sheaf
