// The number of launches that a planned binding makes: what lowering merges (launches.h), found without executables.
#pragma once

#include "runtime/bind/planned_binding.h"
#include "runtime/device/device_set.h"

namespace sheaf {

/// By instance: the launches that it puts into its lane's queue (launches_of(); 1 for a copy). 0: it is left out, prints, or
/// is part of an earlier one's launch: generated kernels that a device merges (Device::merge), i.e. the same kernel, over
/// elements, several times in a row, none of which writes what another touches (or the same
/// change of dtype). On lanes that are not asynchronous, all 1.
IdVector<InstanceId, int> planned_launches(const PlannedBinding& planned, const Plan& plan, const Program& program,
                                           const DeviceSet& devices);

}  // namespace sheaf
