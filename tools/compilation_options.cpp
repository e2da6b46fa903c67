#include "tools/compilation_options.h"

#include "runtime/base/byte_size.h"

#include <algorithm>

namespace sheaf {

void compilation_options(OptionParser& parser) {
  parser.option("--precision", "P", "arithmetic of the plan; parameters, statistics and sums stay f32 (docs/precision.md)")
      .choices({"f32", "bf16", "f16"})
      .option("--strategy", "S",
              "how much of parameters and state each replica keeps in training: nothing, all, or a share (docs/strategies.md)")
      .choices({strategy_names().begin(), strategy_names().end()})
      .option("--device-memory", "SIZE", "memory of a device, e.g. 16GiB; a larger embedding table goes to the host");
}

Result<CompileOptions> compilation_of(const Options& options) {
  CompileOptions compilation;
  compilation.precision = options.value("--precision");
  compilation.strategy = *strategy_from_name(options.value("--strategy"));
  if (options.has("--device-memory")) {
    SHEAF_ASSIGN(auto bytes, parse_byte_size(options.value("--device-memory"), "--device-memory"));
    compilation.device_memory = static_cast<int64_t>(std::min(bytes, 0x1p60));
  }
  return compilation;
}

}  // namespace sheaf
