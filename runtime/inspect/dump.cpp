#include "runtime/inspect/dump.h"

#include "runtime/inspect/diff.h"
#include "runtime/inspect/print.h"

namespace sheaf {

namespace {

Result<std::string> print(const PlacementGraph& graph, DumpFormat format) {
  switch (format) {
    case DumpFormat::text: return print_text(graph);
    case DumpFormat::dot: return print_dot(graph);
    case DumpFormat::svg: return print_svg(graph);
    case DumpFormat::html: return print_html(graph);
    case DumpFormat::json: return print_json(graph);
    case DumpFormat::model_explorer: return print_model_explorer(graph);
    case DumpFormat::mlir: break;
  }
  return Error("this format shows no graph");
}

Result<bool> asks_for_training(const Plan& plan, const DumpOptions& options) {
  const bool trains = !plan.train.steps.empty() || !plan.train_graph.steps.empty();
  const bool train = trains && options.program == "train";
  if (!train && options.program != "infer")
    return Error("plan '" + plan.name + "' holds no program '" + options.program + "'; it holds 'infer'" +
                 (trains ? " and 'train'" : ""));
  if (options.devices.empty() != !options.batch.has_value())
    return Error("a dump needs a device list and a batch size together, or neither of them");
  return train;
}

}  // namespace

std::optional<DumpFormat> dump_format_from_name(std::string_view name) {
  if (name == "text") return DumpFormat::text;
  if (name == "mlir") return DumpFormat::mlir;
  if (name == "dot") return DumpFormat::dot;
  if (name == "svg") return DumpFormat::svg;
  if (name == "html") return DumpFormat::html;
  if (name == "json") return DumpFormat::json;
  if (name == "model-explorer") return DumpFormat::model_explorer;
  return std::nullopt;
}

Result<PlacementGraph> placement_graph(const Plan& plan, const DumpOptions& options) {
  Result<bool> train = asks_for_training(plan, options);
  if (!train) return train.error();
  const Program& program = *train ? plan.train_graph : plan.infer_graph;
  if (program.values.empty())
    return Error("plan '" + plan.name + "' was written without its logical program: dump the model file instead");
  Result<PlacementGraph> graph = options.devices.empty() ? symbolic_graph(plan, program)
                                                         : expand(plan, program, options.devices, *options.batch);
  if (graph) graph->program = options.program;
  return graph;
}

Result<std::string> dump(const Plan& plan, DumpFormat format, const DumpOptions& options) {
  if (format == DumpFormat::mlir) {
    Result<bool> train = asks_for_training(plan, options);
    if (!train) return train.error();
    const std::string& ir = *train ? plan.train_ir : plan.ir;
    if (ir.empty()) return Error("plan '" + plan.name + "' was written without its IR: dump the model file instead");
    return ir.ends_with('\n') ? ir : ir + '\n';
  }
  Result<PlacementGraph> graph = placement_graph(plan, options);
  if (!graph) return graph.error();
  return print(*graph, format);
}

Result<DumpedDiff> dump_diff(const LabelledPlan& before, const LabelledPlan& after, DumpFormat format,
                             const DumpOptions& options) {
  const auto side = [&](const LabelledPlan& of) -> Result<DiffSide> {
    Result<PlacementGraph> graph = placement_graph(of.plan, options);
    if (!graph) return graph.error().note("in " + of.label);
    return DiffSide{of.label, std::move(*graph), layer_operations(options.program == "train" ? of.plan.train : of.plan.infer)};
  };
  Result<DiffSide> old_side = side(before), new_side = side(after);
  if (!old_side) return old_side.error();
  if (!new_side) return new_side.error();
  const GraphDiff difference = diff(std::move(*old_side), std::move(*new_side));
  if (format == DumpFormat::text) return DumpedDiff{print_diff_text(difference), difference.equal()};
  if (format == DumpFormat::json) return DumpedDiff{print_diff_json(difference), difference.equal()};
  if (format != DumpFormat::dot && format != DumpFormat::svg)
    return Error("a difference is shown as text, json, dot or svg");
  Result<std::string> drawn = print(merged(difference), format);
  if (!drawn) return drawn.error();
  return DumpedDiff{std::move(*drawn), difference.equal()};
}

}  // namespace sheaf
