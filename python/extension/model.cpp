// Models: a plan with its weights.
#include "python/extension/arrays.h"
#include "python/extension/bindings.h"
#include "python/extension/errors.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <mutex>
#include <optional>

namespace nb = nanobind;
using namespace nb::literals;

namespace sheaf::python {
namespace {

/// Runs `work()` with the model's weights to itself, or together with others that only read them; without the GIL.
template <typename Work>
auto alone(const SharedModel& self, Work work) {
  return without_gil([&] {
    const std::unique_lock lock(*self.access);
    return work();
  });
}
template <typename Work>
auto together(const SharedModel& self, Work work) {
  return without_gil([&] {
    const std::shared_lock lock(*self.access);
    return work();
  });
}

void set_parameters(SharedModel& self, nb::dict tensors) {
  const auto arrays = given_arrays("weight", tensors);
  const auto views = views_of(arrays);
  alone(self, [&] { return self.model.set_parameters(views); });
}

nb::tuple update_parameters(SharedModel& self, nb::dict tensors) {
  const auto arrays = given_arrays("weight", tensors);
  const auto views = views_of(arrays);
  const auto match = alone(self, [&] { return self.model.update_parameters(views); });
  return nb::make_tuple(nb::cast(match.missing), nb::cast(match.unexpected));
}

nb::dict read_parameters(const SharedModel& self, bool torch) {
  return arrays_of(torch ? Library::torch : Library::numpy, together(self, [&] { return self.model.read_parameters(); }));
}

std::string dtype_name(DType dtype) { return std::string(name_of(dtype)); }

nb::tuple sizes_of(const std::vector<Extent>& shape) {
  nb::list sizes;
  for (const Extent& size : shape) {
    if (size.is_static()) {
      sizes.append(size.constant);
    } else {
      sizes.append(to_string(size));
    }
  }
  return nb::tuple(sizes);
}

nb::tuple sizes_of(const std::vector<int64_t>& shape) { return nb::tuple(nb::cast(shape)); }

/// "<x: float32 ('batch', 5)>"
template <typename Info>
std::string described(const Info& self) {
  return "<" + self.name + ": " + dtype_name(self.dtype) + " " + nb::cast<std::string>(nb::str(sizes_of(self.shape))) + ">";
}

void add_descriptions(nb::module_& module) {
  nb::class_<ValueInfo>(module, "Value", "An input, a target or an output of a model.")
      .def_ro("name", &ValueInfo::name, "Its name.")
      .def_prop_ro(
          "dtype", [](const ValueInfo& self) { return dtype_name(self.dtype); }, "Element type: \"float32\", \"int64\", …")
      .def_prop_ro(
          "shape", [](const ValueInfo& self) { return sizes_of(self.shape); }, "Sizes; \"batch\" where one is the batch's.")
      .def_prop_ro(
          "batch_dim", [](const ValueInfo& self) { return self.batch_dim < 0 ? std::optional<int>() : self.batch_dim; },
          "The dimension along which rows are counted; None where no size depends on the batch.")
      .def("__repr__", &described<ValueInfo>);
  nb::class_<ParameterInfo>(module, "Parameter", "A parameter or buffer of a model.")
      .def_ro("name", &ParameterInfo::name, "PyTorch's name, with every `module.` in place.")
      .def_prop_ro(
          "dtype", [](const ParameterInfo& self) { return dtype_name(self.dtype); }, "Element type.")
      .def_prop_ro(
          "shape", [](const ParameterInfo& self) { return sizes_of(self.shape); }, "Sizes.")
      .def_ro("buffer", &ParameterInfo::buffer, "Whether it is a buffer, as a batch norm's statistics are.")
      .def("__repr__", &described<ParameterInfo>);
}

}  // namespace

void add_model(nb::module_& module) {
  add_descriptions(module);
  nb::class_<SharedModel>(module, "Model", nb::dynamic_attr(), "A plan with its weights.")
      .def(
          "__init__",
          [](SharedModel* self, const SharedPlan& plan) { new (self) SharedModel{value_of(Model::from_plan(plan))}; }, "plan"_a)
      .def_prop_ro(
          "name", [](const SharedModel& self) { return self.model.name(); }, "The model's name.")
      .def_prop_ro(
          "inputs", [](const SharedModel& self) { return self.model.inputs(); }, "Its inputs, in the order of Session.run.")
      .def_prop_ro(
          "outputs", [](const SharedModel& self) { return self.model.outputs(); }, "Its outputs, in the order of Session.run.")
      .def_prop_ro(
          "parameters", [](const SharedModel& self) { return self.model.parameters(); }, "Parameters and buffers, described.")
      .def_prop_ro(
          "lengths", [](const SharedModel& self) { return largest_numbers(self.model.lengths()); },
          "Sizes besides the batch that a run determines, such as a sequence's: {name: the largest number, or None}.")
      .def("_set_parameters", &set_parameters, "tensors"_a)
      .def("_update_parameters", &update_parameters, "tensors"_a)
      .def("_read_parameters", &read_parameters, "torch"_a)
      .def(
          "initialise",
          [](SharedModel& self, uint64_t seed) { alone(self, [&] { return self.model.initialise_parameters(seed); }); },
          "seed"_a = 0,
          "Draws all parameters from their initial distributions. The same seed gives the same values everywhere.")
      .def(
          "_load",
          [](SharedModel& self, const std::string& file) {
            return diagnostics_of(alone(self, [&] { return self.model.load_parameters(file); }));
          },
          "file"_a)
      .def(
          "_save",
          [](const SharedModel& self, const std::string& file) {
            together(self, [&] { return self.model.save_parameters(file); });
          },
          "file"_a);
}

}  // namespace sheaf::python
