// Operations: generated kernels loaded from a plan's objects, library operations, reorders.
#include "backend.h"
#include "runtime/plan/op_list.h"

#include "runtime/plan/plan.h"

#include <gmock/gmock.h>

#include <optional>

namespace sheaf {
namespace {

using ::testing::HasSubstr;

class KernelContract : public BackendTest {
 protected:
  void SetUp() override {
    BackendTest::SetUp();
    add_kernels(plan);
  }
  /// The name of the backend's own object.
  std::string object() const { return device->info().shares_host_memory ? "x86-64-v3" : kPtxObject; }

  Result<Prepared> prepare(const Step& step, const std::vector<TensorSpec>& inputs, const std::vector<TensorSpec>& outputs,
                           std::vector<int64_t> extents, int64_t work) {
    auto loaded = device->load_kernels(plan);
    if (!loaded) return loaded.error();
    kernels = *loaded;
    const auto constant = std::make_unique<bool[]>(inputs.size());
    PrepareRequest request{step,          plan,    inputs, outputs, 2, false, {constant.get(), inputs.size()},
                           kernels.get(), extents, work};
    request.gpu_work = work;
    return device->prepare(request);
  }

  static Step kernel_step(const std::string& kernel) {
    Step step;
    step.op = Op::kernel;
    step.kernel = kernel;
    step.layer = "layer";
    step.attributes["grain"] = 16;
    return step;
  }

  Plan plan;
  std::shared_ptr<const Kernels> kernels;
};

TEST_P(KernelContract, AKernelCoversItsWork) {
  for (int64_t count : {1, 15, 1000, 100000}) {
    const TensorSpec spec = plain_tensor(DType::float32, {count});
    auto prepared = prepare(kernel_step("double_and_add"), {spec}, {spec}, {3}, count);
    ASSERT_TRUE(prepared) << to_string(prepared.error());
    const Buffer x(*device, spec.bytes), y(*device, spec.bytes), scratch(*device, prepared->scratch_bytes);
    upload(x, std::vector<float>(static_cast<size_t>(count), 5.F));
    void* buffers[] = {x.get(), y.get()};
    queue->launch(*prepared->executable, buffers, scratch.get());
    EXPECT_EQ(download<float>(y, static_cast<size_t>(count)), std::vector<float>(static_cast<size_t>(count), 13.F));
    EXPECT_FALSE(prepared->executable->failed(0));
  }
}

TEST_P(KernelContract, ALookupBeyondTheTableIsReported) {
  Step step = kernel_step("lookup");
  step.attributes["status"] = 1;
  const TensorSpec indices = plain_tensor(DType::int64, {4}), table = plain_tensor(DType::float32, {3, 1});
  auto prepared =
      prepare(step, {indices, table}, {plain_tensor(DType::float32, {4, 1}), plain_tensor(DType::int64, {1})}, {3}, 4);
  ASSERT_TRUE(prepared) << to_string(prepared.error());
  ASSERT_TRUE(prepared->can_fail);
  const Buffer i(*device, 32), t(*device, 12), y(*device, 16), status(*device, 8);
  upload(t, std::vector<float>{1, 2, 3});
  void* buffers[] = {i.get(), t.get(), y.get(), status.get()};
  for (int64_t bad : {int64_t{3}, int64_t{-1}, int64_t{1} << 40}) {
    upload(i, std::vector<int64_t>{0, 2, bad, -5});
    queue->launch(*prepared->executable, buffers, nullptr);
    ASSERT_TRUE(queue->synchronize());
    EXPECT_TRUE(prepared->executable->failed(0));
    EXPECT_THAT(prepared->executable->failure(0), HasSubstr("index " + std::to_string(bad) + " (element 2"));
  }
  upload(i, std::vector<int64_t>{0, 2, 1, 0});
  queue->launch(*prepared->executable, buffers, nullptr);
  EXPECT_EQ(download<float>(y, 4), (std::vector<float>{1, 3, 2, 1}));
  EXPECT_FALSE(prepared->executable->failed(0));
}

TEST_P(KernelContract, PlansThatCannotBeLoaded) {
  plan.objects = {{"x86-64-v9", plan.objects[0].second}};
  auto loaded = device->load_kernels(plan);
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error().message(), HasSubstr("x86-64-v9"));
  plan.objects = {{object(), "not an object"}};
  EXPECT_FALSE(device->load_kernels(plan));
  plan.objects.clear();
  EXPECT_FALSE(device->load_kernels(plan));
  plan.kernels.clear();
  EXPECT_TRUE(device->load_kernels(plan)) << "a plan without kernels needs no object";
}

TEST_P(KernelContract, KernelsThatAreNotThere) {
  const TensorSpec spec = plain_tensor(DType::float32, {4});
  EXPECT_FALSE(prepare(kernel_step("absent"), {spec}, {spec}, {}, 4));
  EXPECT_FALSE(prepare(kernel_step("double_and_add"), {spec}, {spec}, {}, 4)) << "an extent is missing";
  plan.kernels.push_back({"absent", "", 0, false, {}, 128, 128});
  auto loaded = device->load_kernels(plan);
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error().message(), HasSubstr("'absent'"));
}

TEST_P(KernelContract, ALibraryOperation) {
  Step step;
  step.op = Op::linear;
  step.layer = "fc";
  step.inputs = {0, 1, 2};
  step.roles = {"x", "weight", "bias"};
  step.outputs = {3};
  const auto f32 = [](std::vector<int64_t> dims) { return plain_tensor(DType::float32, std::move(dims)); };
  auto prepared = prepare(step, {f32({2, 3}), f32({2, 3}), f32({2})}, {f32({2, 2})}, {}, 0);
  ASSERT_TRUE(prepared) << to_string(prepared.error());
  const Buffer x(*device, 24), w(*device, 24), b(*device, 8), y(*device, 16), scratch(*device, prepared->scratch_bytes);
  upload(x, std::vector<float>{1, 2, 3, 4, 5, 6});
  upload(b, std::vector<float>{10, 20});
  // The weight is reordered if another format is wanted.
  std::unique_ptr<Buffer> wanted;
  upload(w, std::vector<float>{1, 0, 0, 0, 1, 1});
  void* weight = w.get();
  std::optional<Prepared> reorder;
  if (!same_format(prepared->inputs[1], f32({2, 3}))) {
    auto made = device->prepare_reorder(f32({2, 3}), prepared->inputs[1], 1);
    ASSERT_TRUE(made);
    reorder = std::move(*made);
    wanted = std::make_unique<Buffer>(*device, prepared->inputs[1].bytes);
    const Buffer space(*device, reorder->scratch_bytes);
    void* buffers[] = {w.get(), wanted->get()};
    queue->launch(*reorder->executable, buffers, space.get());
    ASSERT_TRUE(queue->synchronize());
    weight = wanted->get();
  }
  void* buffers[] = {x.get(), weight, b.get(), y.get()};
  queue->launch(*prepared->executable, buffers, scratch.get());
  EXPECT_EQ(download<float>(y, 4), (std::vector<float>{11, 25, 14, 31}));
}

TEST_P(KernelContract, AnUnknownOperationIsAnError) {
  Step step;
  step.type = "frobnicate";
  step.layer = "l";
  auto prepared = prepare(step, {}, {}, {}, 0);
  ASSERT_FALSE(prepared);
  EXPECT_THAT(to_string(prepared.error()), HasSubstr("no library operation of this name")) << "who prepares it says which";
}

INSTANTIATE_TEST_SUITE_P(Backends, KernelContract, ::testing::ValuesIn(backends()));

}  // namespace
}  // namespace sheaf
