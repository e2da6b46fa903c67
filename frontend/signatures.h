// The tables beside the layers': distributions, losses, optimizers, schedules. PyTorch's names and defaults.
#pragma once

#include "frontend/arguments.h"

#include <string>
#include <vector>

namespace sheaf::frontend {

struct Signature {
  std::string name;
  std::vector<Argument> arguments;
};

const std::vector<Signature>& distributions();
const std::vector<Signature>& losses();
const std::vector<Signature>& optimizers();
const std::vector<Signature>& schedules();
const std::vector<std::string>& metrics();

/// Checks {"type": NAME, arguments…} against `table`; the canonical object {"type", every argument} or empty
/// with problems added. `what` is "loss", `reserved` are further fields that belong to the caller.
std::optional<Json> check_signature(const std::vector<Signature>& table, const std::string& what, const LocatedNode& node,
                                    std::vector<std::string> reserved, Problems& problems);

}  // namespace sheaf::frontend
