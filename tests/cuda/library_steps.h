// Steps prepared by the product's own library and run with stand-ins for the driver and NVIDIA's libraries.
#pragma once

#include "runtime/cuda/vendor/driver.h"
#include "runtime/cuda/vendor/library.h"
#include "runtime/plan/op_list.h"
#include "runtime/steps/step_operands.h"
#include "tests/cuda/stand_in/machine.h"
#include "tests/cuda/stand_in/numbers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

namespace sheaf::cuda {

inline constexpr DType kF32 = DType::float32, kBf16 = DType::bfloat16, kF16 = DType::float16;
using Floats = std::vector<float>;

inline int64_t count_of(const Dims& dims) { return product(dims, 0, dims.size()); }

inline float rounded(float value, DType dtype) {
  if (dtype == kBf16) return stand_in::from_bfloat16(stand_in::to_bfloat16(value));
  return dtype == kF16 ? stand_in::from_float16(stand_in::to_float16(value)) : value;
}

inline Floats numbers(const Dims& dims, DType dtype, int seed) {
  Floats made(static_cast<size_t>(count_of(dims)));
  for (size_t i = 0; i < made.size(); ++i) made[i] = rounded(std::sin(float(i * 7 + size_t(seed) * 31)), dtype);
  return made;
}

/// The place in memory of element `number` in row-major order: channels lie last unless the tensor is plain.
inline size_t place_of(const TensorSpec& tensor, size_t number) {
  if (tensor.plain()) return number;
  const auto inner = size_t(product(tensor.dims, 2, tensor.dims.size())), channels = size_t(tensor.dims[1]);
  const size_t row = number / (channels * inner), channel = number / inner % channels;
  return (row * inner + number % inner) * channels + channel;
}

inline void pack(char* to, const Floats& values, const TensorSpec& tensor) {
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t at = place_of(tensor, i);
    const uint16_t narrow = tensor.dtype == kBf16 ? stand_in::to_bfloat16(values[i]) : stand_in::to_float16(values[i]);
    if (tensor.dtype == kF32) std::memcpy(to + 4 * at, &values[i], 4);
    else std::memcpy(to + 2 * at, &narrow, 2);
  }
}
inline Floats unpack(const char* from, const TensorSpec& tensor) {
  Floats values(size_t(count_of(tensor.dims)));
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t at = place_of(tensor, i);
    uint16_t narrow = 0;
    if (tensor.dtype == kF32) {
      std::memcpy(&values[i], from + 4 * at, 4);
      continue;
    }
    std::memcpy(&narrow, from + 2 * at, 2);
    values[i] = tensor.dtype == kBf16 ? stand_in::from_bfloat16(narrow) : stand_in::from_float16(narrow);
  }
  return values;
}

inline void expect_near(const Floats& got, const Floats& expected, DType dtype) {
  ASSERT_EQ(got.size(), expected.size());
  const float unit = dtype == kBf16 ? 1 / 128.F : dtype == kF16 ? 1 / 1024.F : 1e-6F;
  for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected[i], unit * (1 + std::abs(expected[i]))) << i;
}

struct Case {
  Case(Op op, std::vector<std::string> roles, std::vector<TensorSpec> inputs, std::vector<TensorSpec> outputs,
       Json attributes = Json::object())
      : inputs(std::move(inputs)), outputs(std::move(outputs)) {
    step.op = op;
    step.roles = std::move(roles);
    step.attributes = std::move(attributes);
    for (const TensorSpec& input : this->inputs) values.push_back(numbers(input.dims, input.dtype, int(values.size())));
  }
  Step step;
  Plan plan;
  std::vector<TensorSpec> inputs, outputs;
  std::vector<Floats> values;
  // How it is prepared and run.
  bool fast = false, deterministic = true, recorded = false;
  const Choices* choices = nullptr;
  int in_place = -1;         ///< an input whose buffer is the first output's
  size_t scratch_shift = 0;  ///< bytes off its alignment
  size_t operand_shift = 0;
  int device_of_stream = 0;
};

class LibrarySteps : public ::testing::Test {
 protected:
  void SetUp() override {
    // What one test keeps must not reach another.
    cache = ::testing::TempDir() + "library-steps-" + std::to_string(::getpid());
    setenv("SHEAF_CACHE", cache.c_str(), 1);
    live_before = stand_in::live();
    driver = std::move(*open_nvidia_driver());
    library = std::move(*open_library(*driver, 0));
  }
  void TearDown() override {
    // By a thread on which no device is current.
    std::thread([this] { library.reset(); }).join();
    EXPECT_THAT(stand_in::take_faults(), ::testing::IsEmpty());
    EXPECT_EQ(stand_in::live(), live_before);
    std::filesystem::remove_all(cache);
  }

  Result<Prepared> prepare(const Case& wanted) {
    PrepareRequest request{wanted.step, wanted.plan, wanted.inputs, wanted.outputs, 1, wanted.fast, {}};
    request.deterministic = wanted.deterministic;
    request.choices = wanted.choices;
    return library->prepare(request);
  }

  /// Outputs' values; each buffer is exactly as large as was prepared for.
  Result<std::vector<Floats>> run(const Case& wanted) {
    SHEAF_ASSIGN(auto prepared, prepare(wanted));
    implementation = prepared.implementation;
    reason = prepared.reason;
    SHEAF_ASSIGN(auto stream, driver->make_stream(wanted.device_of_stream));
    SHEAF_ASSIGN(auto copies, driver->make_stream(0));
    SHEAF_ASSIGN(auto host, driver->allocate_pinned(1 << 20));
    auto* const bytes = static_cast<char*>(host);
    std::vector<void*> blocks, buffers;
    const auto make = [&](const TensorSpec& tensor) -> Result<void> {
      SHEAF_ASSIGN(auto block, driver->allocate(0, tensor.bytes + wanted.operand_shift));
      blocks.push_back(block);
      buffers.push_back(static_cast<char*>(block) + wanted.operand_shift);
      return {};
    };
    for (size_t i = 0; i < prepared.inputs.size(); ++i) {
      SHEAF_TRY(make(prepared.inputs[i]));
      pack(bytes, wanted.values[i], prepared.inputs[i]);
      SHEAF_TRY(driver->copy(copies, buffers.back(), 0, bytes, kHost, {prepared.inputs[i].bytes, 1, 0, 0}));
    }
    for (const TensorSpec& tensor : prepared.outputs) SHEAF_TRY(make(tensor));
    if (wanted.in_place >= 0) buffers[prepared.inputs.size()] = buffers[size_t(wanted.in_place)];
    void* scratch = nullptr;
    if (prepared.scratch_bytes != 0) {
      SHEAF_ASSIGN(scratch, driver->allocate(0, prepared.scratch_bytes + wanted.scratch_shift));
      blocks.push_back(scratch);
      scratch = static_cast<char*>(scratch) + wanted.scratch_shift;
    }
    Enqueue at;
    at.stream = stream;
    at.buffers = buffers.data();
    at.scratch = scratch;
    if (wanted.recorded) SHEAF_TRY(driver->begin_capture(stream));
    const auto enqueued = dynamic_cast<Operation&>(*prepared.executable).enqueue(at);
    if (wanted.recorded) {
      SHEAF_ASSIGN(auto graph, driver->end_capture(stream));
      SHEAF_TRY(driver->launch(stream, graph));
      driver->destroy(graph);
    }
    std::vector<Floats> results;
    for (size_t i = 0; enqueued && i < prepared.outputs.size(); ++i) {
      const TensorSpec& tensor = prepared.outputs[i];
      SHEAF_TRY(driver->copy(copies, bytes, kHost, buffers[prepared.inputs.size() + i], 0, {tensor.bytes, 1, 0, 0}));
      results.push_back(unpack(bytes, tensor));
    }
    for (void* block : blocks) driver->release(0, block);
    driver->release_pinned(host);
    driver->destroy(stream);
    driver->destroy(copies);
    if (!enqueued) return enqueued.error();
    return results;
  }

  std::map<std::string, size_t> live_before;
  std::unique_ptr<Driver> driver;
  std::unique_ptr<Library> library;
  std::string implementation, reason, cache;
};

}  // namespace sheaf::cuda
