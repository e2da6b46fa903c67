// The tables besides the layers': distributions, losses, optimizers, schedules. Names and defaults are PyTorch's.
#pragma once

#include "frontend/arguments.h"

#include <string>
#include <vector>

namespace sheaf::frontend {

/// An input of a loss: an output of the model or a target, unless the model file's "inputs" say otherwise.
struct LossInput {
  std::string name;  ///< PyTorch's name of forward()'s parameter
  bool target = false;
};

struct Signature {
  std::string name;
  std::vector<Argument> arguments;
  std::vector<LossInput> inputs = {};  ///< of losses, in the order of PyTorch's forward()
};

const std::vector<Signature>& distributions();
const std::vector<Signature>& losses();
const std::vector<Signature>& optimizers();
const std::vector<Signature>& schedules();
const std::vector<std::string>& metrics();

/// The arguments of a "loss_scale" that isn't a number: torch.amp.GradScaler's.
const std::vector<Argument>& loss_scale_arguments();

/// Checks {"type": NAME, arguments…} against `table`; returns the canonical object {"type", every argument}, or nothing with
/// problems added. `what` is "loss"; `reserved` lists further fields that belong to the caller.
std::optional<Json> check_signature(const std::vector<Signature>& table, const std::string& what, const LocatedNode& node,
                                    std::vector<std::string> reserved, Problems& problems);

}  // namespace sheaf::frontend
