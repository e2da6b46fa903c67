// Devices as a model file names them.
#pragma once

#include "frontend/value.h"
#include "frontend/model.h"

#include <optional>
#include <string_view>

namespace sheaf::frontend {

/// "cpu", "cuda" (= "cuda:0") or "cuda:k"; empty for anything else. The location is left to the caller.
std::optional<DeviceRef> device_from_name(std::string_view name);

/// The inverse: "cpu" or "cuda:k".
std::string name_of(const DeviceRef& device);

/// Reads a layer's "device"; empty if absent, unknown, or (with a problem) not a device.
std::optional<DeviceRef> read_device(const JsonValue& value, Problems& problems);

}  // namespace sheaf::frontend
