// A plan's IR in MLIR's generic form, for programs that don't know sheaf's dialects (Netron, other MLIR tools).
#pragma once

#include "runtime/base/error.h"

#include <string>

namespace sheaf {

/// `ir` as Plan::ir has it, with every op as `"dialect.op"(operands) <{properties}> : type`. Errors: it doesn't parse.
Result<std::string> generic_ir(const std::string& ir);

}  // namespace sheaf
