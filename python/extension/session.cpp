// Sessions: a model bound to devices and a batch size.
#include "sheaf/session.h"
#include "python/extension/arrays.h"
#include "python/extension/bindings.h"
#include "python/extension/errors.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <mutex>
#include <span>

namespace nb = nanobind;
using namespace nb::literals;

namespace sheaf::python {
namespace {

struct BoundSession {
  SharedModel model;
  std::string devices;
  Session session;
  RunOptions options = run_options();
  std::mutex one_at_a_time = {};
};

/// Runs `work()` with the session to itself, without the GIL.
template <typename Work>
auto in_turn(BoundSession& self, Work work) {
  return without_gil([&] {
    const std::lock_guard turn(self.one_at_a_time);
    const std::shared_lock together(*self.model.access);
    return work();
  });
}

/// Arrays to write to: the caller's, one or several, or by name in a dict.
std::vector<WrittenArray> written_arrays(nb::handle out) {
  std::vector<WrittenArray> arrays;
  if (nb::isinstance<nb::dict>(out)) {
    for (const auto [key, value] : nb::borrow<nb::dict>(out)) {
      std::string name = nb::cast<std::string>(nb::str(key));
      const std::string what = "output '" + name + "'";
      arrays.emplace_back(value, what, std::move(name));
    }
  } else if (nb::isinstance<nb::tuple>(out) || nb::isinstance<nb::list>(out)) {
    for (const nb::handle value : out) arrays.emplace_back(value, "output number " + std::to_string(arrays.size()), "");
  } else {
    arrays.emplace_back(out, "the output", "");
  }
  return arrays;
}

void run_into(BoundSession& self, std::span<const TensorView> inputs, nb::handle out) {
  const auto written = written_arrays(out);
  std::vector<MutableTensorView> outputs;
  for (const WrittenArray& array : written) outputs.push_back(array.view());
  in_turn(self, [&] { return self.session.run(inputs, outputs, self.options); });
}

nb::object run(BoundSession& self, nb::args positional, nb::object out, nb::kwargs named) {
  const auto arrays = given_arrays("input", positional, named);
  const auto inputs = views_of(arrays);
  if (!out.is_none()) {
    run_into(self, inputs, out);
    return out;
  }
  const auto& declared = self.model.model.outputs();
  auto shapes = in_turn(self, [&] { return self.session.output_shapes(inputs); });
  const Library library = library_of(positional, named);
  std::vector<NewArray> made;
  std::vector<MutableTensorView> outputs;
  for (size_t i = 0; i < declared.size(); ++i)
    outputs.push_back(made.emplace_back(library, declared[i].dtype, std::move(shapes[i])).view);
  in_turn(self, [&] { return self.session.run(inputs, outputs, self.options); });
  if (made.size() == 1) return std::move(made[0].array);
  nb::list results, names;
  for (size_t i = 0; i < made.size(); ++i) {
    results.append(made[i].array);
    names.append(declared[i].name);
  }
  return nb::module_::import_("sheaf.outputs").attr("Outputs")(results, names);
}

}  // namespace

void add_session(nb::module_& module) {
  nb::class_<BoundSession>(
      module, "Session",
      "A model bound to devices and a batch size, ready to run. Weights are the model's, as they are at each run.\n\n"
      "Threads may share it: they take turns, without holding the GIL.")
      .def(
          "__init__",
          [](BoundSession* self, const SharedModel& model, const std::string& devices, int64_t batch,
             const std::string& numerics, bool deterministic, int threads, std::optional<int> shards, const std::string& tune,
             const LengthNumbers& lengths) {
            BindOptions options = bind_options(numerics, deterministic, threads, 1, shards, tune);
            options.lengths = lengths;
            auto session = without_gil([&] {
              const std::shared_lock together(*model.access);
              return model.model.bind(devices, batch, options);
            });
            new (self) BoundSession{model, devices, std::move(session)};
          },
          "model"_a, "devices"_a, "batch"_a, nb::kw_only(), "numerics"_a = "strict", "deterministic"_a = true, "threads"_a = 0,
          "shards"_a = nb::none(), "tune"_a = "off", "lengths"_a = LengthNumbers())
      .def("run", &run, "inputs"_a, "out"_a = nb::none(), "named"_a, nb::sig("def run(self, *inputs, out=None, **named)"),
           "Runs the model. Inputs come in the model's order, or by name as keywords or in one dict; each is an array of "
           "NumPy's, a\n"
           "tensor of torch's, or anything with DLPack or the buffer protocol, in host memory. It is read in place, and copied "
           "only\n"
           "where it isn't dense and row-major. Its sizes are the model's, with any number of rows from 0 to `batch`; another "
           "number\n"
           "than before is bound at its first run.\n\n"
           "Gives the output, or several as a tuple that knows their names, too; tensors of torch's where an input is one, "
           "else NumPy\n"
           "arrays. `out`: arrays to write to instead, one, several in order, or a dict by name; they are given back.\n\n"
           "Raises sheaf.Error: an input is missing, superfluous, or of another type or shape; a device fails. "
           "KeyboardInterrupt comes\n"
           "after the run that it fell into.")
      .def_prop_ro(
          "batch", [](const BoundSession& self) { return self.session.batch(); }, "Rows of a whole batch.")
      .def_prop_ro(
          "devices", [](const BoundSession& self) { return self.devices; }, "The device list, as it was given.")
      .def(
          "prepare",
          [](BoundSession& self, int64_t rows, const LengthNumbers& lengths) {
            in_turn(self, [&] { return self.session.prepare(rows, lengths); });
          },
          "rows"_a, "lengths"_a = LengthNumbers(),
          "Binds `rows` rows, too, from 0 to `batch`, so that no run has to. `lengths`: {name: number}; the others are as in "
          "bind().")
      .def_prop_ro(
          "report", [](const BoundSession& self) { return self.session.report(); },
          "Of a whole batch: memory, and the implementations chosen.");
}

}  // namespace sheaf::python
