// Reading a .plan file. A damaged or hostile file gets an error located by file and JSON path
// ("programs.infer.steps[3].inputs"), or by line and column where it isn't JSON at all.
#pragma once

#include "runtime/plan/plan.h"

#include <string>
#include <string_view>

namespace sheaf {

/// Parses and checks the text of a plan; `file` is its name for messages. Refused: JSON that is malformed,
/// nested deeper than 64, or has a key twice; another major or a newer minor version; a feature in `requires`
/// that this reader doesn't know; a wrong SHA-256; an unknown, missing or ill-typed field; and whatever
/// check() (runtime/check/check.h) refuses.
Result<Plan> parse_plan(std::string file, std::string_view text);

/// Reads FILE (at most 512 MiB) and parses it.
Result<Plan> load_plan(const std::string& file);

}  // namespace sheaf
