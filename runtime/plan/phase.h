// The parts of a training step.
#pragma once

#include <optional>
#include <string_view>

namespace sheaf {

/// forward: up to the loss, and all of inference. backward: gradients, up to the parameters' own. update: computes new values
/// of parameters and the optimiser's state from them, and adds them up over micro-batches.
enum class Phase { forward, backward, update };

std::string_view name_of(Phase phase);
std::optional<Phase> phase_from_name(std::string_view name);

}  // namespace sheaf
