// A device's name, as lists of devices and model files spell it.
#pragma once

#include <optional>
#include <string_view>

namespace sheaf {

/// One more than the largest index.
inline constexpr int kMostDevices = 1024;

struct DeviceName {
  std::string_view kind;     ///< "cuda" of "cuda:1"; in the text that was parsed
  std::optional<int> index;  ///< none: nothing follows the kind
};

/// "cpu", "cuda:0". None: no kind, or an index that isn't a plain number below kMostDevices.
std::optional<DeviceName> parse_device_name(std::string_view text);

/// The number of a device: digits without a sign or a leading zero. None: anything else.
std::optional<int> parse_device_index(std::string_view text);

}  // namespace sheaf
