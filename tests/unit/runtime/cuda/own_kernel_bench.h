// Runs operations made of the project's own kernels on a virtual GPU, or on GPU 0 where the environment says SHEAF_OWN_KERNELS_ON=cuda (the GPU
// suite's way).
#pragma once

#include "runtime/cuda/kernels/embedded.h"
#include "runtime/cuda/nvidia_backend.h"
#include "runtime/cuda/own_operations.h"
#include "tests/sim/emulated_module.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <random>

namespace sheaf::cuda {

using Bytes = std::vector<std::byte>;

template <typename T>
Bytes bytes_of(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}
template <typename T>
std::vector<T> values_of(const Bytes& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

template <typename T>
std::vector<T> random_values(size_t count, unsigned seed, float mean = 0) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<T> values;
  for (size_t i = 0; i < count; ++i) values.push_back(T(normal(random) + mean));
  return values;
}

class OwnKernelTest : public testing::Test {
 protected:
  void SetUp() override {
    if (embedded_ptx().empty()) GTEST_SKIP() << "this build was made without nvcc";
    const char* on = std::getenv("SHEAF_OWN_KERNELS_ON");
    if (on && std::string(on) == "cuda") {
#ifdef SHEAF_CUDA_BACKEND
      auto backend = nvidia_backend();
      ASSERT_TRUE(backend) << backend.error().message();
      driver_ = &(*backend)->driver();
      ASSERT_TRUE(driver_->make_current(0));
#else
      FAIL() << "this build has no CUDA backend";
#endif
    } else {
      sim::SimOptions options;
      options.violation = [](const std::string& text) { ADD_FAILURE() << text; };
      options.load = sim::emulated_module;
      virtual_ = std::make_unique<sim::SimDriver>(options);
      driver_ = virtual_.get();
    }
    auto opened = OwnKernels::open(*driver_, 0);
    ASSERT_TRUE(opened) << opened.error().message();
    kernels_ = *opened;
    auto stream = driver_->make_stream(0);
    ASSERT_TRUE(stream) << stream.error().message();
    stream_ = *stream;
  }
  void TearDown() override {
    for (void* memory : allocated_) driver_->release(0, memory);
    kernels_.reset();
    if (stream_) driver_->destroy(stream_);
  }

  /// The contents of `inputs` and `outputs` after the operation; with `guard`, for an operation as the queue would launch it.
  /// Buffers begin `shift` bytes after an aligned address.
  std::vector<Bytes> run(Operation& operation, const std::vector<Bytes>& inputs, const std::vector<Bytes>& outputs,
                         size_t scratch_bytes = 0, const int32_t* guard = nullptr, size_t shift = 0) {
    std::vector<void*> buffers;
    std::vector<Access> accesses = operation.own;
    const auto place = [&](const Bytes& bytes, bool writes) {
      char* memory = static_cast<char*>(allocate(bytes.size() + shift)) + shift;
      upload(memory, bytes);
      buffers.push_back(memory);
      accesses.push_back({memory, bytes.size(), writes});
    };
    for (const Bytes& bytes : inputs) place(bytes, false);
    for (const Bytes& bytes : outputs) place(bytes, true);
    Enqueue at;
    at.stream = stream_;
    at.buffers = buffers.data();
    at.scratch = allocate(scratch_bytes);
    if (scratch_bytes != 0) accesses.push_back({at.scratch, scratch_bytes, true});
    flag_ = static_cast<int32_t*>(allocate(sizeof(int32_t)));
    upload(flag_, bytes_of(std::vector<int32_t>{0}));
    at.flag = flag_;
    accesses.push_back({flag_, sizeof(int32_t), true});
    if (guard) {
      auto* memory = static_cast<int32_t*>(allocate(sizeof(int32_t)));
      upload(memory, bytes_of(std::vector<int32_t>{*guard}));
      at.guard = memory;
      accesses.push_back({memory, sizeof(int32_t), false});
    }
    driver_->watch(stream_, accesses, "operation under test");
    const auto enqueued = operation.enqueue(at);
    EXPECT_TRUE(enqueued) << enqueued.error().message();
    finish();
    std::vector<Bytes> results;
    for (size_t i = 0; i < outputs.size(); ++i) results.push_back(download(buffers[inputs.size() + i], outputs[i].size()));
    return results;
  }
  std::vector<Bytes> run(Prepared& prepared, const std::vector<Bytes>& inputs, const std::vector<Bytes>& outputs,
                         const int32_t* guard = nullptr, size_t shift = 0) {
    auto* operation = dynamic_cast<Operation*>(prepared.executable.get());
    EXPECT_NE(operation, nullptr);
    return operation ? run(*operation, inputs, outputs, prepared.scratch_bytes, guard, shift) : outputs;
  }
  std::vector<Bytes> run(std::vector<KernelCall> calls, const std::vector<Bytes>& inputs, const std::vector<Bytes>& outputs,
                         size_t scratch_bytes = 0, size_t shift = 0) {
    KernelOperation operation(kernels_, std::move(calls), false);
    return run(operation, inputs, outputs, scratch_bytes, nullptr, shift);
  }
  int32_t flag() { return values_of<int32_t>(download(flag_, sizeof(int32_t)))[0]; }

  void* allocate(size_t bytes) {
    auto memory = driver_->allocate(0, bytes + 256);
    EXPECT_TRUE(memory) << memory.error().message();
    allocated_.push_back(*memory);
    return *memory;
  }

  Driver* driver_ = nullptr;
  std::shared_ptr<OwnKernels> kernels_;
  Stream stream_ = nullptr;

  void upload(void* to, const Bytes& bytes) { transfer(to, bytes.data(), bytes.size(), nullptr); }
  Bytes download(const void* from, size_t size) {
    Bytes bytes(size);
    transfer(nullptr, from, size, bytes.data());
    return bytes;
  }
  void transfer(void* device_to, const void* from, size_t size, std::byte* host_to) {
    if (size == 0) return;
    auto pinned = driver_->allocate_pinned(size);
    ASSERT_TRUE(pinned) << pinned.error().message();
    const CopyShape shape{size, 1, size, size};
    if (device_to) {
      std::memcpy(*pinned, from, size);
      ASSERT_TRUE(driver_->copy(stream_, device_to, 0, *pinned, kHost, shape));
      finish();
    } else {
      ASSERT_TRUE(driver_->copy(stream_, *pinned, kHost, from, 0, shape));
      finish();
      std::memcpy(host_to, *pinned, size);
    }
    driver_->release_pinned(*pinned);
  }
  void finish() {
    while (true) {
      auto done = driver_->done(stream_);
      ASSERT_TRUE(done) << done.error().message();
      if (*done) return;
    }
  }

 private:
  std::unique_ptr<sim::SimDriver> virtual_;
  std::vector<void*> allocated_;
  int32_t* flag_ = nullptr;
};

/// The step that an operation is prepared for.
struct TestStep {
  TestStep(Op op, std::vector<std::string> roles, std::vector<TensorSpec> inputs, std::vector<TensorSpec> outputs,
           Json attributes = Json::object())
      : inputs(std::move(inputs)), outputs(std::move(outputs)) {
    step.op = op;
    step.roles = std::move(roles);
    step.attributes = std::move(attributes);
  }
  PrepareRequest request() const { return {step, plan, inputs, outputs, 1, false, {}}; }

  Step step;
  Plan plan;
  std::vector<TensorSpec> inputs, outputs;
};

}  // namespace sheaf::cuda
