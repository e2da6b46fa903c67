// Metrics: the loss and the accuracy of finished outputs.
#include "sheaf/metrics.h"
#include "python/extension/arrays.h"
#include "python/extension/bindings.h"
#include "python/extension/errors.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>

namespace nb = nanobind;
using namespace nb::literals;

namespace sheaf::python {

void add_metrics(nb::module_& module) {
  nb::class_<Metrics>(module, "Metrics",
                      "Sums of the loss and of right answers over finished outputs, as the model's training section asks.")
      .def(
          "__init__", [](Metrics* self, const SharedModel& model) { new (self) Metrics(value_of(Metrics::of(model.model))); },
          "model"_a)
      .def_prop_ro(
          "inputs",
          [](const Metrics& self) {
            std::vector<std::pair<std::string, std::optional<size_t>>> made;
            for (const LossInput& input : self.inputs()) made.emplace_back(input.name, input.output);
            return made;
          },
          "The loss's inputs: names, each with its number among the model's outputs, or None if it is data.")
      .def(
          "add",
          [](Metrics& self, const std::vector<nb::handle>& tensors, int64_t rows) {
            std::vector<std::unique_ptr<GivenArray>> given;
            std::vector<TensorView> views;
            for (const nb::handle& tensor : tensors) {
              const std::string name = given.size() < self.inputs().size() ? self.inputs()[given.size()].name : "";
              views.push_back(given.emplace_back(std::make_unique<GivenArray>(tensor, "'" + name + "'", ""))->view());
            }
            if (auto done = self.add(views, rows); !done) raise(done.error());
          },
          "tensors"_a, "rows"_a, "Adds a batch of `rows` rows: a tensor for each of `inputs`.")
      .def_prop_ro(
          "loss", [](const Metrics& self) { return self.result().loss; }, "The mean loss; None if there is none.")
      .def_prop_ro(
          "metrics",
          [](const Metrics& self) {
            nb::dict made;
            for (const auto& [name, value] : self.result().metrics) made[nb::str(name.c_str())] = value;
            return made;
          },
          "{name: value} of the metrics that the model asks for.")
      .def_prop_ro("rows", [](const Metrics& self) { return self.result().rows; }, "Rows added.");
}

}  // namespace sheaf::python
