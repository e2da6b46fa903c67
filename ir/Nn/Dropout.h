// Dropout that is part of another layer.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace sheaf::nn {

/// Of an attention in a training program: the probability with which its weights are dropped.
inline constexpr llvm::StringLiteral kDropout = "nn.dropout";

}  // namespace sheaf::nn
