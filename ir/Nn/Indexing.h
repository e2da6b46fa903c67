// The attributes of indexing ops evaluated for known sizes: shape rules and nn-lower-layers ask the same functions.
#pragma once

#include "ir/Nn/Nn.h"

namespace sheaf::nn {

/// `size` entries: the one at `begin`, then each `step` further on.
struct Range {
  int64_t begin = 0, size = 0, step = 1;
};
/// For a dimension of `size` entries, as Python's x[start:end:step].
Range resolved(StridedSliceOp op, int64_t size);

/// The sizes of all parts of a dimension of `size` entries.
llvm::SmallVector<int64_t> part_sizes(SplitOp op, int64_t size);

/// How many entries come before and after a dimension's own.
struct Margin {
  int64_t before = 0, after = 0;
};
/// For each dimension of an input of `rank`.
llvm::SmallVector<Margin> margins(BorderOp op, int64_t rank);

}  // namespace sheaf::nn
