// Layers that take, turn or look up parts of a tensor.
#include "frontend/layer_table.h"

#include <set>

namespace sheaf::frontend {
namespace {

using Kind = ArgumentType::Kind;

void check_roll(LayerCheck& layer) {
  const size_t shifts = layer.arguments["shifts"].size(), dims = layer.arguments["dims"].size();
  if (shifts != dims) {
    layer.refuse("shifts", "must be as many as dims, found " + std::to_string(shifts) + " for " + std::to_string(dims));
  }
}

void check_slice(LayerCheck& layer) {
  if (layer.arguments["end"].is_string() && (layer.integer("start") != 0 || layer.integer("step") != 1))
    layer.refuse("end", "may be a length only if 'start' is 0 and 'step' is 1");
}

void check_dims(LayerCheck& layer, const char* name) {
  std::set<int64_t> seen;
  for (const Json& dim : layer.arguments[name]) {
    if (!seen.insert(dim.get<int64_t>()).second) return layer.refuse(name, "names a dimension twice");
  }
}

void check_pad(LayerCheck& layer) {
  if (layer.arguments["pad"].size() % 2)
    return layer.refuse("pad", "must have two numbers for each dimension, the last one first");
  if (layer.arguments["mode"] == "constant") return;
  for (const Json& size : layer.arguments["pad"]) {
    if (size.get<int64_t>() < 0)
      return layer.refuse("pad", "cuts nothing off but in mode 'constant': sizes must be at least 0");
  }
}

/// One number for all sides, or one for each: before and after, starting with the last dimension.
void check_sides(LayerCheck& layer, size_t sides) {
  Json& padding = layer.arguments["padding"];
  if (padding.size() == 1) padding = Json(std::vector<int64_t>(sides, padding[0].get<int64_t>()));
  if (padding.size() != sides)
    layer.refuse("padding", "must be one integer or " + std::to_string(sides) + ", found " + std::to_string(padding.size()));
}

/// torch.nn's padding modules: `Kind`Pad1d to 3d.
void add_pads(std::vector<LayerType>& rows, const std::string& kind, const std::string& summary, bool cuts = false) {
  for (int rank = 1; rank <= 3; ++rank) {
    Argument padding = typed("padding", Kind::sizes);
    if (!cuts) padding.type.minimum = 0;
    LayerType row{.name = kind + "Pad" + std::to_string(rank) + "d",
                  .summary = summary,
                  .arguments = {padding},
                  .check = [rank](LayerCheck& layer) { check_sides(layer, 2 * static_cast<size_t>(rank)); }};
    if (kind == "Constant") row.arguments.push_back(number("value"));
    rows.push_back(row);
  }
}

}  // namespace

std::vector<LayerType> padding_layers() {
  std::vector<LayerType> rows;
  add_pads(rows, "Zero", "larger by `padding` zeros, or smaller if it is negative", true);
  add_pads(rows, "Constant", "larger by `padding` times `value`, or smaller if it is negative", true);
  add_pads(rows, "Reflection", "larger by `padding` of x reflected at its borders");
  add_pads(rows, "Replication", "larger by `padding` of the borders' elements");
  add_pads(rows, "Circular", "larger by `padding` from the other end");
  return rows;
}

std::vector<LayerType> indexing_layers() {
  Argument dim = typed("dim", Kind::integer), sections = typed("split_size_or_sections", Kind::sizes);
  sections.type.minimum = 1;
  return {
      {.name = "Slice",
       .summary =
           "x[start:end:step] along `dim`, negative positions from the end; `end` may be a length, then from 0 and in steps "
           "of 1",
       .arguments = {dim, typed("start", Kind::integer, Json(0)),
                     nullable(or_length(typed("end", Kind::integer, Json(nullptr)))), positive("step", Json(1))},
       .check = check_slice},
      {.name = "Split",
       .summary = "parts along `dim`: of the sizes given, or all of one size but the last",
       .arguments = {sections, typed("dim", Kind::integer, Json(0))},
       .outputs = any_number,
       .outputs_by_arguments =
           [](const Json& a) {
             const size_t parts = a["split_size_or_sections"].size();
             return parts > 1 ? static_cast<int>(parts) : any_number;
           }},
      {.name = "Roll",
       .summary = "elements move on by `shifts` along `dims`, and from the end to the beginning",
       .arguments = {typed("shifts", Kind::sizes), typed("dims", Kind::sizes)},
       .check = check_roll},
      {.name = "Flip",
       .summary = "the other way round along `dims`",
       .arguments = {typed("dims", Kind::sizes)},
       .check = [](LayerCheck& layer) { check_dims(layer, "dims"); }},
      {.name = "Pad",
       .summary = "larger by `pad` (before, after; the last dimension first), or smaller if it is negative",
       .arguments = {typed("pad", Kind::integers), choice("mode", {"constant", "reflect", "replicate", "circular"}, "constant"),
                     number("value", Json(0.0))},
       .check = check_pad},
      {.name = "Unsqueeze", .summary = "a dimension of size 1 at `dim`", .arguments = {dim}},
      {.name = "Squeeze",
       .summary = "without the dimensions `dim`, or without all, whose size is 1",
       .arguments = {nullable(typed("dim", Kind::sizes, Json(nullptr)))}},
      {.name = "IndexSelect",
       .summary = "x, integers `[i…]` → entries of x along `dim`, with the integers' dimensions in its place",
       .arguments = {dim},
       .least_inputs = 2,
       .most_inputs = 2},
      {.name = "Gather",
       .summary = "x, integers → torch.gather: of x's shape but along `dim`",
       .arguments = {dim},
       .least_inputs = 2,
       .most_inputs = 2},
      {.name = "Scatter",
       .summary = "x, integers, source → torch.scatter: x, with the source's elements at the integers' places along `dim`; of "
                  "several for one place, the last",
       .arguments = {dim},
       .least_inputs = 3,
       .most_inputs = 3},
      {.name = "ScatterAdd",
       .summary = "the same, but the source's elements are added to x's",
       .arguments = {dim},
       .least_inputs = 3,
       .most_inputs = 3},
  };
}

}  // namespace sheaf::frontend
