// A device that has the few operations that training programs written by hand are made of.
#pragma once

#include "runtime/device/device_set.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/plan/op_list.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace sheaf {

/// The CPU with operations of the tests' own, each a function of its buffers (inputs, then outputs) and their sizes.
class TrainingDevice : public Device {
 public:
  using Function = std::function<void(void* const* buffers, const std::vector<int64_t>& counts)>;

  const DeviceInfo& info() const override { return cpu_device()->info(); }
  int memory_space() const override { return 0; }
  Result<void*> allocate(size_t bytes) override { return cpu_device()->allocate(bytes); }
  void release(void* memory) override { cpu_device()->release(memory); }
  Result<std::unique_ptr<Queue>> open_queue(int threads, Seconds deadline) override {
    return cpu_device()->open_queue(threads, deadline);
  }
  Result<std::unique_ptr<Event>> make_event() override { return cpu_device()->make_event(); }
  Result<std::shared_ptr<const Kernels>> load_kernels(const Plan& plan) override { return cpu_device()->load_kernels(plan); }
  Result<Prepared> prepare_reorder(const TensorSpec& from, const TensorSpec& to, int threads) override {
    return cpu_device()->prepare_reorder(from, to, threads);
  }
  Result<Prepared> prepare(const PrepareRequest& request) override {
    const auto own = functions().find(request.step.type);
    if (request.step.op != Op::layer || own == functions().end()) return cpu_device()->prepare(request);
    for (const bool constant : request.constant) constants_seen |= constant;
    Prepared prepared;
    std::vector<int64_t> counts;
    for (const auto* specs : {&request.inputs, &request.outputs}) {
      for (const TensorSpec& spec : *specs) {
        counts.push_back(element_count(spec));
        (specs == &request.inputs ? prepared.inputs : prepared.outputs).push_back(plain_tensor(spec.dtype, spec.dims));
      }
    }
    if (request.step.attributes.contains("in_place")) prepared.in_place = {{0, 0}};
    prepared.can_fail = request.step.type == "refuse";
    prepared.executable = std::make_unique<Own>(own->second, std::move(counts), prepared.can_fail);
    return prepared;
  }
  bool constants_seen = false;             ///< an operation was told that an input never changes
  static inline std::atomic<int> ones{0};  ///< how often "one" ran
  /// By name; devices that have the same operations in another form take them from here.
  static const std::map<std::string, Function>& functions();

 private:
  struct Own : Executable {
    Own(Function function, std::vector<int64_t> counts, bool can_fail)
        : function(std::move(function)), counts(std::move(counts)), can_fail(can_fail) {}
    void run(void* const* buffers, void*) override {
      function(buffers, counts);
      bad = can_fail && static_cast<float*>(buffers[counts.size() - 1])[0] != 0;
    }
    bool failed() const override { return bad; }
    std::string failure() const override { return bad ? "it doesn't like what it sees" : ""; }
    Function function;
    std::vector<int64_t> counts;
    bool can_fail, bad = false;
  };
};

inline const std::map<std::string, TrainingDevice::Function>& TrainingDevice::functions() {
  using Counts = const std::vector<int64_t>&;
  const auto f = [](void* const* buffers, size_t i) { return static_cast<float*>(buffers[i]); };
  static const std::map<std::string, Function> all = {
      // x [rows, n], w [n] → y [rows]
      {"rows_times",
       [=](void* const* b, Counts c) {
         for (int64_t i = 0; i < c[2]; ++i) {
           f(b, 2)[i] = 0;
           for (int64_t j = 0; j < c[1]; ++j) f(b, 2)[i] += f(b, 0)[i * c[1] + j] * f(b, 1)[j];
         }
       }},
      // x [rows, n], dy [rows] → dw [n]; its name makes it one whose sum over no rows is zero
      {"rows_times_backward",
       [=](void* const* b, Counts c) {
         std::memset(b[2], 0, static_cast<size_t>(c[2]) * 4);
         for (int64_t i = 0; i < c[1]; ++i) {
           for (int64_t j = 0; j < c[2]; ++j) f(b, 2)[j] += f(b, 0)[i * c[2] + j] * f(b, 1)[i];
         }
       }},
      // y, t → loss, the sum of the squares of the differences
      {"squares",
       [=](void* const* b, Counts c) {
         float sum = 0;
         for (int64_t i = 0; i < c[0]; ++i) sum += (f(b, 0)[i] - f(b, 1)[i]) * (f(b, 0)[i] - f(b, 1)[i]);
         f(b, 2)[0] = sum;
       }},
      // a, b → a - b
      {"minus",
       [=](void* const* b, Counts c) {
         for (int64_t i = 0; i < c[2]; ++i) f(b, 2)[i] = f(b, 0)[i] - f(b, 1)[i];
       }},
      // m, g → m / 2 + g
      {"halve_and_add",
       [=](void* const* b, Counts c) {
         for (int64_t i = 0; i < c[2]; ++i) f(b, 2)[i] = f(b, 0)[i] / 2 + f(b, 1)[i];
       }},
      // w, m, lr → w - lr m
      {"descend",
       [=](void* const* b, Counts c) {
         for (int64_t i = 0; i < c[3]; ++i) f(b, 3)[i] = f(b, 0)[i] - f(b, 2)[0] * f(b, 1)[i];
       }},
      // The same, but it makes use of its output before it is done with its inputs.
      {"descend_apart",
       [=](void* const* b, Counts c) {
         for (int64_t i = 0; i < c[3]; ++i) f(b, 3)[i] = f(b, 2)[0] * f(b, 1)[i];
         for (int64_t i = 0; i < c[3]; ++i) f(b, 3)[i] = f(b, 0)[i] - f(b, 3)[i];
       }},
      // x [rows, n] → its first row, or zeros
      {"first_row",
       [=](void* const* b, Counts c) {
         for (int64_t j = 0; j < c[1]; ++j) f(b, 1)[j] = j < c[0] ? f(b, 0)[j] : 0;
       }},
      // w → w, read late
      {"slow_copy",
       [=](void* const* b, Counts c) {
         std::this_thread::sleep_for(std::chrono::microseconds(400));
         std::memcpy(b[1], b[0], static_cast<size_t>(c[1]) * 4);
       }},
      // x → 1 where any element is above 900, else 0; fails there
      {"refuse",
       [=](void* const* b, Counts c) {
         std::this_thread::sleep_for(std::chrono::milliseconds(2));
         f(b, 1)[0] = 0;
         for (int64_t i = 0; i < c[0]; ++i) {
           if (f(b, 0)[i] > 900) f(b, 1)[0] = 1;
         }
       }},
      {"one",
       [=](void* const* b, Counts) {
         f(b, 0)[0] = 1;
         ++ones;
       }},
  };
  return all;
}

/// The device list "host, entries" of `count` entries that share the host's memory; none: host-only mode.
inline std::shared_ptr<const DeviceSet> training_devices(int count,
                                                         std::shared_ptr<Device> device = std::make_shared<TrainingDevice>()) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back("cpu:" + std::to_string(i));
  return std::make_shared<const DeviceSet>(device, std::vector<std::shared_ptr<Device>>(size_t(count), device), names, 1);
}

}  // namespace sheaf
