// Reductions over dimensions.
#include "frontend/layer_table.h"

#include <set>

namespace sheaf::frontend {
namespace {

using Kind = ArgumentType::Kind;

void check_reduced(LayerCheck& layer) {
  const Json& dims = layer.arguments["dim"];
  if (dims.is_null() && layer.flag("keepdim"))
    return layer.refuse("keepdim", "needs a 'dim': over all elements no dimension is left");
  if (!dims.is_array()) return;
  std::set<int64_t> seen;
  for (const Json& dim : dims) {
    if (!seen.insert(dim.get<int64_t>()).second) return layer.refuse("dim", "names a dimension twice");
  }
}

LayerType reduction(std::string name, std::string summary, Kind dims) {
  return {.name = std::move(name),
          .summary = std::move(summary) + " over `dim`, or of all elements",
          .arguments = {nullable(typed("dim", dims, Json(nullptr))), boolean("keepdim", false)},
          .check = check_reduced};
}

}  // namespace

std::vector<LayerType> reduction_layers() {
  LayerType variance = reduction("Var", "Σ (x - mean)² / (n - correction)", Kind::sizes);
  variance.arguments.push_back(not_negative("correction", Json(1.0)));
  return {
      reduction("Sum", "the sum", Kind::sizes),
      reduction("AMax", "the largest element", Kind::sizes),
      reduction("AMin", "the smallest element", Kind::sizes),
      variance,
      reduction("ArgMax", "the position (int64) of the first largest element", Kind::integer),
      reduction("ArgMin", "the position (int64) of the first smallest element", Kind::integer),
      {.name = "PairwiseDistance",
       .summary = "the p-norm of x - y + eps along the last dimension; two inputs, broadcast",
       .arguments = {above_zero("p", Json(2.0)), number("eps", Json(1e-6)), boolean("keepdim", false)},
       .least_inputs = 2,
       .most_inputs = 2},
      {.name = "CosineSimilarity",
       .summary = "x · y / (|x| · |y|) along `dim`, each length at least eps; two inputs, broadcast",
       .arguments = {typed("dim", Kind::integer, Json(1)), above_zero("eps", Json(1e-8))},
       .least_inputs = 2,
       .most_inputs = 2},
      {.name = "CumSum",
       .summary = "the sum of the elements up to each, along `dim`",
       .arguments = {typed("dim", Kind::integer)}},
      {.name = "CumProd",
       .summary = "the product of the elements up to each, along `dim`",
       .arguments = {typed("dim", Kind::integer)}},
      {.name = "LogCumSumExp",
       .summary = "the logarithm of the sum of e to the power of the elements up to each, along `dim`",
       .arguments = {typed("dim", Kind::integer)}},
      {.name = "CumMax",
       .summary = "the largest of the elements up to each, along `dim`, and its position (int64), the last one",
       .arguments = {typed("dim", Kind::integer)},
       .outputs = 2},
      {.name = "CumMin",
       .summary = "the smallest of the elements up to each, along `dim`, and its position (int64), the last one",
       .arguments = {typed("dim", Kind::integer)},
       .outputs = 2},
      {.name = "ArgSort",
       .summary = "the positions (int64) of the elements in ascending order along `dim`; equal ones keep their order",
       .arguments = {typed("dim", Kind::integer, Json(-1)), boolean("descending", false)}},
      {.name = "Sort",
       .summary = "the elements in ascending order along `dim`, and their positions (int64); equal ones keep their order",
       .arguments = {typed("dim", Kind::integer, Json(-1)), boolean("descending", false)},
       .outputs = 2},
      {.name = "TopK",
       .summary = "the `k` largest (or smallest) elements along `dim`, the most extreme first, and their positions (int64)",
       .arguments = {positive("k"), typed("dim", Kind::integer, Json(-1)), boolean("largest", true)},
       .outputs = 2},
  };
}

}  // namespace sheaf::frontend
