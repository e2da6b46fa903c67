// Absent GPUs: bindings are planned for them as for present ones.
#include "runtime/plan/names.h"
#include "runtime/plan/op_list.h"
#include "tests/paths/source_folder.h"
#include "tests/sim/strict_machine.h"
#include "tests/unit/tools/estimate/two_layers.h"

#include "runtime/cpu/cpu_device.h"
#include "runtime/cuda/gpu_models.h"
#include "runtime/cuda/plain_library.h"
#include "runtime/cuda/planned_device.h"
#include "runtime/session/open_devices.h"
#include "tools/estimate/estimate.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>

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

TEST(PlannedGpu, IsTheDescribedOne) {
  for (const cuda::GpuModel& model : cuda::gpu_models()) {
    const auto device = cuda::planned_device(0, "", model.key);
    EXPECT_EQ(device->info().planned, "planned for as an " + std::string(model.name));
    EXPECT_EQ(device->info().isa, "sm_" + std::to_string(model.compute_capability));
    EXPECT_EQ(device->info().multiprocessors, model.multiprocessors);
    EXPECT_EQ(cuda::find_gpu_model(model.key), &model);
  }
  EXPECT_EQ(cuda::find_gpu_model("tpu"), nullptr);
}

/// docs/estimate.md has the table's rows.
TEST(GpuModels, StandInTheDocumentationAsTheyAre) {
  std::ifstream file(source_file("docs/estimate.md"));
  const std::string page((std::istreambuf_iterator<char>(file)), {});
  for (const cuda::GpuModel& model : cuda::gpu_models()) {
    char row[512];
    std::snprintf(row, sizeof row,
                  "| `%s` | %s | sm_%d | %d | %.0f MiB | %.0f GB/s | %.1f Tflop/s | %.1f Tflop/s | %.0f GB/s | %.0f GB/s |\n",
                  model.key, model.name, model.compute_capability, model.multiprocessors, model.memory_mib,
                  model.memory_gb_per_second, model.f32_tflops, model.narrow_tflops, model.link_gb_per_second,
                  model.host_gb_per_second);
    EXPECT_NE(page.find(row), page.npos) << row;
  }
}

/// Nobody exceeds a peak, and a GPU with more of both is never slower.
TEST(PlannedGpu, TimesFollowFromTheDataSheet) {
  const Plan plan = two_layers().plan;
  std::map<std::string, double> seconds;
  for (const cuda::GpuModel& model : cuda::gpu_models()) {
    const DeviceDescription described = cuda::describe_gpu_model(model);
    EXPECT_LT(described.bytes_per_second, model.memory_gb_per_second * 1e9);
    EXPECT_LT(described.bf16_flops_per_second, model.narrow_tflops * 1e12);
    const DeviceSet devices = *plan_devices(*parse_devices("cuda:0"), 1, 0, model.key);
    EstimateOptions options;
    options.device_model = model.key;
    auto made = estimate(plan, plan.infer, {"cuda:0"}, devices, 1 << 16, options);
    ASSERT_TRUE(made) << to_string(made.error());
    EXPECT_TRUE(made->no_times.empty());
    seconds[model.key] = made->step_seconds;
    double of_kinds = 0, of_devices = 0;
    size_t launches = 0;
    for (const KindEstimate& kind : made->kinds) of_kinds += kind.seconds, launches += kind.launches;
    for (const DeviceEstimate& device : made->devices) of_devices += device.busy_seconds;
    EXPECT_NEAR(of_kinds, of_devices, 1e-12);
    EXPECT_EQ(launches, made->devices[1].launches);
  }
  EXPECT_LT(seconds["b200"], seconds["h200"]);
  EXPECT_LE(seconds["h200"], seconds["h100"]);
  EXPECT_LT(seconds["h100"], seconds["a100"]);
  EXPECT_LT(seconds["a100"], seconds["l4"]);
}

TEST(PlannedGpu, IsOfTheListOrTheModelIsRefused) {
  auto none = plan_devices(*parse_devices("cpu:0,cpu:1"), 1, 0, "h100");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message(), "--device-model h100 describes cuda devices, of which the list has none");
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
