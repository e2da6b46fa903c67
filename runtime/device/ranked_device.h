// A device as one of a world: its process's own, or its stand-in in the others.
#pragma once

#include "runtime/device/device.h"

namespace sheaf {

/// `inner` as a device of `member`, whose memory is that rank's alone: its `number`-th, where those that share the host's have 0. If
/// that isn't here, it prepares operations as `inner` does, which is of the same kind, so that all processes make the same program of
/// a plan, and has no memory: what it allocates can't be touched.
std::shared_ptr<Device> ranked_device(std::shared_ptr<Device> inner, WorldMember member, int number = 0);

}  // namespace sheaf
