// `--trace FILE` and `--profile`, which several verbs take.
#pragma once

#include "tools/cli/options.h"
#include "sheaf/trace.h"

#include <memory>
#include <string>

namespace sheaf {

void add_trace_options(OptionParser& parser);

/// The command line's request.
struct TraceRequest {
  std::string file;  ///< empty: no file
  bool profile = false;
  std::string devices;  ///< a description of the devices; empty: guessed

  explicit TraceRequest(const Options& options)
      : file(options.value("--trace")), profile(options.has("--profile")), devices(options.value("--describe")) {}
  TraceRequest() = default;
  /// Error, of the command line: --describe without --profile.
  static Result<void> check(const Options& options);
  /// Null if nothing is requested. Errors: the file couldn't be written at the end; a bad description of the devices.
  Result<std::shared_ptr<Trace>> open() const;
  /// After the run: writes the file, prints the profile on stdout. `trace` may be null.
  Result<void> finish(const Trace* trace) const;
};

}  // namespace sheaf
