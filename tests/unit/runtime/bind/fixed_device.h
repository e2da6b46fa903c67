// A device for tests of binding: it prepares everything, in the same way on each machine, and runs nothing.
#pragma once

#include "runtime/device/device_set.h"
#include "runtime/plan/op_list.h"

#include <memory>
#include <string>
#include <vector>

namespace sheaf {

class FixedFormat final : public Format {
 public:
  bool equals(const Format& other) const override { return other.name() == name(); }
  std::string name() const override { return "blocked"; }
};

class FixedDevice final : public Device {
 public:
  explicit FixedDevice(int memory_space) : space_(memory_space) {
    info_.kind = space_ == 0 ? "cpu" : "gpu";
    info_.asynchronous = info_.looks_up_numbers = space_ != 0;
    info_.shares_host_memory = info_.uses_host_cores = space_ == 0;
  }
  const DeviceInfo& info() const override { return info_; }
  int memory_space() const override { return space_; }
  Result<void*> allocate(size_t) override { return nothing(); }
  void release(void*) override {}
  Result<std::unique_ptr<Queue>> open_queue(int, Seconds) override { return nothing(); }
  Result<std::unique_ptr<Event>> make_event() override { return nothing(); }
  Result<std::shared_ptr<const Kernels>> load_kernels(const Plan&) override { return nothing(); }

  /// A convolution wants a blocked weight; a kernel may write its first output over its first input; the check of the loss may
  /// fail.
  Result<Prepared> prepare(const PrepareRequest& request) override {
    Prepared prepared;
    const Op op = request.step.op;
    for (const TensorSpec& input : request.inputs) prepared.inputs.push_back(plain_tensor(input.dtype, input.dims));
    for (const TensorSpec& output : request.outputs) prepared.outputs.push_back(plain_tensor(output.dtype, output.dims));
    if (op == Op::conv) prepared.inputs[1] = same_layout(prepared.inputs[1], DType::float32, blocked_);
    if (op == Op::kernel) prepared.in_place = {{0, 0}};
    prepared.can_fail = op == Op::check_finite;
    prepared.implementation = "fixed";
    return prepared;
  }
  Result<Prepared> prepare_reorder(const TensorSpec& from, const TensorSpec& to, int) override {
    Prepared prepared;
    prepared.inputs = {from};
    prepared.outputs = {to};
    return prepared;
  }
  Result<Prepared> prepare_numbers(const TensorSpec& bytes, const TensorSpec& to, std::span<const float>) override {
    return prepare_reorder(bytes, to, 1);
  }
  TensorSpec same_layout(const TensorSpec& tensor, DType dtype) override { return same_layout(tensor, dtype, tensor.format); }
  Result<std::vector<Prepared>> prepare_collective(const CollectiveRequest&, std::span<Device* const> members) override {
    std::vector<Prepared> prepared(members.size());
    for (Prepared& own : prepared) own.implementation = "fixed";
    return prepared;
  }

 private:
  static TensorSpec same_layout(const TensorSpec& tensor, DType dtype, std::shared_ptr<const Format> format) {
    TensorSpec spec = plain_tensor(dtype, tensor.dims);
    spec.format = std::move(format);
    return spec;
  }
  static Error nothing() { return Error("this device is only planned for"); }

  int space_;
  DeviceInfo info_;
  std::shared_ptr<const Format> blocked_ = std::make_shared<FixedFormat>();
};

/// The host, and `cpus` CPU devices; or `gpus` devices with a memory each, whose queues return at once.
inline DeviceSet fixed_devices(int cpus, int gpus = 0) {
  const auto host = std::make_shared<FixedDevice>(0);
  std::vector<std::shared_ptr<Device>> entries;
  std::vector<std::string> names;
  for (int i = 0; i < cpus; ++i) {
    entries.push_back(std::make_shared<FixedDevice>(0));
    names.push_back("cpu:" + std::to_string(i));
  }
  for (int i = 0; i < gpus; ++i) {
    entries.push_back(std::make_shared<FixedDevice>(i + 1));
    names.push_back("gpu:" + std::to_string(i));
  }
  return DeviceSet(host, std::move(entries), std::move(names), 1);
}

}  // namespace sheaf
