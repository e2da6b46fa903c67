#include "profile.h"

#include "runtime/cpu/cpu_device.h"
#include "runtime/data/tensor.h"

#include <algorithm>
#include <chrono>

namespace sheaf::bench {
namespace {

using Clock = std::chrono::steady_clock;

class TimedExecutable final : public Executable {
 public:
  TimedExecutable(std::unique_ptr<Executable> executable, std::shared_ptr<Timing> timing)
      : executable_(std::move(executable)), timing_(std::move(timing)) {}
  void run(void* const* buffers, void* scratch) override {
    const auto start = Clock::now();
    executable_->run(buffers, scratch);
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    timing_->seconds = timing_->runs++ == 0 ? seconds : std::min(timing_->seconds, seconds);
  }
  std::string failure() const override { return executable_->failure(); }
  bool failed() const override { return executable_->failed(); }

 private:
  std::unique_ptr<Executable> executable_;
  std::shared_ptr<Timing> timing_;
};

/// Of a convolution or linear layer, any of its three products: two for each element of the layer's output and of the
/// weight's row that makes it.
double operations_of(const PrepareRequest& request) {
  const std::string& op = request.step.op;
  const TensorSpec *y = nullptr, *weight = nullptr;
  if (op == "conv" || op == "linear") {
    y = &request.outputs[0], weight = &request.inputs[1];
  } else if (op == "conv_backward_data" || op == "linear_backward_data") {
    y = &request.inputs[0], weight = &request.inputs[1];
  } else if (op == "conv_backward_weight" || op == "linear_backward_weight") {
    y = &request.inputs[1], weight = &request.outputs[0];
  }
  if (!y || weight->dims.empty() || weight->dims[0] == 0) return 0;
  return 2.0 * static_cast<double>(element_count(*y)) * static_cast<double>(element_count(*weight) / weight->dims[0]);
}

std::string kernel_description(const PrepareRequest& request) {
  for (const Kernel& kernel : request.plan.kernels) {
    if (kernel.name == request.step.kernel) return kernel.name + ": " + kernel.description;
  }
  return request.step.kernel;
}

}  // namespace

Result<Prepared> ProfiledDevice::timed(Result<Prepared> prepared, Timing timing) {
  if (!prepared || !prepared->executable) return prepared;
  const std::string kernel = std::move(timing.implementation);
  timing.implementation = kernel.empty() ? prepared->implementation : kernel;
  for (const auto* operands : {&prepared->inputs, &prepared->outputs}) {
    for (const TensorSpec& tensor : *operands) timing.bytes += static_cast<double>(tensor.bytes);
  }
  timings_.push_back(std::make_shared<Timing>(std::move(timing)));
  prepared->executable = std::make_unique<TimedExecutable>(std::move(prepared->executable), timings_.back());
  return prepared;
}

Result<Prepared> ProfiledDevice::prepare(const PrepareRequest& request) {
  Timing timing{.layer = request.step.layer, .op = request.step.op, .implementation = {}, .operations = operations_of(request)};
  if (request.step.op == "kernel") timing.implementation = kernel_description(request);
  return timed(device_->prepare(request), std::move(timing));
}

Result<Prepared> ProfiledDevice::prepare_reorder(const TensorSpec& from, const TensorSpec& to, int threads) {
  return timed(device_->prepare_reorder(from, to, threads), {.layer = shape_text(from.dims), .op = "reorder", .implementation = {}});
}

void ProfiledDevice::reset() {
  for (const auto& timing : timings_) timing->runs = 0;
}

std::vector<Timing> ProfiledDevice::timings() const {
  std::vector<Timing> ran;
  for (const auto& timing : timings_) {
    if (timing->runs) ran.push_back(*timing);
  }
  return ran;
}

Result<DeviceSet> profiled_devices(const std::vector<DeviceSpec>& list, int threads, ProfiledDevices& profiled) {
  const auto open = [&] { return profiled.emplace_back(std::make_shared<ProfiledDevice>(cpu_device())); };
  const auto host = open();
  const bool host_only = is_host_only(list);
  std::vector<std::shared_ptr<Device>> entries;
  std::vector<std::string> names;
  for (const DeviceSpec& spec : list) {
    if (host_only) break;  // the host serves for all
    if (spec.kind != DeviceKind::cpu) return Error("--profile takes CPU devices only");
    entries.push_back(list.size() == 1 ? host : open());
    names.push_back(to_string(spec));
  }
  return DeviceSet(host, std::move(entries), std::move(names), threads);
}

}  // namespace sheaf::bench
