// The messages of a failed run.
#pragma once

#include "runtime/bind/bound_program.h"
#include "runtime/bind/operation_info.h"
#include "runtime/lanes/executor.h"

#include <vector>

namespace sheaf {

/// What the messages name. `entries`: by instance, of the device list; -1: the host.
struct RunNames {
  const DeviceSet& devices;
  const std::vector<OperationInfo>& operations;
  const IdVector<InstanceId, int>& entries;
};

/// Why the last run of `executor` failed: "replica i on device d: layer 'x': …". If several devices failed, all are named.
Error run_error(Executor& executor, const RunNames& names);

}  // namespace sheaf
