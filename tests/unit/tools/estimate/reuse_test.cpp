// What stays in a lane's cache from one operation to the next.
#include "tools/estimate/reuse.h"

#include <gtest/gtest.h>

#include <optional>

namespace sheaf {
namespace {

/// Tensors of 100 bytes, and operations that read one and write one.
class ReuseTest : public ::testing::Test {
 protected:
  TensorId tensor() {
    Tensor made;
    made.spec.bytes = 100;
    return program.tensors.add(std::move(made));
  }
  TensorId view(TensorId of) {
    const TensorId made = tensor();
    program.tensors[made].place = Tensor::View{of};
    return made;
  }
  double cached(TensorId from, TensorId to, double cache, LaneId lane = kHostLane) {
    Instance instance;
    instance.lane = lane;
    instance.inputs = {from};
    instance.outputs = {to};
    return reuse->cached_bytes(instance, {0, 100, 100}, cache);
  }
  /// After a step whose operations touched so much in all.
  void after(double step_bytes) { reuse.emplace(program, IdVector<LaneId, double>(2, step_bytes)); }

  BoundProgram program;
  std::optional<Reuse> reuse;
};

TEST_F(ReuseTest, WhatWasTouchedLastIsStillThere) {
  const TensorId a = tensor(), b = tensor(), c = tensor();
  after(600);
  EXPECT_EQ(cached(a, b, 250), 100) << "a was last touched 600 bytes ago; its result has room";
  EXPECT_EQ(cached(b, c, 250), 200);
  EXPECT_EQ(cached(view(a), tensor(), 250), 200) << "200 bytes ago, under another name";
}

TEST_F(ReuseTest, AnotherOperationsBytesReplaceIt) {
  const TensorId a = tensor(), b = tensor();
  after(1000);
  cached(a, b, 250);
  cached(tensor(), tensor(), 250);
  cached(tensor(), tensor(), 250);
  EXPECT_EQ(cached(b, tensor(), 250), 100) << "only the result's place: 400 bytes came between";
  EXPECT_EQ(cached(b, tensor(), 150), 100) << "it was read just now, but both together have no room";
}

TEST_F(ReuseTest, StepsThatFitFindAllOfIt) {
  after(200);
  EXPECT_EQ(cached(tensor(), tensor(), 250), 200);
}

TEST_F(ReuseTest, LanesHaveTheirOwnCaches) {
  const TensorId a = tensor(), b = tensor();
  after(1000);
  cached(a, b, 250);
  EXPECT_EQ(cached(b, tensor(), 250, LaneId(1)), 100);
}

}  // namespace
}  // namespace sheaf
