// sheaf's errors in Python: Results give their value, or raise sheaf.Error.
#pragma once

#include "runtime/base/error.h"

#include <nanobind/nanobind.h>

#include <csignal>
#include <vector>

namespace sheaf::python {

/// Raises sheaf.Error with these diagnostics. The caller holds the GIL.
[[noreturn]] void raise(const Error& error);

/// A tuple of sheaf.Diagnostic. The caller holds the GIL.
nanobind::tuple diagnostics_of(const std::vector<Diagnostic>& diagnostics);

/// The result's value, or its error raised. The caller holds the GIL.
template <typename T>
T value_of(Result<T> result) {
  if (!result) raise(result.error());
  return *std::move(result);
}

/// While one of these exists, the calling thread takes no signals, and neither does a thread that it starts. They wait:
/// oneDNN's kernels keep data beyond the stack's end, where a signal's handler would write.
class SignalsWait {
 public:
  SignalsWait();
  ~SignalsWait();
  SignalsWait(const SignalsWait&) = delete;
  SignalsWait& operator=(const SignalsWait&) = delete;

 private:
  sigset_t before_;
};

/// The result of `work()`, run without the GIL and without signals; raises its error. A Ctrl-C that came meanwhile is raised
/// after it, once everything is done.
template <typename Work>
auto without_gil(Work work) {
  auto result = [&] {
    const nanobind::gil_scoped_release release;
    const SignalsWait signals;
    return work();
  }();
  if (!result) raise(result.error());
  if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
  if constexpr (requires { *result; }) return *std::move(result);
}

}  // namespace sheaf::python
