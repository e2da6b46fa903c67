// Compiles a model in memory, looks at what the plan will do, verifies and runs it, through sheaf's C++ interface.
//
//   compile
//
// Expected output: "compiled", the inserted operations, "verified".
#include <sheaf/compiler.h>
#include <sheaf/inspect.h>

#include <iostream>

namespace {

int fail(const sheaf::Error& error) {
  std::cerr << sheaf::to_string(error);
  return 1;
}

constexpr const char* kModel = R"({
  "sheaf": "1.0",
  "name": "small",
  "inputs": {"x": {"shape": ["batch", 5]}},
  "layers": [{"name": "net", "type": "DataParallel", "module": {"type": "Linear", "in_features": 5, "out_features": 2}}]
})";

}  // namespace

int main() {
  // The model has no training section; here is one.
  sheaf::CompilerOptions options;
  options.training = R"({"targets": {"y": {"shape": ["batch", 2]}},
                         "loss": {"type": "MSELoss", "inputs": ["net", "y"]}, "optimizer": {"type": "SGD", "lr": 0.1}})";
  auto compiled = sheaf::compile_text(kModel, options);
  if (!compiled) return fail(compiled.error());
  const sheaf::SharedPlan& plan = compiled->plan;
  auto model = sheaf::Model::from_plan(plan);
  if (!model) return fail(model.error());
  if (auto done = model->initialise_parameters(0); !done) return fail(done.error());
  auto session = model->bind("cpu:0,cpu:1", 30);
  if (!session) return fail(session.error());
  std::cout << "compiled\n";

  const sheaf::InspectRequest request{.devices = "cpu:0,cpu:1", .batch = 30};
  auto graph = sheaf::plan_graph(plan, request);
  if (!graph) return fail(graph.error());
  for (const sheaf::PlanNode& node : graph->nodes)
    if (node.bytes_moved) std::cout << node.op << ' ' << *node.bytes_moved << '\n';
  auto picture = sheaf::draw_plan(plan, "dot", request);
  if (!picture) return fail(picture.error());
  auto estimate = sheaf::estimate_plan(plan, request);
  if (!estimate) return fail(estimate.error());
  // What is estimated is what a session takes, to the byte.
  const sheaf::BindingReport report = session->report();
  if (estimate->devices.size() != report.lanes.size()) return fail(sheaf::Error("other devices are estimated"));
  for (size_t i = 0; i < report.lanes.size(); ++i)
    if (estimate->devices[i].arena_bytes != report.lanes[i].arena_bytes)
      return fail(sheaf::Error("another arena is estimated"));
  auto explained = sheaf::explain_plan(plan, request, "net");
  if (!explained) return fail(explained.error());
  if (explained->layers.empty() || explained->layers[0].nodes.empty()) return fail(sheaf::Error("nothing is explained"));
  auto verified = sheaf::verify_model(*model, {.devices = "cpu:0,cpu:1", .batch = 7});
  if (!verified) return fail(verified.error());
  if (!verified->passed) return fail(sheaf::Error(verified->text));
  std::cout << "verified\n";

  // What is wrong with a model has a place.
  auto wrong = sheaf::compile_text(R"({"sheaf": "1.0", "inputs": {"x": {"shape": ["batch"]}},
  "layers": [{"type": "Linaer"}]})");
  if (wrong || wrong.error().diagnostics[0].location.line != 2) return fail(sheaf::Error("a mistyped layer was accepted"));
  options.training = R"({"loss": 3})";
  if (sheaf::compile_text(kModel, options)) return fail(sheaf::Error("a training section without targets was accepted"));
  options = {.precision = "f64"};
  if (sheaf::compile_text(kModel, options)) return fail(sheaf::Error("an unknown precision was accepted"));
  return 0;
}
