#include "python/extension/errors.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace sheaf::python {
namespace {

const char* name_of(Severity severity) {
  switch (severity) {
    case Severity::error: return "error";
    case Severity::warning: return "warning";
    case Severity::note: return "note";
  }
  return "error";
}

}  // namespace

SignalsWait::SignalsWait() {
  sigset_t all;
  sigfillset(&all);
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP})
    sigdelset(&all, own);  // signals that a thread raises itself
  pthread_sigmask(SIG_BLOCK, &all, &before_);
}

SignalsWait::~SignalsWait() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

nb::tuple diagnostics_of(const std::vector<Diagnostic>& diagnostics) {
  const nb::object type = nb::module_::import_("sheaf.error").attr("Diagnostic");
  nb::list made;
  for (const Diagnostic& one : diagnostics) {
    made.append(type(one.message, one.location.file, one.location.line, one.location.column, one.source_line,
                     nb::tuple(nb::cast(one.notes)), name_of(one.severity)));
  }
  return nb::tuple(made);
}

void raise(const Error& error) {
  const nb::object type = nb::module_::import_("sheaf.error").attr("Error");
  const nb::object made = type(diagnostics_of(error.diagnostics));
  PyErr_SetObject(type.ptr(), made.ptr());
  throw nb::python_error();
}

}  // namespace sheaf::python
