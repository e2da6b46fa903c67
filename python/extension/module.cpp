// The module sheaf._sheaf: sheaf's C++ interface for Python. The package's own modules (python/sheaf) are what users see.
#include "python/extension/bindings.h"

NB_MODULE(_sheaf, module) {
  // Objects that autograd's graph or TorchDynamo's cache still holds when the interpreter ends aren't freed.
  nanobind::set_leak_warnings(false);
  module.doc() = "sheaf's C++ interface. Errors are sheaf.Error; work of any length is done without the GIL.";
  sheaf::python::add_plan(module);
  sheaf::python::add_model(module);
  sheaf::python::add_reports(module);
  sheaf::python::add_session(module);
  sheaf::python::add_trainer(module);
  sheaf::python::add_gradients(module);
  sheaf::python::add_metrics(module);
  sheaf::python::add_inspection(module);
}
