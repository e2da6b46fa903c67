// Looking at plans: dump, estimate, explain, verify.
#include "sheaf/inspect.h"
#include "python/extension/bindings.h"
#include "python/extension/errors.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <mutex>

namespace nb = nanobind;
using namespace nb::literals;

namespace sheaf::python {
namespace {

InspectRequest request(const std::string& program, const std::string& devices, int64_t batch, const std::string& numerics) {
  InspectRequest asked;
  asked.program = program;
  asked.devices = devices;
  asked.batch = batch;
  asked.bind = bind_options(numerics);
  return asked;
}

VerifyReport verify(const SharedModel& model, const std::string& devices, int64_t batch, uint64_t seed, int steps,
                    double tolerance, bool infer, bool train, const std::string& numerics) {
  const VerifyRequest asked{devices, batch, seed, steps, tolerance, infer, train, bind_options(numerics)};
  return without_gil([&] {
    const std::shared_lock together(*model.access);
    return verify_model(model.model, asked);
  });
}

/// (nodes, [(from, to, value, dtype, shape)])
nb::tuple graph(const SharedPlan& plan, const std::string& program, const std::string& devices, int64_t batch) {
  const auto asked = request(program, devices, batch, "strict");
  const auto found = without_gil([&] { return plan_graph(plan, asked); });
  nb::list edges;
  for (const PlanEdge& edge : found.edges) {
    nb::list shape;
    for (const Extent& size : edge.shape) {
      if (size.is_static()) {
        shape.append(size.constant);
      } else {
        shape.append(to_string(size));
      }
    }
    edges.append(nb::make_tuple(edge.from, edge.to, edge.value, std::string(name_of(edge.dtype)), nb::tuple(shape)));
  }
  return nb::make_tuple(nb::cast(found.nodes), edges);
}

std::string draw(const SharedPlan& plan, const std::string& format, const std::string& program, const std::string& devices,
                 int64_t batch) {
  const auto asked = request(program, devices, batch, "strict");
  return without_gil([&] { return draw_plan(plan, format, asked); });
}

EstimateReport estimate(const SharedPlan& plan, const std::string& program, const std::string& devices, int64_t batch,
                        const std::string& numerics) {
  const auto asked = request(program, devices, batch, numerics);
  return without_gil([&] { return estimate_plan(plan, asked); });
}

LargestBatchReport largest(const SharedPlan& plan, double memory_bytes, const std::string& program, const std::string& devices,
                           int64_t batch, const std::string& numerics) {
  const auto asked = request(program, devices, batch, numerics);
  return without_gil([&] { return largest_batch(plan, asked, memory_bytes); });
}

ExplainReport explain(const SharedPlan& plan, const std::string& layer, const std::string& program, const std::string& devices,
                      int64_t batch, const std::string& numerics) {
  const auto asked = request(program, devices, batch, numerics);
  return without_gil([&] { return explain_plan(plan, asked, layer); });
}

}  // namespace

void add_inspection(nb::module_& module) {
  module.def("graph", &graph, "plan"_a, "program"_a, "devices"_a, "batch"_a);
  module.def("draw", &draw, "plan"_a, "format"_a, "program"_a, "devices"_a, "batch"_a);
  module.def("estimate", &estimate, "plan"_a, "program"_a, "devices"_a, "batch"_a, "numerics"_a);
  module.def("largest_batch", &largest, "plan"_a, "memory_bytes"_a, "program"_a, "devices"_a, "batch"_a, "numerics"_a);
  module.def("explain", &explain, "plan"_a, "layer"_a, "program"_a, "devices"_a, "batch"_a, "numerics"_a);
  module.def("verify", &verify, "model"_a, "devices"_a, "batch"_a, "seed"_a, "steps"_a, "tolerance"_a, "infer"_a, "train"_a,
             "numerics"_a);
  module.def("devices_json", &devices_json);
}

}  // namespace sheaf::python
