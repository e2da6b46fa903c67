// Opens device lists: the one place that knows every backend.
#pragma once

#include "runtime/device/device_set.h"

namespace sheaf {

/// Opens the device that `spec` names. Errors: no backend of this kind in this build, or no such device.
Result<std::shared_ptr<Device>> open_device(const DeviceSpec& spec);

/// A device for a binding that is only planned (runtime/bind/planned_binding.h): it prepares operations and has neither memory
/// nor queues. `why`: why the device of `spec` isn't opened, as info().planned reports. `model`: which device, one that its
/// backend describes; empty: the backend chooses. Errors: this kind has no such device.
Result<std::shared_ptr<Device>> plan_device(const DeviceSpec& spec, const std::string& why, const std::string& model = {});

/// All names for --device-model.
std::vector<std::string> device_models();

/// Opens each device of a parsed list. `threads`: 0 = all CPUs that the process may use. `shards`: as in DeviceSet. `world`: of
/// which a list with ranks names the devices; those of other processes stand for themselves; then all ranks call it together, since
/// they link their devices where they can (runtime/session/transport.h). Errors: ranks without a world, or of devices that can't be
/// in one.
Result<DeviceSet> open_devices(const std::vector<DeviceSpec>& list, int threads = 0, int shards = 0,
                               std::shared_ptr<World> world = nullptr);

/// The same with all ranks of the list in this process, as if it were several: for verification.
Result<DeviceSet> open_all_ranks(const std::vector<DeviceSpec>& list, int threads = 0, int shards = 0);

/// The same for bindings that are only planned: if a device can't be opened, its kind's devices are planned for instead. With
/// `model`, devices of its kind are not opened but planned for as that model. Errors: the list has none of that kind.
Result<DeviceSet> plan_devices(const std::vector<DeviceSpec>& list, int threads = 0, int shards = 0,
                               const std::string& model = {});

}  // namespace sheaf
