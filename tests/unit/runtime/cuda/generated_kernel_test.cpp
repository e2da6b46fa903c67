// Launches of generated kernels on virtual GPUs: alone, many as one, held back by the queue's flag, lookups that fail.
#include "runtime/plan/op_list.h"
#include "tests/sim/strict_machine.h"

#include "runtime/cuda/generated_kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sheaf::cuda {
namespace {

using sim::Call;
using sim::SimMachine;
using sim::strict;
using ::testing::HasSubstr;

/// An entry that makes y = 2x, block by block. `operands` loads the addresses of x and y to %d2 and %d3, the elements to %d4.
std::string doubling(const std::string& name, const std::string& parameters, const std::string& operands) {
  return ".visible .entry " + name + "(" + parameters + R"(, .param .u64 guard)
{
  .reg .pred %p<4>;
  .reg .f32 %f<3>;
  .reg .b32 %r<8>;
  .reg .b64 %d<16>;
  ld.param.u64 %d1, [guard];
  setp.eq.s64 %p1, %d1, 0;
  @%p1 bra $open;
  ld.global.u32 %r1, [%d1];
  setp.ne.s32 %p2, %r1, 0;
  @%p2 bra $end;
$open:)" +
         operands + R"(
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mul.wide.u32 %d5, %r2, %r3;
  cvt.u64.u32 %d6, %r4;
  add.s64 %d7, %d5, %d6;
  mov.u32 %r6, %nctaid.x;
  mul.wide.u32 %d14, %r6, %r3;
$next:
  setp.ge.u64 %p3, %d7, %d4;
  @%p3 bra $end;
  shl.b64 %d8, %d7, 2;
  add.s64 %d9, %d2, %d8;
  add.s64 %d10, %d3, %d8;
  ld.global.f32 %f1, [%d9];
  add.f32 %f2, %f1, %f1;
  st.global.f32 [%d10], %f2;
  add.s64 %d7, %d7, %d14;
  bra.uni $next;
$end:
  ret;
}
)";
}

const std::string kTwice = doubling("twice", ".param .u64 x, .param .u64 y, .param .u64 work", R"(
  ld.param.u64 %d2, [x];
  ld.param.u64 %d3, [y];
  ld.param.u64 %d4, [work];)");

/// The same for many: a row of the table is work, x and y.
const std::string kTwiceMany = doubling("twice_many", ".param .u64 table, .param .u64 count", R"(
  ld.param.u64 %d11, [table];
  mov.u32 %r5, %ctaid.y;
  mul.wide.u32 %d12, %r5, 24;
  add.s64 %d13, %d11, %d12;
  ld.global.u64 %d4, [%d13];
  ld.global.u64 %d2, [%d13+8];
  ld.global.u64 %d3, [%d13+16];)");

/// A lookup that finds its element 1 out of range.
constexpr const char* kLookup = R"(
.visible .entry lookup(.param .u64 indices, .param .u64 table, .param .u64 y, .param .u64 status, .param .u64 work, .param .u64 guard)
{
  .reg .pred %p<2>;
  .reg .b32 %r<2>;
  .reg .b64 %d<4>;
  mov.u32 %r1, %tid.x;
  setp.ne.s32 %p1, %r1, 0;
  @%p1 bra $other;
  ld.param.u64 %d1, [status];
  mov.u64 %d2, -2;
  st.global.u64 [%d1], %d2;
$other:
  ret;
}
)";

class GeneratedKernels : public ::testing::Test {
 protected:
  GeneratedKernels() : machine(strict()) {
    plan.objects = {{"ptx", ".version 7.0\n.target sm_80\n.address_size 64\n" + kTwice + kTwiceMany + kLookup}};
    plan.kernels.resize(2);
    plan.kernels[0].name = "twice";
    plan.kernels[0].elementwise = true;
    plan.kernels[1].name = "lookup";
    for (Kernel& kernel : plan.kernels) kernel.gpu_block = kernel.gpu_items = 64;
    device = machine.device(0);
    queue = std::move(*device->open_queue(1));
    kernels = std::move(*device->load_kernels(plan));
    data = static_cast<float*>(*device->allocate(sizeof(float) * 4096));
    const std::vector<float> ones(4096, 1);
    queue->copy(data, ones.data(), {sizeof(float) * 4096, 1, 0, 0});
    queue->begin_run();
  }
  ~GeneratedKernels() override {
    if (auto done = queue->synchronize(); !done) ADD_FAILURE() << to_string(done.error());
    device->release(data);
  }

  Prepared prepare(const std::string& kernel, std::vector<TensorSpec> inputs, std::vector<TensorSpec> outputs, int64_t work,
                   Json attributes = Json::object()) {
    Step step;
    step.op = Op::kernel;
    step.layer = "net";
    step.kernel = kernel;
    step.attributes = std::move(attributes);
    const bool constant[4] = {};
    PrepareRequest request{step, plan, inputs, outputs, 1, false, {constant, inputs.size()}};
    request.kernels = kernels.get();
    request.work = request.gpu_work = work;
    auto prepared = device->prepare(request);
    EXPECT_TRUE(prepared) << to_string(prepared.error());
    return std::move(*prepared);
  }
  Prepared twice(int64_t elements) {
    const TensorSpec spec = plain_tensor(DType::float32, {elements});
    return prepare("twice", {spec}, {spec}, elements);
  }
  std::vector<float> read(size_t offset, size_t count) {
    std::vector<float> values(count);
    queue->copy(values.data(), data + offset, {count * sizeof(float), 1, 0, 0});
    if (auto done = queue->synchronize(); !done) ADD_FAILURE() << to_string(done.error());
    return values;
  }

  SimMachine machine;
  Plan plan;
  std::shared_ptr<Device> device;
  std::shared_ptr<const Kernels> kernels;
  std::unique_ptr<Queue> queue;
  float* data = nullptr;
};

TEST_F(GeneratedKernels, ManyAreOneLaunchOfTheSameNumbers) {
  const int64_t sizes[] = {1, 200, 64};
  std::vector<Prepared> parts;
  std::vector<Executable*> executables;
  std::vector<void*> buffers;
  for (size_t i = 0; i < 3; ++i) {
    parts.push_back(twice(sizes[i]));
    executables.push_back(parts.back().executable.get());
    buffers.push_back(data + 256 * i);
    buffers.push_back(data + 1024 + 256 * i);
  }
  auto merged = device->merge(executables);
  ASSERT_NE(merged, nullptr);
  EXPECT_TRUE(merged->guardable());
  const int64_t before = machine.driver().calls(Call::launch);
  queue->launch(*merged, buffers.data(), nullptr, true);
  EXPECT_EQ(machine.driver().calls(Call::launch) - before, 1);
  for (size_t i = 0; i < 3; ++i) {
    const auto values = read(1024 + 256 * i, 256);
    for (size_t j = 0; j < 256; ++j) ASSERT_EQ(values[j], j < static_cast<size_t>(sizes[i]) ? 2 : 1) << i << " " << j;
  }
  // With other buffers its table is sent again, even while the first is on its way.
  std::swap(buffers[1], buffers[3]);
  const std::vector<float> fives(200, 5);
  queue->copy(data, fives.data(), {sizeof(float), 1, 0, 0});
  queue->launch(*merged, buffers.data(), nullptr);
  EXPECT_EQ(read(1280, 1)[0], 10);
  const Executable* alone[] = {executables[0]};
  EXPECT_EQ(device->merge({const_cast<Executable**>(alone), 1}), nullptr);
}

TEST_F(GeneratedKernels, AFailedLookupHoldsWhatIsGuarded) {
  const TensorSpec indices = plain_tensor(DType::int32, {4}), table = plain_tensor(DType::float32, {3, 2});
  auto lookup = prepare("lookup", {indices, table}, {plain_tensor(DType::float32, {4, 2}), plain_tensor(DType::int64, {1})}, 4,
                        {{"status", 1}});
  EXPECT_TRUE(lookup.can_fail);
  const std::vector<int32_t> values = {0, 77, 1, 2};
  queue->copy(data + 3000, values.data(), {16, 1, 0, 0});
  void* operands[] = {data + 3000, data, data + 3100, data + 3200};
  auto one = twice(100);
  void* buffers[] = {data, data + 500};
  queue->launch(*one.executable, buffers, nullptr, true);
  EXPECT_EQ(read(500, 100), std::vector<float>(100, 2)) << "nothing has failed yet";

  queue->launch(*lookup.executable, operands, nullptr);
  void* others[] = {data, data + 700};
  queue->launch(*one.executable, others, nullptr, true);
  queue->copy(data + 900, data + 500, {400, 1, 0, 0}, true);
  EXPECT_EQ(read(700, 100), std::vector<float>(100, 1));
  EXPECT_EQ(read(900, 100), std::vector<float>(100, 1));
  EXPECT_TRUE(lookup.executable->failed(0));
  EXPECT_THAT(lookup.executable->failure(0),
              HasSubstr("index 77 (element 1 of its input) is out of range; the table has entries 0 to 2"));

  queue->begin_run();
  queue->launch(*one.executable, others, nullptr, true);
  queue->copy(data + 901, data + 501, {396, 1, 0, 0}, true);  // aligned only to 4
  EXPECT_EQ(read(700, 100), std::vector<float>(100, 2));
  EXPECT_EQ(read(901, 99), std::vector<float>(99, 2));
}

TEST_F(GeneratedKernels, APlanWithoutThemSaysSo) {
  Plan none = plan;
  none.objects = {{"x86-64-v3", ""}};
  auto loaded = device->load_kernels(none);
  ASSERT_FALSE(loaded);
  EXPECT_THAT(to_string(loaded.error()), HasSubstr("no kernels for GPUs: it has x86-64-v3"));
  none.kernels.clear();
  EXPECT_TRUE(device->load_kernels(none));
}

TEST(Blocks, AreAsManyAsTheWorkAsksForAndTheDeviceHolds) {
  EXPECT_EQ(blocks_for(1, 256, 256, 132), 1U);
  EXPECT_EQ(blocks_for(257, 256, 256, 132), 2U);
  EXPECT_EQ(blocks_for(int64_t{1} << 40, 256, 256, 132), 2U * 8 * 132);
}

}  // namespace
}  // namespace sheaf::cuda
