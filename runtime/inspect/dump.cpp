#include "runtime/inspect/dump.h"

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
    case DumpFormat::mlir: break;
  }
  return Error("this format shows no graph");
}

}  // namespace

std::optional<DumpFormat> dump_format_from_name(std::string_view name) {
  if (name == "text") return DumpFormat::text;
  if (name == "mlir") return DumpFormat::mlir;
  if (name == "dot") return DumpFormat::dot;
  if (name == "svg") return DumpFormat::svg;
  if (name == "html") return DumpFormat::html;
  if (name == "json") return DumpFormat::json;
  return std::nullopt;
}

Result<std::string> dump(const Plan& plan, DumpFormat format, const DumpOptions& options) {
  const bool trains = !plan.train.steps.empty() || !plan.train_graph.steps.empty();
  const bool train = trains && options.program == "train";
  if (!train && options.program != "infer")
    return Error("plan '" + plan.name + "' holds no program '" + options.program + "'; it holds 'infer'" +
                 (trains ? " and 'train'" : ""));
  if (options.devices.empty() != !options.batch.has_value())
    return Error("a dump needs a device list and a batch size together, or neither of them");
  if (format == DumpFormat::mlir) {
    const std::string& ir = train ? plan.train_ir : plan.ir;
    if (ir.empty()) return Error("plan '" + plan.name + "' was written without its IR: dump the model file instead");
    return ir.ends_with('\n') ? ir : ir + '\n';
  }
  const Program& program = train ? plan.train_graph : plan.infer_graph;
  if (program.values.empty())
    return Error("plan '" + plan.name + "' was written without its logical program: dump the model file instead");
  if (options.devices.empty()) {
    PlacementGraph graph = symbolic_graph(plan, program);
    graph.program = options.program;
    return print(graph, format);
  }
  Result<PlacementGraph> graph = expand(plan, program, options.devices, *options.batch);
  if (!graph) return graph.error();
  graph->program = options.program;
  return print(*graph, format);
}

}  // namespace sheaf
