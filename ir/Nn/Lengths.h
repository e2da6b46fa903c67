// Attributes that name lengths: sizes besides the batch that a run determines (docs/lengths.md). Types show them as `?`;
// ShapeAnalysis tells them apart.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace sheaf::nn {

/// On a program: its lengths, each with its largest number, 0 if it has none. On a slice: the length at which it ends. On a
/// reshape: the length that each size is, or an empty string.
inline constexpr llvm::StringLiteral kLengths = "nn.lengths", kLength = "nn.length", kNamedSizes = "nn.named_sizes";

}  // namespace sheaf::nn
