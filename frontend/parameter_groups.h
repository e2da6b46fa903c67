// Parameter groups of an optimizer: parameters with a learning rate or a weight decay of their own, as torch.optim has them.
#pragma once

#include "frontend/arguments.h"

#include <optional>
#include <vector>

namespace sheaf::frontend {

/// Reads an optimizer's "parameter_groups": [{"parameters": [PATTERN…], "types": [LAYER TYPE…], "lr": …, "weight_decay": …}]. A
/// pattern is a parameter's full name, a layer's (all of its parameters), or has * (any characters) and ? (any one); `module.`
/// parts may be left out. The result lists each group's trained parameters by full name, in the model's order; a tied one counts
/// under the name of what it is tied to. `optimizer`: the arguments that a group may have two of. `graph` null: the layers aren't
/// known, and no pattern is looked up.
/// Problems, each at its place: what matches no trained parameter, or one of an earlier group; a group that changes nothing.
std::optional<Json> read_parameter_groups(const LocatedNode& list, const std::vector<Argument>& optimizer, const Graph* graph,
                                          Problems& problems);

}  // namespace sheaf::frontend
