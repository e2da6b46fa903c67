// Machine code that was generated before, on this machine: the folder `kernels` of the user's cache (docs/commands.md, "What is kept").
#pragma once

#include "codegen/kernels/llvm_code.h"

namespace sheaf::kernels {

/// What generate_code() makes of them, made now or kept from before: the same bytes. Most of a compilation's time is spent there, and models
/// that are compiled again after a change, with another strategy or in another process have mostly the kernels that they had. If the code
/// can't be kept, it is generated again.
Result<std::string> code_of(llvm::MemoryBufferRef bitcode, const CodeTarget& target);

}  // namespace sheaf::kernels
