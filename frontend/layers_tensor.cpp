// Layers without a class in torch.nn: matrix products, shapes, Print.
#include "frontend/layer_table.h"

#include <set>

namespace sheaf::frontend {
namespace {

using Kind = ArgumentType::Kind;

void check_permute(LayerCheck& layer) {
  Json& dims = layer.arguments["dims"];
  int64_t rank = static_cast<int64_t>(dims.size());
  std::set<int64_t> seen;
  for (Json& dim : dims) {
    int64_t value = dim.get<int64_t>();
    if (value < -rank || value >= rank || !seen.insert(value < 0 ? value + rank : value).second) {
      return layer.refuse("dims", "must name each of its " + std::to_string(rank) + " dimensions once");
    }
    if (value < 0) dim = value + rank;
  }
}

void check_reshape(LayerCheck& layer) {
  int inferred = 0;
  for (const Json& size : layer.arguments["shape"]) {
    if (size.is_string()) continue;
    int64_t value = size.get<int64_t>();
    if (value == 0) return layer.refuse("shape", "has the size 0; sizes are positive, or -1 for what remains");
    if (value == -1 && ++inferred > 1) return layer.refuse("shape", "has more than one -1");
  }
}

void check_mean(LayerCheck& layer) {
  std::set<int64_t> seen;
  for (const Json& dim : layer.arguments["dim"]) {
    if (!seen.insert(dim.get<int64_t>()).second) return layer.refuse("dim", "names a dimension twice");
  }
}

// "{i}" is the size of input i; other braces are literal.
void check_print(LayerCheck& layer) {
  const std::string text = layer.arguments["text"].get<std::string>();
  for (size_t open = text.find('{'); open != std::string::npos; open = text.find('{', open + 1)) {
    size_t close = text.find_first_not_of("0123456789", open + 1);
    if (close == std::string::npos || text[close] != '}' || close == open + 1) continue;
    std::string digits = text.substr(open + 1, close - open - 1);
    if (digits.size() > 6 || std::stoi(digits) >= layer.inputs) {
      return layer.refuse("text", "names input {" + digits + "}, but the layer has " + std::to_string(layer.inputs) +
                                      (layer.inputs == 1 ? " input" : " inputs") + " (counted from 0)");
    }
  }
}

}  // namespace

std::vector<LayerType> tensor_layers() {
  Argument shape = or_length(typed("shape", Kind::integers));
  shape.type.minimum = -1;
  return {
      {.name = "MatMul", .summary = "the matrix product, as torch.matmul", .least_inputs = 2, .most_inputs = 2},
      {.name = "Concat",
       .summary = "its inputs, one after another along `dim`",
       .arguments = {typed("dim", Kind::integer)},
       .most_inputs = any_number},
      {.name = "Permute",
       .summary = "dimension i of the output is dimension dims[i] of the input",
       .arguments = {typed("dims", Kind::integers)},
       .check = check_permute},
      {.name = "Reshape",
       .summary = "the same elements in another shape; one size may be -1, sizes may be lengths",
       .arguments = {shape},
       .check = check_reshape},
      {.name = "Mean",
       .summary = "the mean over `dim`",
       .arguments = {typed("dim", Kind::sizes), boolean("keepdim", false)},
       .check = check_mean},
      {.name = "Select",
       .summary = "slice `index` of dimension `dim`, which goes away",
       .arguments = {typed("dim", Kind::integer), typed("index", Kind::integer)}},
      {.name = "Scale", .summary = "value · x", .arguments = {number("value")}},
      {.name = "Print",
       .summary = "its first input; prints `text` each time it runs, `{i}` being the size of input i",
       .arguments = {typed("text", Kind::text)},
       .most_inputs = any_number,
       .check = check_print},
  };
}

}  // namespace sheaf::frontend
