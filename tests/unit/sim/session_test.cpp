// Inference on virtual GPUs: whatever the list, the numbers are those of the same split on the CPU, bit by bit, since the
// operations are the CPU's; and nothing is done that a GPU would punish.
#include "runtime/plan/op_list.h"
#include "tests/sim/strict_machine.h"
#include "tests/fixtures/plan_builder.h"
#include "tests/fixtures/training_device.h"

#include "runtime/bind/binding.h"
#include "runtime/cpu/cpu_device.h"
#include "sheaf/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sheaf {
namespace {

using sim::Call;
using sim::MachineOptions;
using sim::SimMachine;
using ::testing::HasSubstr;

/// fc1 on the host, fc2 in a region, fc3 on device 1, the result on the host.
PlanBuilder mixed_plan() {
  PlanBuilder b;
  const int x = b.input("x", {b.batch(), 6});
  const int w = b.parameter("w", {6, 6}), bias = b.parameter("b", {6});
  const int first = b.linear(x, w, bias, "fc1", {b.batch(), 6}, b.host());
  const int r = b.region("net", b.batch());
  const int part = b.scatter(first, r, 0, {b.chunk(r), 6});
  const int y = b.linear(part, b.replicate(w, r), b.replicate(bias, r), "fc2", {b.chunk(r), 6}, b.in_region(r), true);
  const int again = b.linear(y, b.replicate(w, r), b.replicate(bias, r), "fc2b", {b.chunk(r), 6}, b.in_region(r));
  const int whole = b.gather(again, r, 0, {b.batch(), 6}, b.device(1), "net");
  const int w1 = b.step(Op::transfer, {w}, "w1", {6, 6}, b.device(1)),
            b1 = b.step(Op::transfer, {bias}, "b1", {6}, b.device(1));
  const int last = b.linear(whole, w1, b1, "fc3", {b.batch(), 6}, b.device(1));
  b.output("y", b.step(Op::transfer, {last}, "y", {b.batch(), 6}, b.host()));
  b.output("net", whole);  // an output that lies on a device
  return b;
}

/// Two convolutions with a residual and a pool between, in a region.
PlanBuilder images() {
  PlanBuilder b;
  const std::vector<std::string> roles = {"x", "weight", "bias"};
  const Json window = {
      {"stride", {1, 1}}, {"padding_begin", {1, 1}}, {"padding_end", {1, 1}}, {"dilation", {1, 1}}, {"groups", 1}};
  const int x = b.input("x", {b.batch(), 3, 6, 6});
  const int w = b.parameter("w", {5, 3, 3, 3}), v = b.parameter("v", {5, 5, 3, 3}), bias = b.parameter("b", {5});
  const int r = b.region("net", b.batch());
  const Place inside = b.in_region(r);
  const auto size = [&](int64_t side) { return std::vector<Extent>{b.chunk(r), 5, side, side}; };
  const int part = b.scatter(x, r, 0, {b.chunk(r), 3, 6, 6});
  const int first = b.step(Op::conv, {part, b.replicate(w, r), b.replicate(bias, r)}, "conv1", size(6), inside, window, roles);
  const int pooled =
      b.step(Op::max_pool, {first}, "pool", size(3), inside,
             {{"kernel_size", {2, 2}}, {"stride", {2, 2}}, {"padding", {0, 0}}, {"dilation", {1, 1}}, {"ceil_mode", false}});
  const int second =
      b.step(Op::conv, {pooled, b.replicate(v, r), b.replicate(bias, r)}, "conv2", size(3), inside, window, roles);
  b.output("y", b.gather(second, r, 0, {b.batch(), 5, 3, 3}, b.device(0), "y"));
  return b;
}

/// (A model holds memory of the devices that it was bound to, so it must be destroyed before their machine.)
Model load(PlanBuilder builder) {
  auto model = Model::from_plan(std::move(builder.plan));
  EXPECT_TRUE(model && model->initialise_parameters(2));
  return *model;
}

using Values = std::vector<std::vector<float>>;

/// The outputs of each of `runs` runs, each with another input.
std::vector<Values> run(const Model& model, std::shared_ptr<const DeviceSet> devices, int64_t batch, int runs,
                        bool graphs = true) {
  BindOptions options;
  options.graphs = graphs;
  options.threads = 1;
  auto session = model.bind(std::move(devices), batch, options);
  if (!session) {
    ADD_FAILURE() << to_string(session.error());
    return {};
  }
  std::vector<Values> all;
  for (int number = 0; number < runs; ++number) {
    size_t count = 1;
    for (const int64_t size : session->input_shape(0)) count *= static_cast<size_t>(size);
    std::vector<float> x(count + 1);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>((i + size_t(number) * 7) % 13) - 6;
    Values outputs;
    for (size_t i = 0; i < model.outputs().size(); ++i) {
      size_t elements = 1;
      for (const int64_t size : session->output_shape(i)) elements *= static_cast<size_t>(size);
      outputs.emplace_back(elements + 1, -7.F);
    }
    const void* in[] = {x.data()};
    std::vector<void*> out;
    for (auto& values : outputs) out.push_back(values.data());
    auto ok = session->run(in, out);
    if (!ok) ADD_FAILURE() << to_string(ok.error());
    all.push_back(std::move(outputs));
  }
  return all;
}

/// The list with a CPU in place of each GPU.
std::string on_cpus(std::string list) {
  for (size_t at = 0; (at = list.find("cuda", at)) != list.npos;) list.replace(at, 4, "cpu");
  return list;
}

TEST(SimSession, TheBitsOfTheCpusSameSplit) {
  for (const char* list : {"cuda:0,cuda:1", "cuda:0,cuda:0", "cuda:0,cuda:1,cuda:2", "cpu:0,cuda:0", "cuda:1,cpu:0,cuda:0"}) {
    for (const int64_t batch : {0, 1, 2, 3, 17}) {
      SCOPED_TRACE(std::string(list) + ", " + std::to_string(batch) + " rows");
      SimMachine machine(sim::strict(static_cast<unsigned>(batch)));
      const Model model = load(mixed_plan());
      const auto expected = run(model, machine.list(on_cpus(list)), batch, 4);
      EXPECT_EQ(run(model, machine.list(list), batch, 4), expected);
      EXPECT_EQ(run(model, machine.list(list), batch, 4, false), expected) << "without graphs";
    }
  }
}

TEST(SimSession, ImagesInEitherFormat) {
  for (const bool channels_last : {false, true}) {
    for (const char* list : {"cuda:0", "cuda:0,cuda:1", "cuda:0,cuda:0,cuda:1", "cuda:0,cpu:0"}) {
      SCOPED_TRACE(list);
      MachineOptions options = sim::strict();
      options.library.channels_last = channels_last;
      SimMachine machine(options);
      const Model model = load(images());
      EXPECT_EQ(run(model, machine.list(list), 5, 3), run(model, machine.list(on_cpus(list)), 5, 3));
    }
  }
}

TEST(SimSession, SessionsOfOneModelShareWhatTheyKeep) {
  SimMachine machine(sim::strict());
  Model model = load(mixed_plan());
  const auto devices = machine.list("cuda:0,cuda:1");
  const auto whole = run(model, devices, 8, 2);
  auto session = model.bind(devices, 8), rest = model.bind(devices, 3);
  ASSERT_TRUE(session && rest);
  EXPECT_EQ(run(model, devices, 8, 2), whole);
  ASSERT_TRUE(model.initialise_parameters(4)) << "new weights reach the devices";
  const auto changed = run(model, devices, 8, 2);
  EXPECT_NE(changed, whole);
  EXPECT_EQ(changed, run(model, machine.list("cpu:0,cpu:1"), 8, 2));
}

TEST(SimSession, WhatCannotBeRecordedIsHandedOverEachTime) {
  MachineOptions options = sim::strict();
  options.library.recordable = false;
  SimMachine machine(options);
  const Model model = load(mixed_plan());
  EXPECT_EQ(run(model, machine.list("cuda:0,cuda:1"), 6, 4), run(model, machine.list("cpu:0,cpu:1"), 6, 4));
}

TEST(SimSession, AStepAllocatesNothingAndWaitsOnce) {
  for (const bool graphs : {false, true}) {
    SimMachine machine(sim::strict());
    Model model = load(mixed_plan());
    BindOptions options;
    options.graphs = graphs;
    auto session = model.bind(machine.list("cuda:0,cuda:1"), 6, options);
    ASSERT_TRUE(session) << to_string(session.error());
    std::vector<float> x(36), y(36), z(36);
    const void* in[] = {x.data()};
    void* out[] = {y.data(), z.data()};
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(session->run(in, out));
    const auto calls = [&](Call call) { return machine.driver().calls(call); };
    int64_t before[static_cast<size_t>(Call::count)];
    for (size_t i = 0; i < std::size(before); ++i) before[i] = calls(static_cast<Call>(i));
    constexpr int kRuns = 5;
    for (int i = 0; i < kRuns; ++i) ASSERT_TRUE(session->run(in, out));
    const auto during = [&](Call call) { return calls(call) - before[static_cast<size_t>(call)]; };
    for (const Call call : {Call::allocate, Call::release, Call::allocate_pinned, Call::release_pinned, Call::make_stream,
                            Call::make_event, Call::load, Call::begin_capture, Call::end_capture}) {
      EXPECT_EQ(during(call), 0) << name_of(call);
    }
    EXPECT_EQ(during(Call::launch_graph) > 0, graphs) << "fc2 and fc2b of a replica neither wait nor signal between";
  }
}

TEST(SimSession, TooLittleMemoryIsAnErrorBeforeAnythingRuns) {
  SimMachine machine(sim::strict());
  Model model = load(mixed_plan());
  auto session = model.bind(machine.list("cuda:0,cuda:1"), 20'000'000);
  ASSERT_FALSE(session);
  EXPECT_THAT(to_string(session.error()), HasSubstr("cuda:"));
  EXPECT_EQ(machine.driver().calls(Call::launch) + machine.driver().calls(Call::host_function), 0);
  EXPECT_TRUE(model.bind(machine.list("cuda:0,cuda:1"), 20)) << "the model goes on";
}

/// The CPU, but it doesn't prepare `fc2` for two rows.
class Choosy : public TrainingDevice {
 public:
  Result<Prepared> prepare(const PrepareRequest& request) override {
    if (request.step.layer == "fc2" && request.inputs[0].dims[0] == 2) return Error("not today");
    return TrainingDevice::prepare(request);
  }
};

TEST(SimSession, WhatCannotBePreparedIsNamedWithItsReplicaAndDevice) {
  SimMachine machine(sim::strict(1, std::make_shared<Choosy>()));
  Model model = load(mixed_plan());
  const auto devices = machine.list("cuda:2,cuda:0");
  auto session = model.bind(devices, 5);  // 3 rows and 2
  ASSERT_FALSE(session);
  EXPECT_THAT(to_string(session.error()), HasSubstr("replica 1 on device cuda:0: layer 'fc2': operation 'linear': not today"));
  EXPECT_EQ(run(model, devices, 6, 1), run(model, machine.list("cpu:0,cpu:1"), 6, 1)) << "the model goes on";
}

TEST(SimSession, ARunThatFailedIsNamedWithItsDevice) {
  for (const bool recorded : {false, true}) {
    SCOPED_TRACE(recorded);
    SimMachine machine(sim::strict());
    Model model = load(mixed_plan());
    BindOptions bind;
    bind.graphs = recorded;
    auto session = model.bind(machine.list("cuda:0,cuda:1"), 6, bind);
    ASSERT_TRUE(session) << to_string(session.error());
    const std::vector<float> x(36, 0.5F);
    const auto run = [&]() -> Result<Values> {
      Values outputs(2, std::vector<float>(36, -7.F));
      const void* in[] = {x.data()};
      void* out[] = {outputs[0].data(), outputs[1].data()};
      if (auto ok = session->run(in, out); !ok) return ok.error();
      return outputs;
    };
    const auto before = run();
    ASSERT_TRUE(before) << to_string(before.error());
    machine.driver().fail(Call::host_function, 1, "fell off the bus", 1);
    const auto failed = run();
    if (recorded) {  // while the second run is recorded: it is launched instead
      ASSERT_TRUE(failed) << to_string(failed.error());
      EXPECT_EQ(*failed, *before);
    } else {
      ASSERT_FALSE(failed);
      EXPECT_THAT(failed.error().message(), HasSubstr("device cuda:1: "));
      EXPECT_THAT(failed.error().message(), HasSubstr("fell off the bus"));
    }
  }
}

}  // namespace
}  // namespace sheaf
