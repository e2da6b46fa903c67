// Plans, and the compiler.
#include "python/extension/bindings.h"
#include "python/extension/errors.h"
#include "sheaf/compiler.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace nb::literals;

namespace sheaf::python {
namespace {

nb::tuple compile(const std::string& model, bool is_file, const std::string& name, const std::string& precision,
                  const std::string& strategy, const std::string& training, int64_t device_memory, const std::string& gradients,
                  const std::vector<std::string>& gradients_of) {
  CompilerOptions options;
  options.precision = precision;
  options.strategy = strategy;
  options.training = training;
  options.device_memory = device_memory;
  options.gradients = gradients;
  options.gradients_of = gradients_of;
  auto compiled = without_gil([&] { return is_file ? compile_file(model, options) : compile_text(model, options, name); });
  return nb::make_tuple(std::move(compiled.plan), diagnostics_of(compiled.warnings), compiled.mixes_rows);
}

nb::bytes content(const SharedPlan& plan) {
  std::string text;
  {
    const nb::gil_scoped_release release;
    text = plan.text();
  }
  return nb::bytes(text.data(), text.size());
}

}  // namespace

void add_plan(nb::module_& module) {
  nb::class_<SharedPlan>(module, "Plan", nb::dynamic_attr(),
                         "A compiled model. One plan serves every device list and batch size; unchangeable.")
      .def(nb::init<const SharedPlan&>(), "plan"_a, "The same plan.")
      .def_static(
          "_load", [](const std::string& file) { return without_gil([&] { return SharedPlan::load(file); }); }, "file"_a,
          "The plan of a file.")
      .def_static(
          "_parse",
          [](nb::bytes text, const std::string& name) {
            return without_gil([&] { return SharedPlan::parse({text.c_str(), text.size()}, name); });
          },
          "text"_a, "name"_a = "plan", "The plan of a file's content.")
      .def_prop_ro(
          "name", [](const SharedPlan& plan) { return plan.name(); }, "The model's name.")
      .def_prop_ro(
          "precision", [](const SharedPlan& plan) { return plan.precision(); }, "\"f32\", \"bf16\" or \"f16\": its arithmetic.")
      .def_prop_ro("programs", &SharedPlan::programs,
                   "[\"infer\"]; with a training section also \"train\", and \"accumulate\" and \"update\", a step in "
                   "micro-batches; with "
                   "gradients\n\"forward\" and \"backward\".")
      .def_prop_ro("_training", &SharedPlan::training, "The training section as JSON; empty if there is none.")
      .def("__bytes__", &content, "The plan file's content. Equal plans give equal bytes.")
      .def(
          "_save", [](const SharedPlan& plan, const std::string& file) { without_gil([&] { return plan.write(file); }); },
          "file"_a);
  module.def("compile", &compile, "model"_a, "is_file"_a, "name"_a, "precision"_a, "strategy"_a, "training"_a,
             "device_memory"_a, "gradients"_a = "", "gradients_of"_a = std::vector<std::string>(),
             "(plan, warnings, mixes_rows) of a model file, or of its text.");
}

}  // namespace sheaf::python
