#include "runtime/trace/trace_options.h"

#include "runtime/base/file.h"
#include "runtime/trace/print_profile.h"

#include <cstdio>

namespace sheaf {

void add_trace_options(OptionParser& parser) {
  parser
      .option("--trace", "FILE", "when each operation ran, on each lane, for ui.perfetto.dev or chrome://tracing; the last 100,000 operations")
      .flag("--profile", "print the time by layer and by kind of operation, and what it achieved");
}

Result<std::shared_ptr<Trace>> TraceRequest::open() const {
  if (auto ok = check_output(file); !ok) return ok.error();
  return file.empty() && !profile ? std::shared_ptr<Trace>() : std::make_shared<Trace>();
}

Result<void> TraceRequest::finish(const Trace* trace) const {
  if (!trace) return {};
  if (!file.empty()) {
    if (auto ok = trace->write(file); !ok) return ok;
  }
  if (profile) std::fputs(profiles_text(trace->profiles()).c_str(), stdout);
  return {};
}

}  // namespace sheaf
