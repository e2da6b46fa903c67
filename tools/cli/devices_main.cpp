#include "runtime/cpu/cpu_device.h"
#include "runtime/cuda/installation_text.h"
#include "tools/cli/options.h"
#include "runtime/plan/plan.h"
#include "tools/cli/report.h"
#include "tools/cli/run_main.h"

#include <cstdio>

namespace sheaf {

OptionParser devices_options() {
  OptionParser parser("devices", "Lists the devices that plans can run on here.");
  parser.flag("--json", "print one JSON object").example("what there is, as JSON", {"sheaf devices --json"});
  return parser;
}

int devices_verb(std::span<const std::string> arguments) {
  const OptionParser parser = devices_options();
  auto options = parser.parse(arguments);
  if (!options) return report_usage(std::move(options.error()), "devices");
  if (options->help()) return print_help(parser);
  const DeviceInfo& cpu = cpu_device()->info();
  const cuda::Installation installation = cuda::look_at_installation();
  if (options->has("--json")) {
    const Json json = {{"cpu", {{"model", cpu.model}, {"cores", cpu.cores}, {"isa", cpu.isa}, {"memory_bytes", cpu.memory_bytes}}},
                       {"cuda", cuda::to_json(installation, cuda::visible_devices())}};
    return print(json.dump(2) + "\n");
  }
  char line[64];
  std::snprintf(line, sizeof line, "%.1f GiB", static_cast<double>(cpu.memory_bytes) / (1 << 30));
  return print("cpu   " + cpu.model + ", " + std::to_string(cpu.cores) + (cpu.cores == 1 ? " core, " : " cores, ") + cpu.isa +
               ", " + line + "; cpu:0, cpu:1, … share its cores out\n" +
               cuda::to_text(installation, cuda::visible_devices()));
}

}  // namespace sheaf
