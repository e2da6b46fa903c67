// Builders of resampling, and of norms expressed by other norms.
#include "frontend/import/layer_context.h"

#include <numeric>

using namespace mlir;

namespace sheaf::import {
namespace {

Values upsampled(const Context& c, llvm::StringRef mode, bool align_corners) {
  const Json &size = c.argument("size"), &factor = c.argument("scale_factor");
  return c.one<nn::UpsampleOp>(
      c.x(), c.attributes().getDenseI64ArrayAttr(size.is_null() ? std::vector<int64_t>() : size.get<std::vector<int64_t>>()),
      c.attributes().getDenseF64ArrayAttr(factor.is_null() ? std::vector<double>() : factor.get<std::vector<double>>()),
      c.attributes().getStringAttr(mode), c.attributes().getBoolAttr(align_corners));
}
Values build_upsample(const Context& c) {
  return upsampled(c, c.argument("mode").get<std::string>(), c.argument("align_corners").get<bool>());
}

/// PyTorch's eps if none is given: float32's distance from 1 to the next number.
Values build_rms_norm(const Context& c) {
  FloatAttr eps = c.argument("eps").is_null() ? c.attributes().getF64FloatAttr(0x1p-23) : c.number("eps");
  return c.one<nn::RmsNormOp>(c.x(), c.parameter("weight"), c.integers("normalized_shape"), eps);
}

/// A group norm with one group per channel. The permutation, which changes nothing, fixes the number of dimensions.
template <int64_t rank>
Values build_instance_norm(const Context& c) {
  std::vector<int64_t> dims(rank);
  std::iota(dims.begin(), dims.end(), 0);
  mlir::Value x = c.one<nn::PermuteOp>(c.x(), c.attributes().getDenseI64ArrayAttr(dims))[0];
  return c.one<nn::GroupNormOp>(x, c.parameter("weight"), c.parameter("bias"), c.integer("num_features"), c.number("eps"));
}

}  // namespace

Builders spatial_builders() {
  return {
      {"Upsample", build_upsample},
      {"UpsamplingNearest2d", [](const Context& c) { return upsampled(c, "nearest", false); }},
      {"UpsamplingBilinear2d", [](const Context& c) { return upsampled(c, "bilinear", true); }},
      {"PixelShuffle", [](const Context& c) { return c.one<nn::PixelShuffleOp>(c.x(), c.integer("upscale_factor")); }},
      {"PixelUnshuffle", [](const Context& c) { return c.one<nn::PixelUnshuffleOp>(c.x(), c.integer("downscale_factor")); }},
      {"Unfold",
       [](const Context& c) {
         return c.one<nn::UnfoldOp>(c.x(), c.integers("kernel_size"), c.integers("dilation"), c.integers("padding"),
                                    c.integers("stride"));
       }},
      {"Fold",
       [](const Context& c) {
         return c.one<nn::FoldOp>(c.x(), c.integers("kernel_size"), c.integers("dilation"), c.integers("padding"),
                                  c.integers("stride"), c.integers("output_size"));
       }},
      {"ChannelShuffle", [](const Context& c) { return c.one<nn::ChannelShuffleOp>(c.x(), c.integer("groups")); }},
      {"RMSNorm", build_rms_norm},
      {"LocalResponseNorm",
       [](const Context& c) {
         return c.one<nn::LocalResponseNormOp>(c.x(), c.integer("size"), c.number("alpha"), c.number("beta"), c.number("k"));
       }},
      {"InstanceNorm1d", build_instance_norm<3>},
      {"InstanceNorm2d", build_instance_norm<4>},
      {"InstanceNorm3d", build_instance_norm<5>},
  };
}

}  // namespace sheaf::import
