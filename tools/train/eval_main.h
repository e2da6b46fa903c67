// `sheaf eval`: loss and metrics of a model on rows with known targets.
#pragma once

#include "tools/cli/options.h"

#include <span>
#include <string>

namespace sheaf {

OptionParser eval_options();
int eval_verb(std::span<const std::string> arguments);

}  // namespace sheaf
