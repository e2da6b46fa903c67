// Parameter groups of an optimizer: parameters with their own learning rate or weight decay, as in torch.optim.
#pragma once

#include "frontend/arguments.h"

#include <optional>
#include <vector>

namespace sheaf::frontend {

/// Reads an optimizer's "parameter_groups": [{"parameters": [PATTERN…], "types": [LAYER TYPE…], "lr": …, "weight_decay": …}]. A
/// pattern is a parameter's full name, a layer's (all of its parameters), or has * (any characters) and ? (any one); `module.`
/// parts may be left out. The result lists each group's trained parameters by full name, in the model's order; a tied one
/// counts under the name of the one it is tied to. `optimizer`: the arguments that a group may override. `graph` null: the
/// layers aren't known, and no pattern is looked up. Problems, each at its place: an item that matches no trained parameter, or
/// one of an earlier group; a group that changes nothing.
std::optional<Json> read_parameter_groups(const LocatedNode& list, const std::vector<Argument>& optimizer, const Graph* graph,
                                          Problems& problems);

}  // namespace sheaf::frontend
