// Random numbers that another layer draws in training.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace sheaf::nn {

/// Of an attention in a training program: the probability with which its weights are dropped.
inline constexpr llvm::StringLiteral kDropout = "nn.dropout";

/// Of a leaky ReLU in a training program: between which two numbers each element's slope is drawn.
inline constexpr llvm::StringLiteral kSlopes = "nn.slopes";

}  // namespace sheaf::nn
