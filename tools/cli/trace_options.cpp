#include "tools/cli/trace_options.h"

#include "runtime/base/file.h"
#include "tools/cli/print_profile.h"

#include <cstdio>

namespace sheaf {

void add_trace_options(OptionParser& parser) {
  parser.group("Where the time goes")
      .option("--trace", "FILE",
              "when each operation ran, on each lane, for ui.perfetto.dev or chrome://tracing; the last 100,000 operations")
      .writes({".json"})
      .flag("--profile", "print time and achieved rates by layer and by kind of operation")
      .option("--describe", "FILE",
              "the devices' rates, as written by `sheaf bench --calibrate`, for --profile; without it, a guess")
      .file(FileUse::input);
}

Result<void> TraceRequest::check(const Options& options) {
  if (!options.has("--describe") || options.has("--profile")) return {};
  return Error("--describe needs --profile: it describes the devices behind the shares of the roofline");
}

Result<std::shared_ptr<Trace>> TraceRequest::open() const {
  SHEAF_TRY(check_output(file));
  if (file.empty() && !profile) return std::shared_ptr<Trace>();
  auto trace = std::make_shared<Trace>();
  if (devices.empty()) return trace;
  SHEAF_TRY(trace->describe_devices(devices));
  return trace;
}

Result<void> TraceRequest::finish(const Trace* trace) const {
  if (!trace) return {};
  if (!file.empty()) {
    SHEAF_TRY(trace->write(file));
  }
  if (profile) std::fputs(profiles_text(trace->profiles()).c_str(), stdout);
  return {};
}

}  // namespace sheaf
