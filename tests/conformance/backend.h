// The backends under test, and a device buffer that frees itself.
#pragma once

#include "runtime/device/device.h"
#include "runtime/plan/plan.h"
#include "runtime/session/open_devices.h"
#include "tests/sim/sim_machine.h"

#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace sheaf {

/// The CPU, a virtual GPU, and a real one if this machine has it.
inline std::vector<std::string> backends() {
  std::vector<std::string> found = {"cpu:0", "sim:0"};
  if (open_device(parse_devices("cuda:0")->front())) found.emplace_back("cuda:0");
  return found;
}

/// Opens devices and lists of a backend, and reports what is done wrong to a virtual GPU.
class Opener {
 public:
  explicit Opener(const std::string& backend) {
    if (backend != "sim:0") return;
    sim::MachineOptions options;
    options.driver.violation = [](const std::string& text) { ADD_FAILURE() << text; };
    machine_ = std::make_unique<sim::SimMachine>(options);
  }
  Result<std::shared_ptr<Device>> device(const std::string& backend) {
    if (machine_) return machine_->device(0);
    return open_device(parse_devices(backend)->front());
  }
  std::shared_ptr<const DeviceSet> list(const std::string& names) {
    if (machine_) return machine_->list(names);
    auto opened = open_devices(*parse_devices(names));
    if (!opened) throw std::runtime_error(to_string(opened.error()));
    return std::make_shared<const DeviceSet>(std::move(*opened));
  }

 private:
  std::unique_ptr<sim::SimMachine> machine_;
};

/// The contents of the file that an environment variable names (on a machine other than the one that built it), else of
/// `built`.
inline std::string content(const char* variable, const char* built) {
  const char* named = std::getenv(variable);
  const std::string file = named ? named : built;
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw std::runtime_error(file + " is not there (" + variable + " names it)");
  std::stringstream bytes;
  bytes << stream.rdbuf();
  return bytes.str();
}

/// The kernels of kernels.c and kernels.ptx.
inline void add_kernels(Plan& plan) {
  plan.objects = {{"x86-64-v3", content("SHEAF_KERNELS", SHEAF_KERNELS)},
                  {kPtxObject, content("SHEAF_GPU_KERNELS", SHEAF_GPU_KERNELS)}};
  plan.kernels = {{"double_and_add", "2x + c", 1, true, {}, 128, 128},
                  {"add", "a + b", 0, false, {}, 128, 128},
                  {"lookup", "table[i]", 1, false, {}, 128, 128}};
}

class Buffer {
 public:
  Buffer(Device& device, size_t bytes) : device_(device) {
    auto allocated = device.allocate(bytes);
    if (!allocated) throw std::runtime_error(to_string(allocated.error()));
    memory_ = *allocated;
  }
  ~Buffer() { device_.release(memory_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  void* get() const { return memory_; }

 private:
  Device& device_;
  void* memory_;
};

class BackendTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    auto opened = opener.device(GetParam());
    ASSERT_TRUE(opened) << to_string(opened.error());
    device = *opened;
    auto made = device->open_queue(2);
    ASSERT_TRUE(made) << to_string(made.error());
    queue = std::move(*made);
  }

  template <typename T>
  void upload(const Buffer& buffer, const std::vector<T>& values) {
    queue->copy(buffer.get(), values.data(), {values.size() * sizeof(T), 1, 0, 0});
    ASSERT_TRUE(queue->synchronize());
  }
  template <typename T>
  std::vector<T> download(const Buffer& buffer, size_t count) {
    std::vector<T> values(count);
    queue->copy(values.data(), buffer.get(), {count * sizeof(T), 1, 0, 0});
    EXPECT_TRUE(queue->synchronize());
    return values;
  }

  Opener opener{GetParam()};
  std::shared_ptr<Device> device;
  std::unique_ptr<Queue> queue;
};

}  // namespace sheaf
