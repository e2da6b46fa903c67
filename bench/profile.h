// Where a step's time goes: a device that passes everything to another one and times each operation that it makes.
#pragma once

#include "runtime/bind/device_set.h"
#include "runtime/device/device.h"

#include <memory>
#include <ostream>
#include <string>
#include <vector>

namespace sheaf::bench {

/// What an operation did since the last reset(). `seconds`: wall time of its fastest run, which other programs on the
/// machine disturb least.
struct Timing {
  std::string layer, op, implementation;
  double bytes = 0;       ///< of its operands and results
  double operations = 0;  ///< floating-point, of convolutions and linear layers; else 0
  double seconds = 0;
  int64_t runs = 0;
};

/// Not for lanes that share one ProfiledDevice: each lane gets its own, since they note times without a lock.
class ProfiledDevice final : public Device {
 public:
  explicit ProfiledDevice(std::shared_ptr<Device> device) : device_(std::move(device)) {}
  const DeviceInfo& info() const override { return device_->info(); }
  int memory_space() const override { return device_->memory_space(); }
  Result<void*> allocate(size_t bytes) override { return device_->allocate(bytes); }
  void release(void* memory) override { device_->release(memory); }
  Result<std::unique_ptr<Queue>> open_queue(int threads) override { return device_->open_queue(threads); }
  Result<std::unique_ptr<Event>> make_event() override { return device_->make_event(); }
  Result<std::shared_ptr<const Kernels>> load_kernels(const Plan& plan) override { return device_->load_kernels(plan); }
  Result<Prepared> prepare(const PrepareRequest& request) override;
  Result<Prepared> prepare_reorder(const TensorSpec& from, const TensorSpec& to, int threads) override;

  void reset();
  /// Operations that ran since reset(), in the order in which they were prepared.
  std::vector<Timing> timings() const;

 private:
  Result<Prepared> timed(Result<Prepared> prepared, Timing timing);

  std::shared_ptr<Device> device_;
  std::vector<std::shared_ptr<Timing>> timings_;
};

using ProfiledDevices = std::vector<std::shared_ptr<ProfiledDevice>>;

/// The list's CPU devices, each lane's timed by a device of its own; those are added to `profiled`. Errors: other
/// kinds of devices.
Result<DeviceSet> profiled_devices(const std::vector<DeviceSpec>& list, int threads, ProfiledDevices& profiled);

/// Tables by kind of operation, by layer, and of each operation; `call`: seconds of a whole call.
void print_profile(std::ostream& out, const ProfiledDevices& devices, double call);

}  // namespace sheaf::bench
