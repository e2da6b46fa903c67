// The order that binding gives lanes: who waits for what, and where copies are.
#include "runtime/plan/op_list.h"
#include "tests/sim/sim_machine.h"
#include "tests/fixtures/plan_builder.h"

#include "tools/estimate/planned_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sheaf {
namespace {

/// The result of "embed" on the host goes to device 0; "other" is the host's too, and later. The result of "grad" on device 0
/// returns for "add" on the host; "rest" is device 0's, and later.
struct EmbeddingOnTheHost {
  PlanBuilder b;
  EmbeddingOnTheHost() {
    const int x = b.input("x", {b.batch(), 6}), lr = b.input("scale", {6}), shift = b.input("shift", {6});
    const int w = b.parameter("w", {6, 6}), bias = b.parameter("b", {6});
    const int rows = b.linear(x, w, bias, "embed", {b.batch(), 6}, b.host());
    const int other = b.linear(rows, w, bias, "other", {b.batch(), 6}, b.host());
    const int sent = b.step(Op::transfer, {rows}, "sent", {b.batch(), 6}, b.device(0));
    const int w0 = b.step(Op::transfer, {w}, "w0", {6, 6}, b.device(0)),
              b0 = b.step(Op::transfer, {bias}, "b0", {6}, b.device(0));
    const int s0 = b.step(Op::transfer, {lr}, "scale0", {6}, b.device(0)),
              t0 = b.step(Op::transfer, {shift}, "shift0", {6}, b.device(0));
    const int grad = b.linear(sent, w0, s0, "grad", {b.batch(), 6}, b.device(0));
    const int back = b.step(Op::transfer, {grad}, "back", {b.batch(), 6}, b.host());
    const int rest = b.linear(grad, w0, t0, "rest", {b.batch(), 6}, b.device(0));
    const int last = b.linear(rest, w0, b0, "last", {b.batch(), 6}, b.device(0));
    b.output("other", b.linear(other, w, bias, "add", {b.batch(), 6}, b.host()));
    b.output("back", b.linear(back, w, bias, "take", {b.batch(), 6}, b.host()));
    b.output("last", b.step(Op::transfer, {last}, "home", {b.batch(), 6}, b.host()));
  }
};

struct Planned {
  sim::SimMachine machine;
  std::shared_ptr<const DeviceSet> devices;
  EmbeddingOnTheHost plan;
  PlannedProgram program;

  explicit Planned(const std::string& list = "cuda:0") : devices(machine.list(list)), program(make()) {}
  PlannedProgram make() {
    auto made = plan_program(plan.b.plan, plan.b.plan.infer, *devices, 4, {});
    EXPECT_TRUE(made) << to_string(made.error());
    return std::move(*made);
  }
  const BoundProgram& bound() const { return program.binding.program; }
  template <typename Kind>
  InstanceId of_layer(const std::string& layer) const {
    for (InstanceId i : bound().instances.ids()) {
      const Instance& instance = bound().instances[i];
      if (instance.step && instance.is<Kind>() && plan.b.plan.infer.steps[instance.step.index()].layer == layer) return i;
    }
    ADD_FAILURE() << "no " << layer;
    return InstanceId(0);
  }
  const ScheduledInstance& at(InstanceId i) const { return program.binding.schedule.instances[i]; }
  LaneId lane(InstanceId i) const { return bound().instances[i].lane; }
};

TEST(LaneOrder, RowsOfTheHostGoAsSoonAsTheyAreThere) {
  const Planned planned;
  const ScheduledInstance& sent = planned.at(planned.of_layer<Instance::Copy>("sent"));
  const InstanceId embed = planned.of_layer<Instance::LibraryCall>("embed");
  ASSERT_EQ(sent.waits.size(), 1);
  EXPECT_EQ(sent.waits[0].instance, embed) << "and nothing later";
  EXPECT_EQ(planned.lane(embed), kHostLane);
  EXPECT_TRUE(planned.at(embed).signals);
  EXPECT_LT(planned.at(embed).position, planned.at(planned.of_layer<Instance::LibraryCall>("other")).position);
  EXPECT_FALSE(planned.at(planned.of_layer<Instance::LibraryCall>("other")).signals);
}

TEST(LaneOrder, AGradientComesBackAsSoonAsItIsMade) {
  const Planned planned;
  const InstanceId grad = planned.of_layer<Instance::LibraryCall>("grad"), back = planned.of_layer<Instance::Copy>("back");
  EXPECT_EQ(planned.lane(back), planned.lane(grad)) << "the device's queue brings it";
  EXPECT_EQ(planned.at(back).position, planned.at(grad).position + 1);
  const ScheduledInstance& take = planned.at(planned.of_layer<Instance::LibraryCall>("take"));
  ASSERT_EQ(take.waits.size(), 1);
  EXPECT_EQ(take.waits[0].instance, back);
}

TEST(LaneOrder, TheCallersBuffersAreFetchedFirstAndInOne) {
  const Planned planned;
  size_t fetches = 0;
  for (InstanceId i : planned.bound().instances.ids()) {
    const Instance& instance = planned.bound().instances[i];
    const auto* fetch = instance.is<Instance::Fetch>();
    if (!fetch) continue;
    ++fetches;
    EXPECT_EQ(instance.inputs.size(), 2) << "scale and shift";
    EXPECT_EQ(planned.at(i).position, 0);
    ASSERT_EQ(fetch->parts.size(), 2);
    EXPECT_EQ(fetch->parts[0].offset, 0);
    EXPECT_EQ(fetch->parts[1].offset, 256) << "aligned as the device wants it";
    EXPECT_EQ(fetch->parts[1].bytes, 24);
    EXPECT_EQ(planned.bound().tensors[instance.outputs[0]].spec.bytes, 512);
  }
  EXPECT_EQ(fetches, 1);
}

}  // namespace
}  // namespace sheaf
