// Memory, copies, queues and events.
#include "backend.h"

#include "runtime/ops/traits.h"
#include "runtime/plan/op_list.h"

#include <cstdint>
#include <numeric>

namespace sheaf {
namespace {

class DeviceContract : public BackendTest {};

std::vector<float> counted(size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 1.F);
  return values;
}

TEST_P(DeviceContract, InfoIsFilledIn) {
  const DeviceInfo& info = device->info();
  EXPECT_FALSE(info.model.empty());
  EXPECT_FALSE(info.isa.empty());
  EXPECT_GE(info.cores, 1);
  EXPECT_GT(info.memory_bytes, 0);
  EXPECT_EQ(device->memory_space() == 0, info.shares_host_memory);
}

TEST_P(DeviceContract, OpeningAgainGivesTheSameDevice) {
  auto again = opener.device(GetParam());
  ASSERT_TRUE(again);
  EXPECT_EQ(again->get(), device.get());
}

TEST_P(DeviceContract, SupportsTheLibraryOperationsInFloat32AndNoMovements) {
  for (size_t i = 0; i < kOps; ++i) {
    const Op op = static_cast<Op>(i);
    if (is_library(op)) EXPECT_TRUE(bool(device->supports(op, DType::float32))) << to_string(op);
  }
  EXPECT_FALSE(bool(device->supports(Op::scatter, DType::float32)));
}

TEST_P(DeviceContract, WhatItDoesNotSupportIsAnErrorOfTheLayer) {
  Step step;
  step.op = Op::scatter;
  step.layer = "net.fc";
  step.location = {"m.json", 7, 3};
  const Plan plan;
  const std::vector<TensorSpec> operands = {plain_tensor(DType::float32, {2})};
  const auto prepared =
      prepare_on(*device, {.step = step, .plan = plan, .inputs = operands, .outputs = operands, .constant = {}});
  ASSERT_FALSE(bool(prepared));
  EXPECT_TRUE(to_string(prepared.error()).starts_with("m.json:7:3: error: layer 'net.fc': operation 'scatter': "))
      << to_string(prepared.error());
}

TEST_P(DeviceContract, MemoryIsAlignedAndApart) {
  std::vector<std::unique_ptr<Buffer>> buffers;
  for (size_t bytes : {size_t{0}, size_t{1}, size_t{63}, size_t{65}, size_t{4097}, size_t{5} << 20}) {
    buffers.push_back(std::make_unique<Buffer>(*device, bytes));
    EXPECT_NE(buffers.back()->get(), nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffers.back()->get()) % 64, 0U);
  }
  for (size_t i = 0; i < buffers.size(); ++i) {
    for (size_t j = i + 1; j < buffers.size(); ++j) EXPECT_NE(buffers[i]->get(), buffers[j]->get());
  }
}

TEST_P(DeviceContract, TooMuchMemoryIsAnError) {
  auto memory = device->allocate(size_t{1} << 60);
  EXPECT_FALSE(memory);
  memory = device->allocate(SIZE_MAX);
  EXPECT_FALSE(memory);
}

TEST_P(DeviceContract, CopiesThereAndBack) {
  for (size_t count : {size_t{0}, size_t{1}, size_t{1000}, size_t{3} << 20}) {
    const std::vector<float> values = counted(count);
    const Buffer first(*device, count * sizeof(float)), second(*device, count * sizeof(float));
    upload(first, values);
    queue->copy(second.get(), first.get(), {count * sizeof(float), 1, 0, 0});
    EXPECT_EQ(download<float>(second, count), values);
  }
}

TEST_P(DeviceContract, CopiesRowsWithPitches) {
  const std::vector<float> values = counted(12);  // 3 rows of 4
  const Buffer matrix(*device, 12 * sizeof(float)), part(*device, 6 * sizeof(float));
  upload(matrix, values);
  // Columns 1 and 2.
  queue->copy(part.get(), static_cast<char*>(matrix.get()) + sizeof(float),
              {2 * sizeof(float), 3, 4 * sizeof(float), 2 * sizeof(float)});
  EXPECT_EQ(download<float>(part, 6), (std::vector<float>{2, 3, 6, 7, 10, 11}));
  queue->copy(matrix.get(), part.get(), {2 * sizeof(float), 3, 2 * sizeof(float), 4 * sizeof(float)});
  EXPECT_EQ(download<float>(matrix, 12), (std::vector<float>{2, 3, 3, 4, 6, 7, 7, 8, 10, 11, 11, 12}));
}

TEST_P(DeviceContract, AnEventOrdersTwoQueues) {
  constexpr size_t kCount = size_t{1} << 20;
  auto other = device->open_queue(1);
  auto event = device->make_event();
  ASSERT_TRUE(other && event);
  const std::vector<float> values = counted(kCount), zeros(kCount, 0.F);
  const Buffer source(*device, kCount * sizeof(float)), target(*device, kCount * sizeof(float));
  for (int i = 0; i < 10; ++i) {  // the event is used again and again
    upload(source, zeros);
    upload(target, zeros);
    queue->copy(source.get(), values.data(), {kCount * sizeof(float), 1, 0, 0});
    queue->record(**event);
    ASSERT_TRUE((*other)->wait(**event));
    (*other)->copy(target.get(), source.get(), {kCount * sizeof(float), 1, 0, 0});
    ASSERT_TRUE((*other)->synchronize());
    ASSERT_TRUE(queue->synchronize());
    ASSERT_EQ(download<float>(target, kCount), values);
    ASSERT_TRUE((*event)->synchronize());
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, DeviceContract, ::testing::ValuesIn(backends()));

}  // namespace
}  // namespace sheaf
