#include "runtime/bind/run_errors.h"

#include <algorithm>

namespace sheaf {
namespace {

std::string describe(const DeviceFailure& failure, Executor& executor, const RunNames& names) {
  int replica = -1;
  for (const LaneOperation& operation : executor.lane(failure.lane).operations) replica = std::max(replica, operation.replica);
  std::string where = "device " + names.devices.name(failure.lane) + ": ";
  if (replica >= 0 && !names.devices.host_only()) where = "replica " + std::to_string(replica) + " on " + where;
  if (failure.instance) {
    const OperationInfo& operation = names.operations[failure.instance.index()];
    where += operation.layer.empty() ? to_string(operation.op) + ": " : "layer '" + operation.layer + "': ";
  }
  return where + failure.error.message();
}

/// What devices reported.
Error device_error(Executor& executor, const RunNames& names) {
  const DeviceFailure& first = *executor.device_failure();
  Error error = first.error;
  error.diagnostics.front().message = describe(first, executor, names);
  for (const DeviceFailure* other : executor.device_failures()) {
    if (other != &first) error.note(describe(*other, executor, names));
  }
  return error;
}

}  // namespace

Error run_error(Executor& executor, const RunNames& names) {
  if (executor.device_failure()) return device_error(executor, names);
  const LaneFailure& failure = *executor.failure();
  std::string where;
  if (failure.replica >= 0 && !names.devices.host_only()) {
    where = "replica " + std::to_string(failure.replica) + " on device " +
            names.devices.entry_name(names.entries[failure.instance]) + ": ";
  }
  const OperationInfo& operation = names.operations[failure.instance.index()];
  return Error(where + "layer '" + operation.layer + "': " + std::string(failure.why()));
}

}  // namespace sheaf
