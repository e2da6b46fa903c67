// GPUs that aren't there: bindings are planned for them as for those that are.
#include "runtime/plan/names.h"
#include "runtime/plan/op_list.h"
#include "tests/sim/strict_machine.h"
#include "tests/unit/estimate/two_layers.h"

#include "runtime/cpu/cpu_device.h"
#include "runtime/cuda/plain_library.h"
#include "runtime/cuda/planned_device.h"
#include "tools/estimate/estimate.h"

#include <gtest/gtest.h>

namespace sheaf {
namespace {

DeviceSet planned(int count) {
  std::vector<std::shared_ptr<Device>> devices;
  std::vector<std::string> names;
  for (int k = 0; k < count; ++k) {
    devices.push_back(cuda::planned_device(k, "it isn't there"));
    names.push_back("cuda:" + std::to_string(k));
  }
  return DeviceSet(cpu_device(), devices, names, 1);
}

TEST(PlannedGpu, SaysThatItIsNotThereAndRunsNothing) {
  const auto device = cuda::planned_device(3, "it isn't there");
  EXPECT_EQ(device->info().planned, "it isn't there; planned for as an NVIDIA H200");
  EXPECT_EQ(device->info().isa, "sm_90");
  EXPECT_EQ(device->memory_space(), 4);
  EXPECT_FALSE(device->allocate(64));
  EXPECT_FALSE(device->open_queue(1));
}

TEST(PlannedGpu, TakesTheMemoryOfOneThatIsThere) {
  sim::SimMachine machine(sim::strict());
  const auto there = machine.list("cuda:0,cuda:1");
  const DeviceSet absent = planned(2);
  const Plan plan = two_layers().plan;
  for (const int64_t batch : {7, 64}) {
    auto real = estimate(plan, plan.infer, {"cuda:0", "cuda:1"}, *there, batch);
    auto made = estimate(plan, plan.infer, {"cuda:0", "cuda:1"}, absent, batch);
    ASSERT_TRUE(real) << to_string(real.error());
    ASSERT_TRUE(made) << to_string(made.error());
    EXPECT_TRUE(real->planned.empty());
    EXPECT_TRUE(real->uncertain.empty());
    ASSERT_EQ(made->planned.size(), 2U);
    EXPECT_FALSE(made->uncertain.empty());
    EXPECT_FALSE(made->no_times.empty());
    ASSERT_EQ(real->devices.size(), made->devices.size());
    for (size_t lane = 0; lane < real->devices.size(); ++lane) {
      EXPECT_EQ(real->devices[lane].operations, made->devices[lane].operations);
      for (const Value::Purpose kind :
           {Value::Purpose::parameters, Value::Purpose::derived, Value::Purpose::activations, Value::Purpose::communication}) {
        const auto i = static_cast<size_t>(kind);
        EXPECT_EQ(real->devices[lane].lasting[i], made->devices[lane].lasting[i]) << name_of(kind);
        EXPECT_EQ(real->devices[lane].most[i], made->devices[lane].most[i]) << name_of(kind);
      }
    }
  }
}

TEST(PlainLibrary, HasRecurrentLayersInFloat32Alone) {
  cuda::PlainLibrary library;
  EXPECT_TRUE(bool(library.supports(Op::lstm, DType::float32)));
  const auto narrow = library.supports(Op::lstm, DType::bfloat16);
  ASSERT_FALSE(bool(narrow));
  EXPECT_EQ(narrow.error().message(), "it computes in float32 alone on GPUs");
}

TEST(PlainLibrary, KnowsOwnOperationsAndLeavesLibrariesOpen) {
  cuda::PlainLibrary library;
  Plan plan;
  Step step;
  step.op = Op::linear;
  step.roles = {"x", "weight"};
  const std::vector<TensorSpec> inputs = {plain_tensor(DType::float32, {6, 4}), plain_tensor(DType::float32, {5, 4})};
  std::vector<TensorSpec> outputs = {plain_tensor(DType::float32, {6, 5})};
  auto prepared = library.prepare({step, plan, inputs, outputs, 1, false, {}});
  ASSERT_TRUE(prepared) << prepared.error().message();
  EXPECT_FALSE(prepared->uncertain.empty());
  EXPECT_EQ(prepared->outputs[0].bytes, 6U * 5 * 4);
  step.op = Op::reduce;
  step.roles = {"x0", "x1"};
  const std::vector<TensorSpec> parts = {outputs[0], outputs[0]};
  prepared = library.prepare({step, plan, parts, outputs, 1, false, {}});
  ASSERT_TRUE(prepared) << prepared.error().message();
  EXPECT_TRUE(prepared->uncertain.empty());
  EXPECT_EQ(prepared->implementation, "sum in order");
}

}  // namespace
}  // namespace sheaf
