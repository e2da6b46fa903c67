// Interpolation along a dimension as a matrix with a few entries in each row (ATen/native/UpSample.h has the formulas).
#pragma once

#include "ir/Nn/Nn.h"

namespace sheaf::nn {

/// Row j of a matrix is 0 except for its entries from column starts[j] on: a row of `weights`, all of one length. A weight of
/// -0 means that the row has no entry there.
struct Band {
  llvm::SmallVector<int64_t> starts;
  llvm::SmallVector<double> weights;

  int64_t taps() const { return static_cast<int64_t>(weights.size() / starts.size()); }
};

/// The transpose, for a matrix with `columns` columns.
Band transposed(const Band& matrix, int64_t columns);

/// A spatial dimension's new size, and the width of its entries in old ones.
struct Resized {
  int64_t size = 0;
  double scale = 1;
};
Resized resized(UpsampleOp op, int64_t size, int64_t spatial_dim);

/// The number of spatial dimensions a mode is for; 0: any number.
int64_t spatial_of(llvm::StringRef mode);

/// The matrix of an upsampling along one dimension.
Band interpolation(llvm::StringRef mode, bool align_corners, int64_t from, const Resized& to);

}  // namespace sheaf::nn
