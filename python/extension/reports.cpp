// Reports as objects: what binding chose, what a plan will do and cost.
#include "python/extension/bindings.h"
#include "sheaf/inspect.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace sheaf::python {
namespace {

std::string as_html(const std::string& text) {
  return "<pre>" + nb::cast<std::string>(nb::module_::import_("html").attr("escape")(text)) + "</pre>";
}

/// A report with its text, as the verb prints it.
template <typename Report>
nb::class_<Report> add_report(nb::module_& module, const char* name, const char* doc) {
  return nb::class_<Report>(module, name, doc)
      .def_ro("text", &Report::text, "As the command line prints it.")
      .def_prop_ro(
          "json", [](const Report& self) { return nb::module_::import_("json").attr("loads")(self.json); },
          nb::sig("def json(self) -> dict"), "All of it, as `--json` prints it.")
      .def("_repr_html_", [](const Report& self) { return as_html(self.text); })
      .def("__str__", [](const Report& self) { return self.text; })
      .def("__repr__", [](const Report& self) { return self.text; });
}

void add_binding(nb::module_& module) {
  nb::class_<LaneReport>(module, "Lane", "An entry of the device list, or the host: its memory and its work.")
      .def_ro("device", &LaneReport::lane, "\"host\", \"cpu:1\".")
      .def_ro("arena_bytes", &LaneReport::arena_bytes, "Bytes of what lives within a run.")
      .def_ro("parameter_bytes", &LaneReport::parameter_bytes, "Bytes of parameters, buffers and optimiser state.")
      .def_ro("derived_bytes", &LaneReport::derived_bytes, "Bytes of folded and reordered copies of them.")
      .def_ro("operations", &LaneReport::operations, "Operations a run.");
  nb::class_<OperationReport>(module, "Operation", "What runs: a step of the plan on one replica, or what binding inserted.")
      .def_ro("op", &OperationReport::op, "\"conv\", \"kernel\", \"reorder\", …")
      .def_ro("layer", &OperationReport::layer, "The model's dotted name; empty for what belongs to none.")
      .def_ro("device", &OperationReport::lane, "Where it runs.")
      .def_ro("replica", &OperationReport::replica, "-1 outside parallel regions.")
      .def_ro("implementation", &OperationReport::implementation, "\"jit:avx512_core\", \"generated\", …")
      .def_ro("reason", &OperationReport::reason, "Why that one.");
  nb::class_<BindingReport>(module, "Binding", "Memory, and the implementations chosen.")
      .def_ro("devices", &BindingReport::lanes, "Memory and operations by device.")
      .def_ro("operations", &BindingReport::operations, "What runs, in order.")
      .def_ro("parameter_bytes", &BindingReport::parameter_bytes,
              "Bytes of parameters, buffers and optimiser state, wherever they live.")
      .def_ro("derived_bytes", &BindingReport::derived_bytes, "Bytes of folded and reordered copies of them.");
}

void add_estimate(nb::module_& module) {
  nb::class_<LaneEstimate>(module, "DeviceEstimate", "What a step takes on one device.")
      .def_ro("device", &LaneEstimate::device, "\"host\", \"cpu:1\".")
      .def_ro("peak_bytes", &LaneEstimate::peak_bytes, "Arena and what lasts, to the byte.")
      .def_ro("arena_bytes", &LaneEstimate::arena_bytes, "Of what lives within a run.")
      .def_ro("lasting_bytes", &LaneEstimate::lasting_bytes, "Parameters, optimiser state and what is derived from them.")
      .def_ro("flops", &LaneEstimate::flops, "Of a step.")
      .def_ro("bytes", &LaneEstimate::bytes, "Read and written.")
      .def_ro("busy_seconds", &LaneEstimate::busy_seconds, "0 where times aren't known.");
  add_report<EstimateReport>(module, "Estimate", "What a step takes, without touching a device.")
      .def_ro("devices", &EstimateReport::devices, "The host, then the list.")
      .def_ro("step_seconds", &EstimateReport::step_seconds, "The longest way through all devices; 0 where times aren't known.")
      .def_ro("flops", &EstimateReport::flops, "Of a step, on all devices.")
      .def_ro("bytes_moved", &EstimateReport::bytes_moved, "Between devices, a step.")
      .def_ro("parameter_bytes", &EstimateReport::parameter_bytes, "Of parameters.");
  nb::class_<LargestBatchReport>(module, "LargestBatch", "The largest batch that fits.")
      .def_ro("batch", &LargestBatchReport::batch, "Rows; 0: not even one fits.")
      .def_ro("at_least", &LargestBatchReport::at_least, "The search ended there: more would fit.")
      .def_ro("peak_bytes", &LargestBatchReport::peak_bytes, "Of the fullest device at that batch.")
      .def("__repr__", [](const LargestBatchReport& self) {
        return "<sheaf.LargestBatch: " + std::string(self.at_least ? "at least " : "") + std::to_string(self.batch) +
               " rows, " + std::to_string(self.peak_bytes) + " bytes at the peak>";
      });
}

void add_explanation(nb::module_& module) {
  nb::class_<PlanNode>(module, "Node", "A step of a plan: a layer, or what was inserted to move data.")
      .def_ro("id", &PlanNode::id, "\"s3\", \"s3_r1\", \"in0\".")
      .def_ro("op", &PlanNode::op, "Layer type in lower case; scatter, replicate, gather, …; input, output.")
      .def_ro("layer", &PlanNode::layer, "The model's dotted name.")
      .def_ro("device", &PlanNode::device, "Where it runs.")
      .def_ro("reason", &PlanNode::reason, "Why it exists, or is where it is.")
      .def_ro("replica", &PlanNode::replica, "With devices, inside a parallel region; else -1.")
      .def_ro("chunks", &PlanNode::chunks, "With devices, of scatter and gather: sizes along the dimension.")
      .def_ro("bytes_moved", &PlanNode::bytes_moved,
              "With devices, of what was inserted: bytes that go from one device to another.")
      .def("__repr__", [](const PlanNode& self) {
        return "<" + self.id + ": " + self.op + (self.layer.empty() ? "" : " " + self.layer) + " on " + self.device + ">";
      });
  nb::class_<LayerReport>(module, "LayerExplanation", "What became of a layer.")
      .def_ro("layer", &LayerReport::layer, "Its dotted name; empty: of no layer, as the optimiser's arithmetic.")
      .def_ro("nodes", &LayerReport::nodes, "What it became, with what was inserted for it.")
      .def_ro("operations", &LayerReport::operations, "With devices: what computes it, by replica.")
      .def_ro("notes", &LayerReport::notes, "What the compiler decided about it.");
  add_report<ExplainReport>(module, "Explanation", "For each layer, where it runs and why, and what computes it.")
      .def_ro("layers", &ExplainReport::layers, "By layer.");
}

void add_verification(nb::module_& module) {
  nb::class_<VerifyDivergence>(module, "Divergence", "The first value that isn't what it should be.")
      .def_ro("program", &VerifyDivergence::program, "\"infer\", \"train\".")
      .def_ro("layer", &VerifyDivergence::layer, "The model's dotted name.")
      .def_ro("value", &VerifyDivergence::value, "The plan's name of it.")
      .def_ro("op", &VerifyDivergence::op, "What computed it.")
      .def_ro("device", &VerifyDivergence::device, "Where.")
      .def_ro("replica", &VerifyDivergence::replica, "On which replica.")
      .def_ro("index", &VerifyDivergence::index, "Of the element in the whole value.")
      .def_ro("expected", &VerifyDivergence::expected, "What it should be.")
      .def_ro("found", &VerifyDivergence::found, "What it is.")
      .def_ro("tolerance", &VerifyDivergence::tolerance, "What would have been rounding.")
      .def_ro("explanation", &VerifyDivergence::explanation, "In a sentence.");
  add_report<VerifyReport>(module, "Verification",
                           "Whether the partitioned programs compute what the model says: true where they do.")
      .def_ro("passed", &VerifyReport::passed, "Whether they do.")
      .def_ro("divergence", &VerifyReport::divergence, "The first value that isn't what it should be; None where they do.")
      .def("__bool__", [](const VerifyReport& self) { return self.passed; });
}

}  // namespace

void add_reports(nb::module_& module) {
  add_binding(module);
  add_estimate(module);
  add_explanation(module);
  add_verification(module);
}

}  // namespace sheaf::python
