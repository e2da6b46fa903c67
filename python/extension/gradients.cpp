// Forward and backward passes on the caller's parameters.
#include "python/extension/bindings.h"
#include "python/extension/errors.h"
#include "sheaf/devices.h"
#include "sheaf/gradients.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <mutex>

namespace nb = nanobind;
using namespace nb::literals;

namespace sheaf::python {
namespace {

struct BoundFunction {
  DifferentiableSession session;
  std::vector<std::vector<int64_t>> output_shapes, gradient_shapes;
  RunOptions options = run_options();
  std::mutex one_at_a_time = {};
};

/// Addresses, as integers, that torch's tensors report themselves. The caller has checked the tensors.
using Addresses = std::vector<uintptr_t>;

std::vector<const void*> read(const Addresses& addresses) {
  std::vector<const void*> pointers;
  for (const uintptr_t address : addresses) pointers.push_back(reinterpret_cast<const void*>(address));
  return pointers;
}

std::vector<void*> written(const Addresses& addresses) {
  std::vector<void*> pointers;
  for (const uintptr_t address : addresses) pointers.push_back(reinterpret_cast<void*>(address));
  return pointers;
}

void bind(BoundFunction* self, const Differentiable& function, const DeviceList& devices, int64_t rows, bool backward,
          const std::string& numerics, bool deterministic, const LengthNumbers& lengths) {
  BindOptions options = bind_options(numerics, deterministic);
  options.lengths = lengths;
  auto session = without_gil([&] { return function.bind(devices, rows, options, backward); });
  std::vector<std::vector<int64_t>> outputs, gradients;
  for (size_t i = 0; i < function.outputs().size(); ++i) outputs.push_back(session.output_shape(i));
  for (size_t i = 0; backward && i < function.gradients().size(); ++i) gradients.push_back(session.gradient_shape(i));
  new (self) BoundFunction{std::move(session), std::move(outputs), std::move(gradients)};
}

void forward(BoundFunction& self, const Addresses& inputs, const Addresses& outputs, int64_t step, int64_t seed) {
  const auto from = read(inputs);
  const auto to = written(outputs);
  without_gil([&] {
    const std::lock_guard turn(self.one_at_a_time);
    return self.session.forward(from, to, {step, seed}, self.options);
  });
}

void backward(BoundFunction& self, const Addresses& output_gradients, const Addresses& gradients) {
  const auto from = read(output_gradients);
  const auto to = written(gradients);
  without_gil([&] {
    const std::lock_guard turn(self.one_at_a_time);
    return self.session.backward(from, to, self.options);
  });
}

}  // namespace

void add_gradients(nb::module_& module) {
  nb::class_<DeviceList>(module, "DeviceList", "Opened devices: what is bound to them shares them.")
      .def(
          "__init__",
          [](DeviceList* self, const std::string& devices, int threads, std::optional<int> shards) {
            const BindOptions options = bind_options("strict", true, threads, 1, shards);
            new (self) DeviceList(without_gil([&] { return DeviceList::open(devices, options.threads, options.shards); }));
          },
          "devices"_a, nb::kw_only(), "threads"_a = 0, "shards"_a = nb::none())
      .def("__len__", &DeviceList::size)
      .def("__repr__", [](const DeviceList& self) { return "<" + self.text() + ">"; });
  nb::class_<Differentiable>(module, "Differentiable", "A plan's programs forward and backward; parameters are the caller's.")
      .def(
          "__init__",
          [](Differentiable* self, const SharedPlan& plan) {
            new (self) Differentiable(value_of(Differentiable::from_plan(plan)));
          },
          "plan"_a)
      .def_prop_ro(
          "inputs", [](const Differentiable& self) { return self.inputs(); }, "Inputs, then parameters and buffers.")
      .def_prop_ro(
          "outputs", [](const Differentiable& self) { return self.outputs(); }, "Outputs, then new values of buffers.")
      .def_prop_ro(
          "lengths", [](const Differentiable& self) { return largest_numbers(self.lengths()); },
          "Sizes besides the batch that a run determines: {name: the largest number, or None}.")
      .def_prop_ro("draws", &Differentiable::draws, "Whether a forward pass depends on random numbers.")
      .def_prop_ro(
          "output_gradients", [](const Differentiable& self) { return self.output_gradients(); },
          "What the backward pass takes.")
      .def_prop_ro("gradients", [](const Differentiable& self) { return self.gradients(); }, "What the backward pass gives.");
  nb::class_<BoundFunction>(module, "DifferentiableSession",
                            "Forward and backward passes bound to devices and rows. It keeps the values of one forward pass.")
      .def("__init__", &bind, "function"_a, "devices"_a, "rows"_a, "backward"_a = true, nb::kw_only(), "numerics"_a = "strict",
           "deterministic"_a = true, "lengths"_a = LengthNumbers())
      .def_ro("output_shapes", &BoundFunction::output_shapes, "Sizes of the outputs.")
      .def_ro("gradient_shapes", &BoundFunction::gradient_shapes, "Sizes of the gradients.")
      .def_prop_ro(
          "rows", [](const BoundFunction& self) { return self.session.rows(); }, "Rows that it is bound to.")
      .def("_forward", &forward, "inputs"_a, "outputs"_a, "step"_a, "seed"_a)
      .def("_backward", &backward, "output_gradients"_a, "gradients"_a);
}

}  // namespace sheaf::python
