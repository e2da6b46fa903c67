// Images in other sizes.
#include "frontend/layer_table.h"

namespace sheaf::frontend {
namespace {

using Kind = ArgumentType::Kind;

void check_size(LayerCheck& layer) {
  Json& a = layer.arguments;
  if (a["size"].is_null() == a["scale_factor"].is_null()) {
    layer.refuse(a["size"].is_null() ? "size" : "scale_factor",
                 "or the other of 'size' and 'scale_factor' must be given, not both");
  }
}

void check_upsample(LayerCheck& layer) {
  check_size(layer);
  Json& a = layer.arguments;
  const std::string mode = a["mode"].get<std::string>();
  if (a["align_corners"].is_null()) a["align_corners"] = false;
  if (layer.flag("align_corners") && (mode == "nearest" || mode == "nearest-exact"))
    layer.refuse("align_corners", "is not for mode '" + mode + "'");
}

}  // namespace

std::vector<LayerType> resampling_layers() {
  Argument size = nullable(typed("size", Kind::sizes, Json(nullptr)));
  size.type.minimum = 1;
  Argument factor = nullable(typed("scale_factor", Kind::factors, Json(nullptr)));
  factor.type.minimum = 0;
  factor.type.minimum_excluded = true;
  return {
      {.name = "Upsample",
       .summary = "`[N, C, s…]` → `[N, C, s'…]`",
       .arguments = {size, factor,
                     choice("mode", {"nearest", "nearest-exact", "linear", "bilinear", "bicubic", "trilinear"}, "nearest"),
                     nullable(typed("align_corners", Kind::boolean, Json(nullptr)))},
       .check = check_upsample},
      {.name = "UpsamplingNearest2d",
       .summary = "`[N, C, H, W]` → `[N, C, H', W']`: the nearest pixels, as Upsample's",
       .arguments = {size, factor},
       .check = check_size},
      {.name = "UpsamplingBilinear2d",
       .summary = "`[N, C, H, W]` → `[N, C, H', W']`: bilinear, with align_corners",
       .arguments = {size, factor},
       .check = check_size},
      {.name = "PixelShuffle", .summary = "`[…, C·r², H, W]` → `[…, C, H·r, W·r]`", .arguments = {positive("upscale_factor")}},
      {.name = "PixelUnshuffle",
       .summary = "`[…, C, H·r, W·r]` → `[…, C·r², H, W]`",
       .arguments = {positive("downscale_factor")}},
      {.name = "Unfold",
       .summary = "`[N, C, H, W]` → `[N, C·kh·kw, L]`: each window a column",
       .arguments = {spatial("kernel_size", 1), spatial("dilation", 1, Json(1)), spatial("padding", 0, Json(0)),
                     spatial("stride", 1, Json(1))},
       .spatial_rank = 2},
      {.name = "Fold",
       .summary = "`[N, C·kh·kw, L]` → `[N, C, H, W]`: columns added up where their windows are",
       .arguments = {spatial("output_size", 1), spatial("kernel_size", 1), spatial("dilation", 1, Json(1)),
                     spatial("padding", 0, Json(0)), spatial("stride", 1, Json(1))},
       .spatial_rank = 2},
      {.name = "ChannelShuffle",
       .summary = "`[N, C, s…]`: the channels of `groups` groups in turn",
       .arguments = {positive("groups")}},
  };
}

}  // namespace sheaf::frontend
