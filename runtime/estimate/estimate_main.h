// The verb `estimate`: what `sheaf` and `sheaf-run` call.
#pragma once

#include "runtime/options.h"

#include <span>
#include <string>

namespace sheaf {

/// `sheaf estimate PLAN --devices LIST --batch N [--json]`. Returns the exit status: 0 done, 1 the plan is at fault or
/// has no such program, 2 the command line is.
int estimate_verb(std::span<const std::string> arguments);
OptionParser estimate_options();

/// Bytes from "16e9", "80GiB", "512 MB": a number and a unit of 1000 (kB, MB, GB, TB) or 1024 (KiB, MiB, GiB, TiB), none
/// for bytes. Errors: anything else, a size that isn't positive.
Result<double> parse_memory(const std::string& text, const std::string& what);

}  // namespace sheaf
