// The backends under test, and a device buffer that goes away by itself.
#pragma once

#include "runtime/device/device.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace sheaf {

/// One for each kind of device that this machine has.
inline std::vector<std::string> backends() {
  std::vector<std::string> found;
  for (const char* name : {"cpu:0", "cuda:0"}) {
    auto list = parse_devices(name);
    if (list && open_device(list->front())) found.emplace_back(name);
  }
  return found;
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
    auto opened = open_device(parse_devices(GetParam())->front());
    ASSERT_TRUE(opened);
    device = *opened;
    auto made = device->open_queue(2);
    ASSERT_TRUE(made);
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

  std::shared_ptr<Device> device;
  std::unique_ptr<Queue> queue;
};

}  // namespace sheaf
