// Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d.
#include "frontend/layer_table.h"

namespace sheaf::frontend {
namespace {

using Kind = ArgumentType::Kind;

void check_groups(LayerCheck& layer) {
  int64_t groups = layer.integer("groups");
  for (const char* channels : {"in_channels", "out_channels"}) {
    int64_t count = layer.integer(channels);
    if (count % groups != 0) {
      layer.refuse("groups", "must divide " + std::string(channels) + " = " + std::to_string(count) + ", found " +
                                 std::to_string(groups));
    }
  }
}

void check_conv(LayerCheck& layer) {
  check_groups(layer);
  if (layer.arguments["padding"] != Json("same")) return;
  for (const Json& stride : layer.arguments["stride"]) {
    if (stride != Json(1)) return layer.refuse("padding", "is 'same', which needs stride 1: a strided output is smaller");
  }
}

void check_conv_transpose(LayerCheck& layer) {
  check_groups(layer);
  for (size_t i = 0; i < layer.arguments["output_padding"].size(); ++i) {
    int64_t extra = layer.arguments["output_padding"][i].get<int64_t>();
    int64_t stride = layer.arguments["stride"][i].get<int64_t>();
    int64_t dilation = layer.arguments["dilation"][i].get<int64_t>();
    if (extra >= stride && extra >= dilation) {
      return layer.refuse("output_padding", "must be smaller than stride or dilation, found " + std::to_string(extra));
    }
  }
}

std::vector<LayerParameter> convolution_parameters(const Json& a, bool transposed) {
  int64_t in = a["in_channels"].get<int64_t>(), out = a["out_channels"].get<int64_t>();
  int64_t groups = a["groups"].get<int64_t>();
  std::vector<int64_t> shape = transposed ? std::vector{in, out / groups} : std::vector{out, in / groups};
  for (const Json& size : a["kernel_size"]) shape.push_back(size.get<int64_t>());
  std::vector<LayerParameter> p = {{"weight", shape}};
  if (a["bias"].get<bool>()) p.push_back({"bias", {out}});
  return p;
}

std::string summary_of(int rank) {
  if (rank == 1) return "`[N, C, L]` → `[N, O, L']`";
  return rank == 2 ? "`[N, C, H, W]` → `[N, O, H', W']`" : "`[N, C, D, H, W]` → `[N, O, D', H', W']`";
}

LayerType conv_transpose(std::string name, int rank) {
  return {
      .name = std::move(name),
      .summary = summary_of(rank),
      .arguments = {positive("in_channels"), positive("out_channels"), spatial("kernel_size", 1), spatial("stride", 1, Json(1)),
                    spatial("padding", 0, Json(0)), spatial("output_padding", 0, Json(0)), positive("groups", Json(1)),
                    boolean("bias", true), spatial("dilation", 1, Json(1)), choice("padding_mode", {"zeros"}, "zeros")},
      .spatial_rank = rank,
      .check = check_conv_transpose,
      .parameters = [](const Json& a) { return convolution_parameters(a, true); },
      .parameter_names = "weight|bias"};
}

LayerType conv(std::string name, int rank) {
  Argument padding = typed("padding", Kind::padding, Json(0));
  padding.type.minimum = 0;
  return {.name = std::move(name),
          .summary = summary_of(rank),
          .arguments = {positive("in_channels"), positive("out_channels"), spatial("kernel_size", 1),
                        spatial("stride", 1, Json(1)), padding, spatial("dilation", 1, Json(1)), positive("groups", Json(1)),
                        boolean("bias", true), choice("padding_mode", {"zeros", "reflect", "replicate", "circular"}, "zeros")},
          .spatial_rank = rank,
          .check = check_conv,
          .parameters = [](const Json& a) { return convolution_parameters(a, false); },
          .parameter_names = "weight|bias"};
}

}  // namespace

std::vector<LayerType> convolution_layers() {
  return {
      conv("Conv1d", 1),
      conv("Conv2d", 2),
      conv("Conv3d", 3),
      conv_transpose("ConvTranspose1d", 1),
      conv_transpose("ConvTranspose2d", 2),
      conv_transpose("ConvTranspose3d", 3),
  };
}

}  // namespace sheaf::frontend
