// The options for compiling a model file, which several verbs take: each is declared here once.
#pragma once

#include "tools/driver/compile.h"
#include "tools/cli/options.h"

namespace sheaf {

/// --precision P, --strategy S and --device-memory SIZE.
void compilation_options(OptionParser& parser);

/// Their values. Errors are the command line's fault.
Result<CompileOptions> compilation_of(const Options& options);

}  // namespace sheaf
