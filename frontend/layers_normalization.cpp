// BatchNorm1d, BatchNorm2d, BatchNorm3d, SyncBatchNorm, InstanceNorm1d, InstanceNorm2d, InstanceNorm3d, LayerNorm, RMSNorm, GroupNorm,
// LocalResponseNorm.
#include "frontend/layer_table.h"

namespace sheaf::frontend {
namespace {

std::vector<LayerParameter> affine(const std::vector<int64_t>& shape, bool weight, bool bias) {
  std::vector<LayerParameter> p;
  if (weight) p.push_back({"weight", shape});
  if (bias) p.push_back({"bias", shape});
  return p;
}

LayerType batch_norm(std::string name, std::string summary) {
  return {.name = std::move(name),
          .summary = std::move(summary),
          .arguments = {positive("num_features"), not_negative("eps", Json(1e-5)), nullable(probability("momentum", Json(0.1))),
                        boolean("affine", true), boolean("track_running_stats", true)},
          .parameters =
              [](const Json& a) {
                bool own = a["affine"].get<bool>();
                std::vector<int64_t> shape = {a["num_features"].get<int64_t>()};
                std::vector<LayerParameter> all = affine(shape, own, own);
                if (!a["track_running_stats"].get<bool>()) return all;
                all.push_back({.name = "running_mean", .shape = shape, .buffer = true});
                all.push_back({.name = "running_var", .shape = shape, .buffer = true, .fill = 1});
                all.push_back({.name = "num_batches_tracked", .shape = {}, .buffer = true, .dtype = DType::int64});
                return all;
              },
          .parameter_names = "weight|bias"};
}

LayerType sync_batch_norm() {
  LayerType row = batch_norm("SyncBatchNorm", "`[N, C, …]`, shape kept; the statistics are the whole batch's");
  row.arguments.push_back(fixed("process_group", nullptr));
  return row;
}

LayerType instance_norm(std::string name, std::string summary) {
  return {.name = std::move(name),
          .summary = std::move(summary),
          .arguments = {positive("num_features"), not_negative("eps", Json(1e-5)), nullable(probability("momentum", Json(0.1))),
                        boolean("affine", false), fixed("track_running_stats", false)},
          .parameters =
              [](const Json& a) {
                bool own = a["affine"].get<bool>();
                return affine({a["num_features"].get<int64_t>()}, own, own);
              },
          .parameter_names = "weight|bias"};
}

void check_group_norm(LayerCheck& layer) {
  int64_t groups = layer.integer("num_groups"), channels = layer.integer("num_channels");
  if (channels % groups != 0) {
    layer.refuse("num_groups", "must divide num_channels = " + std::to_string(channels) + ", found " + std::to_string(groups));
  }
}

}  // namespace

std::vector<LayerType> normalization_layers() {
  Argument shape = typed("normalized_shape", ArgumentType::Kind::sizes);
  shape.type.minimum = 1;
  Argument neighbours = positive("size");
  neighbours.type.maximum = 1 << 16;
  return {
      batch_norm("BatchNorm1d", "`[N, C]` or `[N, C, L]`, shape kept"),
      batch_norm("BatchNorm2d", "`[N, C, H, W]`, shape kept"),
      batch_norm("BatchNorm3d", "`[N, C, D, H, W]`, shape kept"),
      sync_batch_norm(),
      instance_norm("InstanceNorm1d", "`[N, C, L]`, shape kept"),
      instance_norm("InstanceNorm2d", "`[N, C, H, W]`, shape kept"),
      instance_norm("InstanceNorm3d", "`[N, C, D, H, W]`, shape kept"),
      {.name = "RMSNorm",
       .summary = "x / √(mean of x² + eps) over the last dimensions; no eps: 2⁻²³",
       .arguments = {shape, nullable(not_negative("eps", Json(nullptr))), boolean("elementwise_affine", true)},
       .parameters =
           [](const Json& a) {
             return affine(a["normalized_shape"].get<std::vector<int64_t>>(), a["elementwise_affine"].get<bool>(), false);
           },
       .parameter_names = "weight"},
      {.name = "LocalResponseNorm",
       .summary =
           "`[N, C, …]`: x / (k + alpha · mean of x² over `size` neighbouring channels)^beta, those outside counting as 0",
       .arguments = {neighbours, number("alpha", Json(1e-4)), number("beta", Json(0.75)), number("k", Json(1.0))}},
      {.name = "LayerNorm",
       .summary = "normalises over the last dimensions, shape kept",
       .arguments = {shape, not_negative("eps", Json(1e-5)), boolean("elementwise_affine", true), boolean("bias", true)},
       .parameters =
           [](const Json& a) {
             bool own = a["elementwise_affine"].get<bool>();
             return affine(a["normalized_shape"].get<std::vector<int64_t>>(), own, own && a["bias"].get<bool>());
           },
       .parameter_names = "weight|bias"},
      {.name = "GroupNorm",
       .summary = "`[N, C, …]`, shape kept",
       .arguments = {positive("num_groups"), positive("num_channels"), not_negative("eps", Json(1e-5)),
                     boolean("affine", true)},
       .check = check_group_norm,
       .parameters =
           [](const Json& a) {
             bool own = a["affine"].get<bool>();
             return affine({a["num_channels"].get<int64_t>()}, own, own);
           },
       .parameter_names = "weight|bias"},
  };
}

}  // namespace sheaf::frontend
