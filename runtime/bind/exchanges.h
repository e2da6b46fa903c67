// Data that a step sends between distinct devices: tensors that could go together, in an operation of all of these devices.
#pragma once

#include "runtime/bind/bound_program.h"

#include <map>
#include <tuple>
#include <vector>

namespace sheaf {

/// A tensor of a step that goes to, or comes from, other devices.
struct Exchange {
  std::vector<InstanceId> copies;  ///< by their distant lane
  InstanceId at;                   ///< a broadcast's first use, or the maker of a gather's last part; none: available at once
  InstanceId sum;                  ///< the instance that adds the gathered parts, if the devices could add them themselves
};

/// Exchanges that could be one: their kind, their devices (the root's lane first), their dtype.
using Kinship = std::tuple<CollectiveRequest::Kind, std::vector<LaneId>, DType>;

/// The parameters that a step replicates and the gradients that return to the device that adds them, those of one kinship
/// in the order in which they are needed, or ready. Only between asynchronous devices of one kind with one lane each.
std::map<Kinship, std::vector<Exchange>> find_exchanges(const BoundProgram& program, const BindContext& context);

/// The tensor at the root's end of a copy, and the one at the other end.
TensorId near_end(const BoundProgram& program, CollectiveRequest::Kind kind, InstanceId copy);
TensorId far_end(const BoundProgram& program, CollectiveRequest::Kind kind, InstanceId copy);

/// The operand of `sum` that none of `copies` brings; none if there is none.
TensorId own_part(const BoundProgram& program, const Instance& sum, const std::vector<InstanceId>& copies);

}  // namespace sheaf
