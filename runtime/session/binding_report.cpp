// What a binding says of itself, as plain data.
#include "runtime/session/binding_report.h"

namespace sheaf {

BindingReport report_of(const BindingInfo& info) {
  BindingReport report;
  for (const LaneInfo& lane : info.lanes)
    report.lanes.push_back({lane.name, lane.arena_bytes, lane.parameter_bytes, lane.derived_bytes, lane.operations});
  for (const OperationInfo& operation : info.operations) {
    report.operations.push_back({to_string(operation.op), operation.layer, operation.lane, operation.replica,
                                 operation.implementation, operation.reason});
  }
  report.parameter_bytes = info.parameter_bytes;
  report.derived_bytes = info.derived_bytes;
  report.choices = info.choices;
  return report;
}

}  // namespace sheaf
