// The order that instances are put into: by their times, each after what it needs; a group never in part.
#include "runtime/bind/order.h"

#include <gtest/gtest.h>

namespace sheaf {
namespace {

/// Instances that each write one tensor; their step is their first position.
struct Instances {
  BoundProgram program;

  InstanceId add(const std::vector<InstanceId>& reads) {
    const InstanceId i = program.instances.next();
    Instance instance;
    instance.step = StepId(i.number());
    for (InstanceId read : reads) instance.inputs.push_back(TensorId(read.number()));
    instance.outputs = {program.tensors.next()};
    program.instances.push_back(std::move(instance));
    Tensor tensor;
    tensor.writers = {i};
    program.tensors.push_back(std::move(tensor));
    return i;
  }
  std::vector<int> steps() const {
    std::vector<int> found;
    for (const Instance& instance : program.instances) found.push_back(instance.step.number());
    return found;
  }
  std::vector<int> collectives() const {
    std::vector<int> found;
    for (const Instance& instance : program.instances) found.push_back(instance.collective);
    return found;
  }
  Result<void> rearrange(const std::vector<InstanceGroup>& groups) {
    return sheaf::rearrange(program, groups, stand_alone(program).instead);
  }
};

TEST(Order, TimesDecideAmongThoseThatCouldBeNext) {
  Instances chain;
  const InstanceId a = chain.add({});
  (void)chain.add({a});
  const InstanceId c = chain.add({});
  ASSERT_TRUE(chain.rearrange({{{a}, 2 * c.number() + 1}}));
  EXPECT_EQ(chain.steps(), (std::vector<int>{2, 0, 1})) << "b comes after what it reads, though its own time is earlier";
  EXPECT_EQ(chain.program.tensors[TensorId(0)].writers, std::vector{InstanceId(1)}) << "writers have their new numbers";
}

TEST(Order, GroupsStandTogetherAndAreNumbered) {
  Instances pairs;
  const InstanceId a = pairs.add({}), b = pairs.add({a}), c = pairs.add({a});
  pairs.add({b});
  ASSERT_TRUE(pairs.rearrange({{{b, c}, 2 * b.number()}, {{a}, 0}}));
  EXPECT_EQ(pairs.collectives(), (std::vector<int>{-1, 0, 0, -1}));
}

TEST(Order, WhatIsLeftOutIsWaitedForInAnothersPlace) {
  Instances two;
  const InstanceId a = two.add({}), b = two.add({}), c = two.add({a});
  ASSERT_TRUE(rearrange(two.program, {{{b}, 9}}, {b, b, c}));
  EXPECT_EQ(two.steps(), (std::vector<int>{1, 2}));
}

TEST(Order, ACircleIsAnErrorAndNothingIsLost) {
  Instances circle;
  const InstanceId a = circle.add({}), b = circle.add({a}), c = circle.add({b});
  circle.add({});
  const auto done = circle.rearrange({{{a, c}, 0}});  // b would have to come between the two that run as one
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().message().find("2 operations wait for each other in a circle"), std::string::npos)
      << done.error().message();
  EXPECT_EQ(circle.steps(), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_TRUE(circle.rearrange({{{a, InstanceId(3)}, 0}})) << "what nobody waits for can be done with a";
}

}  // namespace
}  // namespace sheaf
