// Convolution, 1-D to 3-D, with bias, residual and activation: how it can be computed.
#include "runtime/cpu/ops/conv_candidates.h"

namespace sheaf {
Prepared prepare_conv(const Operation& operation) {
  constexpr auto y = ConvResult::y;
  static constexpr ConvCandidate candidates[] = {
      {"winograd", winograd_fits, seconds<winograd_seconds, y, whole>, prepare<prepare_conv_winograd, whole>},
      {"winograd_split", fits_split<winograd_fits>, seconds<winograd_seconds, y, split>, prepare<prepare_conv_winograd, split>},
      {"pixels", pixels_fit, seconds<pixels_seconds, y, whole>, prepare<prepare_conv_pixels, whole>},
      {"pixels_split", fits_split<pixels_fit>, seconds<pixels_seconds, y, split>, prepare<prepare_conv_pixels, split>},
      {"pointwise", pointwise_fits, seconds<pointwise_seconds, y>, prepare_conv_pointwise},
      {"last", fits<y, Layout::last>, seconds<y, Layout::last>, prepare<prepare_conv_direct, Layout::last>},
      {"blocks", fits<y, Layout::blocks>, seconds<y, Layout::blocks>, prepare<prepare_conv_direct, Layout::blocks>},
      {"direct", fits<y, Layout::any>, seconds<y, Layout::any>, prepare<prepare_conv_direct, Layout::any>},
  };
  return prepare_one_of<ConvShape>(candidates, operation, conv_shape(operation));
}

}  // namespace sheaf
