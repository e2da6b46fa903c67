// The C++ interface's inspection: the verbs' results as plain data.
#include "sheaf/inspect.h"

#include "runtime/base/exception.h"
#include "runtime/device/device_list.h"
#include "runtime/session/open_devices.h"
#include "tools/estimate/memory_over_time.h"
#include "tools/estimate/print_estimate.h"
#include "tools/explain/explain.h"
#include "tools/inspect/dump.h"
#include "tools/verify/verify.h"

#include <numeric>

namespace sheaf {
namespace {

/// The list as users write it, with ranges spelt out.
Result<std::vector<std::string>> names_of(const std::string& devices) {
  SHEAF_ASSIGN(auto list, parse_devices(devices));
  std::vector<std::string> names;
  for (const DeviceSpec& device : list) names.push_back(to_string(device));
  return names;
}

Result<DumpOptions> dump_options(const InspectRequest& request) {
  DumpOptions options;
  options.program = request.program;
  if (request.devices.empty()) return options;
  SHEAF_ASSIGN(options.devices, names_of(request.devices));
  options.batch = request.batch;
  options.shards = request.bind.shards;
  return options;
}

PlanNode plan_node(const PlacementNode& node) {
  PlanNode made{node.id, node.op, node.layer, node.device, node.reason, node.replica, node.chunks, {}};
  if (node.bytes_moved && node.bytes_moved->is_static()) made.bytes_moved = node.bytes_moved->constant;
  return made;
}

/// The parts of an estimate.
struct Planned {
  const Program* program;
  std::vector<std::string> list;
  DeviceSet devices;
  EstimateOptions options;
  Estimate estimate;
};

Result<Planned> planned(const Plan& plan, const InspectRequest& request) {
  const std::pair<std::string_view, const Program*> programs[] = {
      {"infer", &plan.infer},   {"train", &plan.train},     {"accumulate", &plan.accumulate},
      {"update", &plan.update}, {"forward", &plan.forward}, {"backward", &plan.backward}};
  const Program* program = nullptr;
  for (const auto& [name, its] : programs) {
    if (name == request.program && !its->values.empty()) program = its;
  }
  if (!program) return Error("plan '" + plan.name + "' holds no program '" + request.program + "'");
  SHEAF_ASSIGN(auto specs, parse_devices(request.devices));
  SHEAF_ASSIGN(auto list, names_of(request.devices));
  SHEAF_ASSIGN(auto devices, plan_devices(specs, request.bind.threads, request.bind.shards));
  EstimateOptions options{request.bind, {}, {}};
  SHEAF_ASSIGN(auto made, estimate(plan, *program, list, devices, request.batch, options));
  return Planned{program, std::move(list), std::move(devices), std::move(options), std::move(made)};
}

}  // namespace

Result<PlanGraph> plan_graph(const SharedPlan& plan, const InspectRequest& request) try {
  SHEAF_ASSIGN(auto options, dump_options(request));
  SHEAF_ASSIGN(auto graph, placement_graph(plan, options));
  PlanGraph made;
  for (const PlacementNode& node : graph.nodes) made.nodes.push_back(plan_node(node));
  for (const PlacementEdge& edge : graph.edges) {
    made.edges.push_back({graph.nodes[static_cast<size_t>(edge.from)].id, graph.nodes[static_cast<size_t>(edge.to)].id,
                          edge.tensor.value, edge.tensor.dtype, edge.tensor.shape});
  }
  return made;
} catch (...) {
  return error_of_exception();
}

Result<std::string> draw_plan(const SharedPlan& plan, std::string_view format, const InspectRequest& request) try {
  const auto known = dump_format_from_name(format);
  if (!known) return Error("format '" + std::string(format) + "': expected text, json, dot, svg, html, mlir or model-explorer");
  SHEAF_ASSIGN(auto options, dump_options(request));
  if (options.batch) {
    options.memory = [&](const Program& program) {
      return memory_over_time(plan, program, options.devices, *options.batch, options.shards);
    };
  }
  return dump(plan, *known, options);
} catch (...) {
  return error_of_exception();
}

Result<EstimateReport> estimate_plan(const SharedPlan& plan, const InspectRequest& request) try {
  SHEAF_ASSIGN(auto made, planned(plan, request));
  const Estimate& found = made.estimate;
  EstimateReport report;
  for (const DeviceEstimate& device : found.devices) {
    const size_t lasting = std::accumulate(device.lasting.begin(), device.lasting.end(), size_t{0});
    report.devices.push_back({device.device, device.peak_bytes, device.arena_bytes, lasting, device.cost.flops,
                              device.cost.bytes(), device.busy_seconds});
  }
  report.step_seconds = found.step_seconds;
  report.flops = found.cost.flops;
  report.bytes_moved = found.bytes_moved;
  report.parameter_bytes = found.parameter_bytes;
  report.text = estimate_text(found, nullptr);
  report.json = estimate_json(found, nullptr);
  return report;
} catch (...) {
  return error_of_exception();
}

Result<LargestBatchReport> largest_batch(const SharedPlan& plan, const InspectRequest& request, double memory_bytes) try {
  SHEAF_ASSIGN(auto made, planned(plan, request));
  const LargestBatch found = largest_batch(plan, *made.program, made.devices, made.estimate, memory_bytes, made.options);
  return LargestBatchReport{found.batch, found.at_least, found.peak_bytes};
} catch (...) {
  return error_of_exception();
}

Result<ExplainReport> explain_plan(const SharedPlan& plan, const InspectRequest& request, const std::string& layer) try {
  ExplainRequest asked;
  asked.program = request.program;
  asked.bind = request.bind;
  asked.layer = layer;
  if (!request.devices.empty()) {
    SHEAF_ASSIGN(asked.devices, names_of(request.devices));
    asked.batch = request.batch;
  }
  SHEAF_ASSIGN(auto found, explain(plan, asked));
  ExplainReport report;
  for (const ExplainedLayer& explained : found.layers) {
    LayerReport made{explained.layer, {}, {}, {}};
    for (const PlacementNode& node : explained.nodes) made.nodes.push_back(plan_node(node));
    for (const ExplainedStep& step : explained.steps) {
      for (const ExplainedOperation& operation : step.operations) {
        for (size_t i = 0; i < operation.devices.size(); ++i) {
          made.operations.push_back({to_string(operation.op), explained.layer, operation.devices[i],
                                     i < operation.replicas.size() ? operation.replicas[i] : -1, operation.implementation,
                                     operation.reason});
        }
      }
      if (step.owned) made.notes.insert(made.notes.end(), step.step->notes.begin(), step.step->notes.end());
    }
    report.layers.push_back(std::move(made));
  }
  report.text = print_text(found);
  report.json = to_json(found).dump(1, ' ', false, Json::error_handler_t::replace);
  return report;
} catch (...) {
  return error_of_exception();
}

Result<VerifyReport> verify_model(const Model& model, const VerifyRequest& request) try {
  SHEAF_ASSIGN(auto devices, DeviceList::open(request.devices, request.bind.threads, request.bind.shards));
  SHEAF_ASSIGN(auto weights, weights_of(model));
  SHEAF_ASSIGN(auto data, data_for(model.plan(), request.batch, request.seed));
  VerifyOptions options;
  options.devices = devices.set();
  options.batch = request.batch;
  options.seed = request.seed;
  options.factor = request.tolerance;
  options.steps = request.steps;
  options.infer = request.infer;
  options.train = request.train;
  options.bind = request.bind;
  SHEAF_ASSIGN(auto found, verify(model.plan(), weights, data, options));
  found.devices = devices.text();
  VerifyReport report{found.passed(), {}, to_text(found), to_json(found).dump(2)};
  for (const ProgramVerification& program : found.programs) {
    if (!program.divergence || report.divergence) continue;
    const Divergence& first = *program.divergence;
    report.divergence =
        VerifyDivergence{program.program, first.layer,    first.value, first.op,        first.device,     first.replica,
                         first.index,     first.expected, first.found, first.tolerance, first.explanation};
  }
  return report;
} catch (...) {
  return error_of_exception();
}

}  // namespace sheaf
