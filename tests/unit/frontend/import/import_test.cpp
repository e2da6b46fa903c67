// The importer knows every layer that the frontend accepts, and PyTorch's initial distributions.
#include "frontend/import/importer.h"
#include "frontend/layer_table.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sheaf {
namespace {

TEST(Import, EveryLayerTypeHasABuilderOrIsComposedOfOthers) {
  for (const frontend::LayerType& type : frontend::layer_types())
    EXPECT_TRUE(type.composed || import::has_builder(type.name)) << type.name;
  EXPECT_FALSE(import::has_builder("Lstm"));
}

TEST(Import, DefaultsAreThoseOfResetParameters) {
  frontend::Layer conv;
  conv.type = "Conv2d";
  conv.arguments = {{"in_channels", 6}, {"out_channels", 4}, {"groups", 2}, {"kernel_size", {3, 3}}};
  Json init = default_initialisation(conv, "bias", {4});
  EXPECT_EQ(init["type"], "uniform");
  EXPECT_DOUBLE_EQ(init["high"].get<double>(), 1 / std::sqrt(27.0));  // fan_in = 6/2 · 9

  frontend::Layer embedding;
  embedding.type = "Embedding";
  embedding.arguments = {{"num_embeddings", 5}, {"embedding_dim", 2}, {"padding_idx", 3}};
  EXPECT_EQ(default_initialisation(embedding, "weight", {5, 2})["zero_row"], 3);
}

TEST(Import, KaimingAndXavierFollowTorchNnInit) {
  Json kaiming = {{"type", "kaiming_normal"}, {"a", 0.0}, {"mode", "fan_out"}, {"nonlinearity", "relu"}};
  Json made = definite_distribution(kaiming, {8, 4, 3, 3});
  EXPECT_EQ(made["type"], "normal");
  EXPECT_DOUBLE_EQ(made["std"].get<double>(), std::sqrt(2.0) / std::sqrt(72.0));
  made = definite_distribution({{"type", "xavier_uniform"}, {"gain", 1.0}}, {3, 5});
  EXPECT_DOUBLE_EQ(made["high"].get<double>(), std::sqrt(6.0 / 8));
}

}  // namespace
}  // namespace sheaf
