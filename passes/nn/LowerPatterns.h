// What nn-lower-layers lowers, by family.
#pragma once

#include "mlir/IR/PatternMatch.h"

namespace sheaf::passes {

/// Slices, splits, turns, borders; dimensions of size 1.
void add_indexing_patterns(mlir::RewritePatternSet& patterns);
/// Variances, RMS norms; sums, means and extrema over non-adjacent dimensions.
void add_reduction_patterns(mlir::RewritePatternSet& patterns);
/// Interpolation, shuffles of pixels and channels.
void add_resampling_patterns(mlir::RewritePatternSet& patterns);
/// Windows of images as columns, and back; adaptive max pools.
void add_window_patterns(mlir::RewritePatternSet& patterns);
/// Positions of max pools' maxima; elements put back to them.
void add_pool_position_patterns(mlir::RewritePatternSet& patterns);
/// Sums of classification's weights over the classes; products with one number.
/// `before_gradients`: only those whose results have duals.
void add_target_patterns(mlir::RewritePatternSet& patterns, bool before_gradients);
/// Layers over one or three spatial dimensions that run as layers over two.
void add_spatial_patterns(mlir::RewritePatternSet& patterns);

}  // namespace sheaf::passes
