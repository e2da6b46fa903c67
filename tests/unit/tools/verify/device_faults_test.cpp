// Correct plans that are run wrongly: copies between memories that go astray.
#include "runtime/plan/op_list.h"
#include "tests/unit/tools/verify/faulty_device.h"
#include "tests/unit/tools/verify/verified.h"

#include <cstring>

namespace sheaf {
namespace {

VerifyOptions on_two(CopyFault fault, int64_t batch) {
  VerifyOptions options;
  options.devices = two_devices({std::move(fault), {}});
  options.batch = batch;
  return options;
}

constexpr size_t kRow = 5 * sizeof(float), kResult = 3 * sizeof(float), kWeight = 8 * 5 * sizeof(float);

TEST(VerifyDeviceFaults, NoneWithoutAFault) {
  const Plan plan = compiled(perceptron(kLayers));
  const Verification found = verified(plan, on_two({}, 7));
  EXPECT_TRUE(found.passed()) << explained(found);
}

/// The second replica gets the first one's rows.
TEST(VerifyDeviceFaults, AWrongChunk) {
  VerifyOptions options = on_two(
      [](char*&, const char*& source, const CopyShape& shape) {
        if (shape.row_bytes == 3 * kRow) source -= 3 * kRow;
        return true;
      },
      6);
  options.train = false;
  const Divergence found = divergence(verified(compiled(perceptron(kLayers)), options));
  EXPECT_EQ(found.op, "scatter");
  EXPECT_EQ(found.layer, "net");
  EXPECT_EQ(found.replica, 1);
  EXPECT_EQ(found.device, "test:1");
  EXPECT_EQ(found.index, (std::vector<int64_t>{3, 0}));
}

/// The second replica's rows are put where the first one's belong.
TEST(VerifyDeviceFaults, ASwappedGather) {
  VerifyOptions options = on_two(
      [](char*& target, const char*&, const CopyShape& shape) {
        if (shape.row_bytes == 3 * kResult) target -= 3 * kResult;
        return true;
      },
      6);
  options.train = false;
  const Divergence found = divergence(verified(compiled(perceptron(kLayers)), options));
  EXPECT_EQ(found.op, "gather");
  EXPECT_EQ(found.layer, "net");
  EXPECT_EQ(found.replica, -1);
}

/// The second replica keeps the weights of the first step.
TEST(VerifyDeviceFaults, AStaleReplica) {
  int copies = 0;
  const VerifyOptions options = on_two(
      [&copies](char*&, const char*&, const CopyShape& shape) {
        // Three runs are made of each step.
        return shape.row_bytes != kWeight || ++copies <= 3;
      },
      6);
  VerifyOptions train = options;
  train.infer = false;
  const Verification found = verified(compiled(perceptron(kLayers)), train);
  const Divergence stale = divergence(found);
  EXPECT_EQ(stale.op, "replicate");
  EXPECT_EQ(stale.layer, "net.module.fc1");
  EXPECT_EQ(stale.replica, 1);
  ASSERT_EQ(found.programs.size(), 1U);
  EXPECT_EQ(found.programs[0].steps, 2);
}

/// The second replica adds up elements of its own gradient that lie one before its share's.
TEST(VerifyDeviceFaults, AShareOffByOne) {
  VerifyOptions options;
  options.devices = two_devices({{}, [](Op op, std::span<const TensorSpec> inputs, void* const* buffers) {
                                   if (op != Op::reduce || inputs.size() != 2 || inputs[1].bytes != kWeight / 2) return;
                                   auto* share = static_cast<char*>(buffers[1]);
                                   std::memmove(share, share - sizeof(float), inputs[1].bytes);
                                 }});
  options.batch = 6;
  options.infer = false;
  CompileOptions how;
  how.strategy = Strategy::sharded;
  const Divergence found = divergence(verified(compiled(perceptron(kLayers), how), options));
  EXPECT_EQ(found.op, "reduce_scatter");
  EXPECT_EQ(found.layer, "net.module.fc1");
  EXPECT_EQ(found.replica, 1);
}

}  // namespace
}  // namespace sheaf
