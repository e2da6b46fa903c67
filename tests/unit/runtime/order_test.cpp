// In which order instances are put: by their times, each after what it needs; never a part of them alone.
#include "runtime/bind/order.h"

#include <gtest/gtest.h>

namespace sheaf {
namespace {

/// Instances that each write one tensor; their step is where they stood at first.
struct Instances {
  Graph graph;

  int add(const std::vector<int>& reads) {
    const int i = static_cast<int>(graph.instances.size());
    Instance instance;
    instance.step = i;
    instance.inputs = reads;
    instance.outputs = {i};
    graph.instances.push_back(std::move(instance));
    Tensor tensor;
    tensor.writers = {i};
    graph.tensors.push_back(std::move(tensor));
    return i;
  }
  std::vector<int> steps() const {
    std::vector<int> found;
    for (const Instance& instance : graph.instances) found.push_back(instance.step);
    return found;
  }
  std::vector<int> collectives() const {
    std::vector<int> found;
    for (const Instance& instance : graph.instances) found.push_back(instance.collective);
    return found;
  }
  Result<void> rearrange(const std::vector<InstanceGroup>& groups) {
    return sheaf::rearrange(graph, groups, stand_alone(graph).instead);
  }
};

TEST(Order, TimesDecideAmongThoseThatCouldBeNext) {
  Instances chain;
  const int a = chain.add({}), b = chain.add({a}), c = chain.add({});
  ASSERT_TRUE(chain.rearrange({{{a}, 2 * c + 1}}));
  EXPECT_EQ(chain.steps(), (std::vector<int>{c, a, b})) << "b comes after what it reads, though its own time is earlier";
  EXPECT_EQ(chain.graph.tensors[static_cast<size_t>(a)].writers, std::vector<int>{1}) << "writers have their new numbers";
}

TEST(Order, GroupsStandTogetherAndAreNumbered) {
  Instances pairs;
  const int a = pairs.add({}), b = pairs.add({a}), c = pairs.add({a});
  pairs.add({b});
  ASSERT_TRUE(pairs.rearrange({{{b, c}, 2 * b}, {{a}, 0}}));
  EXPECT_EQ(pairs.collectives(), (std::vector<int>{-1, 0, 0, -1}));
}

TEST(Order, WhatIsLeftOutIsWaitedForInAnothersPlace) {
  Instances two;
  const int a = two.add({}), b = two.add({}), c = two.add({a});
  ASSERT_TRUE(rearrange(two.graph, {{{b}, 9}}, {b, b, c}));
  EXPECT_EQ(two.steps(), (std::vector<int>{b, c}));
}

TEST(Order, ACircleIsAnErrorAndNothingIsLost) {
  Instances circle;
  const int a = circle.add({}), b = circle.add({a}), c = circle.add({b});
  circle.add({});
  const auto done = circle.rearrange({{{a, c}, 0}});  // b would have to come between the two that are done as one
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().message().find("2 operations wait for each other in a circle"), std::string::npos)
      << done.error().message();
  EXPECT_EQ(circle.steps(), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_TRUE(circle.rearrange({{{a, 3}, 0}})) << "what nobody waits for can be done with a";
}

}  // namespace
}  // namespace sheaf
