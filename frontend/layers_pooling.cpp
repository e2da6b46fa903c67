// MaxPool2d, AvgPool2d, AdaptiveAvgPool2d, AdaptiveMaxPool2d, MaxUnpool2d, and these over one and three dimensions; Flatten,
// Unflatten.
#include "frontend/layer_table.h"
#include "runtime/ops/pooling.h"

namespace sheaf::frontend {
namespace {

using Kind = ArgumentType::Kind;

// A null stride is the kernel's size; padding must leave each window at least one real element.
void check_pool(LayerCheck& layer) {
  Json& a = layer.arguments;
  if (a["stride"].is_null()) a["stride"] = a["kernel_size"];
  for (size_t i = 0; i < a["padding"].size(); ++i) {
    SlidingWindow window{.size = a["kernel_size"][i], .padding_begin = a["padding"][i]};
    if (a.contains("dilation")) window.dilation = a["dilation"][i];
    if (auto fits = check_pool_padding(window); !fits) return layer.refuse("padding", fits.error().message());
  }
}

void check_avg_pool(LayerCheck& layer) {
  check_pool(layer);
  if (layer.arguments["divisor_override"] == Json(0)) layer.refuse("divisor_override", "must not be 0");
}

/// Without padding.
void check_lp_pool(LayerCheck& layer) {
  Json& a = layer.arguments;
  if (a["stride"].is_null()) a["stride"] = a["kernel_size"];
}

void check_unpool(LayerCheck& layer) {
  Json& a = layer.arguments;
  if (a["stride"].is_null()) a["stride"] = a["kernel_size"];
}

/// A max pool's maxima and, with return_indices, where they are.
int with_positions(const Json& arguments) { return arguments["return_indices"].get<bool>() ? 2 : 1; }

void check_flatten(LayerCheck& layer) {
  int64_t start = layer.integer("start_dim"), end = layer.integer("end_dim");
  if ((start < 0) == (end < 0) && start > end) layer.refuse("start_dim", "must not come after end_dim");
}

void check_unflatten(LayerCheck& layer) {
  int inferred = 0;
  const Json& sizes = layer.arguments["unflattened_size"];
  if (sizes.empty()) return layer.refuse("unflattened_size", "must not be empty");
  for (const Json& size : sizes) {
    if (size == 0) return layer.refuse("unflattened_size", "has the size 0; sizes are positive, or -1 for what remains");
    if (size == -1 && ++inferred > 1) return layer.refuse("unflattened_size", "has more than one -1");
  }
}

constexpr const char* kShapes[] = {"`[N, C, L]` → `[N, C, L']`", "`[N, C, H, W]` → `[N, C, H', W']`",
                                   "`[N, C, D, H, W]` → `[N, C, D', H', W']`"};

/// A pool's row for one or three spatial dimensions.
LayerType of_rank(LayerType row, int rank) {
  row.name.replace(row.name.size() - 2, 1, std::to_string(rank));
  row.summary.replace(0, std::string_view(kShapes[1]).size(), kShapes[rank - 1]);
  row.spatial_rank = rank;
  for (Argument& argument : row.arguments) {
    if (rank == 1 && argument.name == "divisor_override") argument = fixed("divisor_override", nullptr);
  }
  return row;
}

}  // namespace

std::vector<LayerType> line_and_volume_pooling_layers() {
  std::vector<LayerType> rows;
  for (int rank : {1, 3}) {
    for (const LayerType& row : pooling_layers()) {
      if (row.spatial_rank > 0) rows.push_back(of_rank(row, rank));
    }
  }
  for (int rank : {1, 2, 3}) {
    rows.push_back({.name = "LPPool" + std::to_string(rank) + "d",
                    .summary = kShapes[rank - 1] +
                               std::string(": the norm_type-th root of the windows' sums of x to the power of norm_type"),
                    .arguments = {above_zero("norm_type"), spatial("kernel_size", 1),
                                  nullable(spatial("stride", 1, Json(nullptr))), boolean("ceil_mode", false)},
                    .spatial_rank = rank,
                    .check = check_lp_pool});
  }
  return rows;
}

std::vector<LayerType> pooling_layers() {
  Argument output_size = typed("output_size", Kind::output_size);
  output_size.type.minimum = 1;
  Argument sizes = typed("unflattened_size", Kind::integers);
  sizes.type.minimum = -1;
  const std::string summary = kShapes[1],
                    largest = summary + "; with return_indices, the maxima's positions (int64) in the image too";
  return {
      {.name = "MaxPool2d",
       .summary = largest,
       .arguments = {spatial("kernel_size", 1), nullable(spatial("stride", 1, Json(nullptr))), spatial("padding", 0, Json(0)),
                     spatial("dilation", 1, Json(1)), boolean("return_indices", false), boolean("ceil_mode", false)},
       .spatial_rank = 2,
       .outputs_by_arguments = with_positions,
       .check = check_pool},
      {.name = "AvgPool2d",
       .summary = summary,
       .arguments = {spatial("kernel_size", 1), nullable(spatial("stride", 1, Json(nullptr))), spatial("padding", 0, Json(0)),
                     boolean("ceil_mode", false), boolean("count_include_pad", true),
                     nullable(typed("divisor_override", Kind::integer, Json(nullptr)))},
       .spatial_rank = 2,
       .check = check_avg_pool},
      {.name = "AdaptiveAvgPool2d", .summary = summary, .arguments = {output_size}, .spatial_rank = 2},
      {.name = "AdaptiveMaxPool2d",
       .summary = largest,
       .arguments = {output_size, boolean("return_indices", false)},
       .spatial_rank = 2,
       .outputs_by_arguments = with_positions},
      {.name = "MaxUnpool2d",
       .summary =
           summary + ": zeros, and the elements of the first input at the positions that a MaxPool with return_indices gives",
       .arguments = {spatial("kernel_size", 1), nullable(spatial("stride", 1, Json(nullptr))), spatial("padding", 0, Json(0)),
                     nullable(spatial("output_size", 1, Json(nullptr)))},
       .spatial_rank = 2,
       .least_inputs = 2,
       .most_inputs = 2,
       .check = check_unpool},
      {.name = "Flatten",
       .summary = "dimensions start_dim … end_dim become one",
       .arguments = {typed("start_dim", Kind::integer, Json(1)), typed("end_dim", Kind::integer, Json(-1))},
       .check = check_flatten},
      {.name = "Unflatten",
       .summary = "dimension dim becomes several, of the sizes unflattened_size; one size may be -1",
       .arguments = {typed("dim", Kind::integer), sizes},
       .check = check_unflatten},
  };
}

}  // namespace sheaf::frontend
