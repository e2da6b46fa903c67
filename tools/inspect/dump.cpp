#include "tools/inspect/dump.h"

#include "tools/inspect/page_data.h"
#include "tools/inspect/print.h"

namespace sheaf {

namespace {

Result<std::string> print(const PlacementGraph& graph, DumpFormat format) {
  switch (format) {
    case DumpFormat::text: return print_text(graph);
    case DumpFormat::dot: return print_dot(graph);
    case DumpFormat::svg: return print_svg(graph);
    case DumpFormat::json: return print_json(graph);
    case DumpFormat::model_explorer: return print_model_explorer(graph);
    case DumpFormat::html:
    case DumpFormat::mlir:
    case DumpFormat::bound: break;
  }
  return Error("this format shows no graph");
}

/// A program in the forms that a dump may show.
struct Shown {
  const char* name;
  const Program& program;
  const Program& graph;
  const std::string& ir;
};

Result<Shown> shown(const Plan& plan, const DumpOptions& options) {
  const Shown all[] = {{"infer", plan.infer, plan.infer_graph, plan.ir},
                       {"train", plan.train, plan.train_graph, plan.train_ir},
                       {"accumulate", plan.accumulate, plan.accumulate_graph, plan.accumulate_ir},
                       {"update", plan.update, plan.update_graph, plan.accumulate_ir},
                       {"forward", plan.forward, plan.forward_graph, plan.forward_ir},
                       {"backward", plan.backward, plan.backward_graph, plan.backward_ir}};
  std::string held;
  for (const Shown& one : all) {
    if (&one != all && one.program.steps.empty() && one.graph.steps.empty()) continue;
    if (options.program == one.name) {
      if (options.devices.empty() != !options.batch.has_value())
        return Error("a dump needs a device list and a batch size together, or neither of them");
      return one;
    }
    held += std::string(held.empty() ? "'" : ", '") + one.name + "'";
  }
  return Error("plan '" + plan.name + "' holds no program '" + options.program + "'; it holds " + held);
}

std::string print_page(const Plan& plan, const PlacementGraph& graph, const DumpOptions& options) {
  const Result<Shown> what = shown(plan, options);
  PageContent content{graph, what ? &what->program : nullptr, nullptr, "", options.timeline, nullptr};
  if (options.devices.empty() || !options.memory || !what) return print_html(content);
  const Result<std::vector<LaneMemory>> memory = options.memory(what->program);
  if (memory) content.memory = &*memory;
  else content.no_memory = memory.error().message();
  return print_html(content);
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
  if (name == "bound") return DumpFormat::bound;
  return std::nullopt;
}

Result<PlacementGraph> placement_graph(const Plan& plan, const DumpOptions& options) {
  SHEAF_ASSIGN(auto what, shown(plan, options));
  const Program& program = what.graph;
  if (program.values.empty())
    return Error("plan '" + plan.name + "' was written without its logical program: dump the model file instead");
  Result<PlacementGraph> graph = options.devices.empty()
                                     ? symbolic_graph(plan, program)
                                     : expand(plan, program, options.devices, *options.batch, options.shards);
  if (graph) graph->program = options.program;
  return graph;
}

Result<std::string> dump(const Plan& plan, DumpFormat format, const DumpOptions& options) {
  if (format == DumpFormat::mlir) {
    SHEAF_ASSIGN(auto what, shown(plan, options));
    const std::string& ir = what.ir;
    if (ir.empty()) return Error("plan '" + plan.name + "' was written without its IR: dump the model file instead");
    return ir.ends_with('\n') ? ir : ir + '\n';
  }
  if (format == DumpFormat::bound) {
    SHEAF_ASSIGN(const auto what, shown(plan, options));
    if (!options.bound) return Error("binding is for devices and a batch size: a dump of it needs both");
    return options.bound(what.program);
  }
  SHEAF_ASSIGN(auto graph, placement_graph(plan, options));
  if (format == DumpFormat::html) return print_page(plan, graph, options);
  return print(graph, format);
}

Result<DumpedDiff> dump_diff(const LabelledPlan& before, const LabelledPlan& after, DumpFormat format,
                             const DumpOptions& options) {
  const auto side = [&](const LabelledPlan& of) -> Result<DiffSide> {
    Result<PlacementGraph> graph = placement_graph(of.plan, options);
    if (!graph) return graph.error().note("in " + of.label);
    SHEAF_ASSIGN(auto what, shown(of.plan, options));
    return DiffSide{of.label, std::move(*graph), layer_operations(what.program)};
  };
  SHEAF_ASSIGN(auto old_side, side(before));
  SHEAF_ASSIGN(auto new_side, side(after));
  const GraphDiff difference = diff(std::move(old_side), std::move(new_side));
  if (format == DumpFormat::text) return DumpedDiff{print_diff_text(difference), difference.equal()};
  if (format == DumpFormat::json) return DumpedDiff{print_diff_json(difference), difference.equal()};
  const PlacementGraph both = merged(difference);
  if (format == DumpFormat::html) {
    PageContent content{both, nullptr, nullptr, "", nullptr, &difference};
    return DumpedDiff{print_html(content), difference.equal()};
  }
  if (format != DumpFormat::dot && format != DumpFormat::svg)
    return Error("a difference is shown as text, json, dot, svg or html");
  SHEAF_ASSIGN(auto drawn, print(both, format));
  return DumpedDiff{std::move(drawn), difference.equal()};
}

}  // namespace sheaf
