// What a step sends between distinct devices: tensors that could go together, in an operation of all of these devices.
#pragma once

#include "runtime/bind/graph.h"

#include <map>
#include <tuple>
#include <vector>

namespace sheaf {

/// A tensor of a step that goes to, or comes from, other devices.
struct Exchange {
  std::vector<int> copies;  ///< instances, by their distant lane
  int at = 0;               ///< instance: a broadcast's first use, or what makes the last part of a gather
  int sum = -1;             ///< the instance that adds what is gathered, where the devices could do that themselves
};

/// Those that could be one: what they are, their devices (the root's lane first), their dtype.
using Kinship = std::tuple<CollectiveRequest::Kind, std::vector<int>, DType>;

/// The parameters that a step replicates and the gradients that come back to the device that adds them, those of one kinship
/// in the order in which they are needed, or ready. Only between asynchronous devices of one kind that have one lane each.
std::map<Kinship, std::vector<Exchange>> find_exchanges(const Graph& graph, const BindContext& context);

/// The tensor at the root's end of a copy, and that at the other.
int near_end(const Graph& graph, CollectiveRequest::Kind kind, int copy);
int far_end(const Graph& graph, CollectiveRequest::Kind kind, int copy);

/// The operand of `sum` that none of `copies` brings; -1: there is none.
int own_part(const Graph& graph, const Instance& sum, const std::vector<int>& copies);

}  // namespace sheaf
