// How messages go between devices of a world's processes: decided by all of them together.
#pragma once

#include "runtime/device/device_set.h"

namespace sheaf {

/// How long ranks' devices may take to join a link.
inline constexpr Seconds kLinking{30};

/// What a rank says of its first device.
struct LinkOffer {
  std::string device;     ///< as listed: "1/cuda:0"
  LinkIdentity identity;  ///< of a device that can be linked
  std::string why_not;    ///< of another: why it can't
};

/// Why devices with these offers, by rank, can't be linked; empty if they can.
std::string why_not_linked(const std::vector<LinkOffer>& offers);

/// The transport of a world of processes; opens the link if there is to be one. What stands against a direct one is no error, but
/// its `why_not`. All ranks together. Errors: the world's.
Result<Transport> agree_on_transport(const DeviceSet& devices, const WorldMember& own, Seconds limit = kLinking);

/// What that would be on machines where nothing stands against it, for bindings that are only planned.
Transport planned_transport(const DeviceSet& devices);

}  // namespace sheaf
