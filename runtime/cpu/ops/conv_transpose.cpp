// Transposed convolution, 1-D to 3-D, with bias and activation: how it can be computed.
#include "runtime/cpu/ops/conv_candidates.h"
#include "runtime/cpu/ops/conv_transpose.h"

namespace sheaf {
Prepared prepare_conv_transpose(const Operation& operation) {
  static constexpr auto candidates = joined(
      by_pixels_dx,
      std::to_array<ConvCandidate>({
          {"product", is_one_pixel, pixel_product_seconds, prepare_conv_transpose_product},
          {"direct", [](const Operation&, const ConvShape&) { return true; }, transpose_seconds, prepare_conv_transpose_direct},
      }));
  return prepare_one_of<ConvShape>(candidates, operation, mirrored_conv_shape(operation));
}

}  // namespace sheaf
