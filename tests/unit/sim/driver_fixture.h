// Two virtual GPUs for their driver's tests: two streams each, memory, and reports of misuse.
#pragma once

#include "tests/sim/host_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sheaf::sim {

inline constexpr size_t kBytes = 64;
inline constexpr CopyShape kAll = {kBytes, 1, kBytes, kBytes};

class SimDriverTest : public ::testing::Test {
 protected:
  SimDriverTest() {
    SimOptions options;
    options.memory_bytes = 1 << 20;
    options.violation = [this](const std::string& text) { found.push_back(text); };
    // add_one(x, y): y = x + 1, 16 int32 each
    std::map<std::string, HostKernel> kernels;
    kernels["add_one"] = {
        2, [](const cuda::Launch&, std::span<const uint64_t> arguments, OperationMemory& memory) -> Result<void> {
          const auto* x = static_cast<const int32_t*>(memory.access(arguments[0], kBytes, false));
          auto* y = static_cast<int32_t*>(memory.access(arguments[1], kBytes, true));
          if (!x || !y) return Error("an illegal memory access was encountered");
          for (size_t i = 0; i < kBytes / 4; ++i) y[i] = x[i] + 1;
          return {};
        }};
    options.load = [kernels](const std::string&) -> Result<std::shared_ptr<const KernelCode>> {
      return std::shared_ptr<const KernelCode>(std::make_shared<HostKernels>(kernels));
    };
    driver = std::make_unique<SimDriver>(std::move(options));
    for (int i = 0; i < 2; ++i) {
      for (int k = 0; k < 2; ++k) streams[i][k] = *driver->make_stream(i);
      modules[i] = *driver->load(i, "");
      functions[i] = *driver->function(i, modules[i], "add_one");
      events[i] = *driver->make_event(i, false);
      x[i] = static_cast<char*>(*driver->allocate(i, kBytes));
      y[i] = static_cast<char*>(*driver->allocate(i, kBytes));
    }
    host = static_cast<int32_t*>(*driver->allocate_pinned(kBytes));
    back = static_cast<int32_t*>(*driver->allocate_pinned(kBytes));
    for (size_t i = 0; i < kBytes / 4; ++i) host[i] = static_cast<int32_t>(i);
  }

  /// `announced`: the bytes of `to` that watch() is told of.
  void add_one(int device, cuda::Stream stream, void* from, void* to, const char* what = "add one", size_t announced = kBytes) {
    const cuda::Access accesses[] = {{from, kBytes, false}, {to, announced, true}};
    driver->watch(stream, accesses, what);
    void* arguments[] = {&from, &to};
    cuda::Launch launch;
    launch.function = functions[device];
    launch.arguments = arguments;
    if (auto ok = driver->launch(stream, launch); !ok) last_error = ok.error().message();
  }
  void up(cuda::Stream stream, int device, void* to) { ASSERT_TRUE(driver->copy(stream, to, device, host, cuda::kHost, kAll)); }
  void down(cuda::Stream stream, int device, void* from) {
    ASSERT_TRUE(driver->copy(stream, back, cuda::kHost, from, device, kAll));
  }
  /// True when it is done; false if it can't finish.
  bool synchronize(cuda::Stream stream) {
    for (int i = 0; i < 1000; ++i) {
      auto done = driver->done(stream);
      if (!done) {
        last_error = done.error().message();
        return false;
      }
      if (*done) return true;
    }
    return false;
  }
  /// Releases everything, and returns the reports so far.
  std::vector<std::string> finish() {
    for (int i = 0; i < 2; ++i) {
      for (int k = 0; k < 2; ++k) {
        synchronize(streams[i][k]);
        driver->destroy(streams[i][k]);
      }
      driver->unload(i, modules[i]);
      driver->destroy(events[i]);
      driver->release(i, x[i]);
      driver->release(i, y[i]);
    }
    driver->release_pinned(host);
    driver->release_pinned(back);
    driver.reset();
    return found;
  }

  std::vector<std::string> found;
  std::unique_ptr<SimDriver> driver;
  cuda::Stream streams[2][2];
  cuda::Module modules[2];
  cuda::Function functions[2];
  cuda::DriverEvent events[2];
  char *x[2], *y[2];
  int32_t *host, *back;
  std::string last_error;
};

}  // namespace sheaf::sim
