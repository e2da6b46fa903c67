// Metrics: the loss and the accuracy of finished outputs.
#include "sheaf/metrics.h"
#include "python/extension/arrays.h"
#include "python/extension/bindings.h"
#include "python/extension/errors.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

namespace nb = nanobind;
using namespace nb::literals;

namespace sheaf::python {

void add_metrics(nb::module_& module) {
  nb::class_<Metrics>(module, "Metrics",
                      "Sums of the loss and of right answers over finished outputs, as the model's training section asks.")
      .def(
          "__init__", [](Metrics* self, const SharedModel& model) { new (self) Metrics(value_of(Metrics::of(model.model))); },
          "model"_a)
      .def_prop_ro("output", &Metrics::output, "The number of the output that the loss is of.")
      .def_prop_ro(
          "target", [](const Metrics& self) { return self.target(); }, "The target's name.")
      .def(
          "add",
          [](Metrics& self, nb::handle output, nb::handle target, int64_t rows) {
            const GivenArray found(output, "the output", ""), wanted(target, "the target", "");
            if (auto done = self.add(found.view(), wanted.view(), rows); !done) raise(done.error());
          },
          "output"_a, "target"_a, "rows"_a, "Adds a batch of `rows` rows.")
      .def_prop_ro(
          "loss", [](const Metrics& self) { return self.result().loss; }, "The mean loss; None where there is none.")
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
