// Linear, Bilinear, Embedding, EmbeddingBag.
#include "frontend/layer_table.h"

namespace sheaf::frontend {
namespace {

void check_embedding(LayerCheck& layer) {
  Json& index = layer.arguments["padding_idx"];
  if (index.is_null()) return;
  int64_t rows = layer.integer("num_embeddings"), value = index.get<int64_t>();
  if (value < -rows || value >= rows) {
    layer.refuse("padding_idx",
                 "must lie within the table's " + std::to_string(rows) + " rows, found " + std::to_string(value));
  } else if (value < 0) {
    index = value + rows;
  }
}

}  // namespace

std::vector<LayerType> linear_layers() {
  auto size = [](const Json& a, const char* name) { return a[name].get<int64_t>(); };
  return {
      {.name = "Linear",
       .summary = "`[…, in]` → `[…, out]`",
       .arguments = {positive("in_features"), positive("out_features"), boolean("bias", true)},
       .parameters =
           [=](const Json& a) {
             std::vector<LayerParameter> p = {{"weight", {size(a, "out_features"), size(a, "in_features")}}};
             if (a["bias"].get<bool>()) p.push_back({"bias", {size(a, "out_features")}});
             return p;
           },
       .parameter_names = "weight|bias"},
      {.name = "Bilinear",
       .summary = "`[…, in1]`, `[…, in2]` → `[…, out]`: Σ weight[o, i, j] · x1[i] · x2[j], plus bias",
       .arguments = {positive("in1_features"), positive("in2_features"), positive("out_features"), boolean("bias", true)},
       .least_inputs = 2,
       .most_inputs = 2,
       .parameters =
           [=](const Json& a) {
             std::vector<LayerParameter> p = {
                 {"weight", {size(a, "out_features"), size(a, "in1_features"), size(a, "in2_features")}}};
             if (a["bias"].get<bool>()) p.push_back({"bias", {size(a, "out_features")}});
             return p;
           },
       .parameter_names = "weight|bias"},
      {.name = "Embedding",
       .summary = "integers `[…]` → `[…, embedding_dim]`",
       .arguments = {positive("num_embeddings"), positive("embedding_dim"),
                     nullable(typed("padding_idx", ArgumentType::Kind::integer, Json(nullptr))), fixed("max_norm", nullptr),
                     fixed("norm_type", 2.0), fixed("scale_grad_by_freq", false), ignored("sparse")},
       .check = check_embedding,
       .parameters =
           [=](const Json& a) {
             return std::vector<LayerParameter>{{"weight", {size(a, "num_embeddings"), size(a, "embedding_dim")}}};
           },
       .parameter_names = "weight"},
      {.name = "EmbeddingBag",
       .summary = "integers `[N, L]` → `[N, embedding_dim]`: of each row's entries the mean, the sum or the largest",
       .arguments = {positive("num_embeddings"), positive("embedding_dim"), fixed("max_norm", nullptr), fixed("norm_type", 2.0),
                     fixed("scale_grad_by_freq", false), choice("mode", {"sum", "mean", "max"}, "mean"), ignored("sparse"),
                     fixed("include_last_offset", false), fixed("padding_idx", nullptr)},
       .parameters =
           [=](const Json& a) {
             return std::vector<LayerParameter>{{"weight", {size(a, "num_embeddings"), size(a, "embedding_dim")}}};
           },
       .parameter_names = "weight"},
  };
}

}  // namespace sheaf::frontend
