#include "runtime/device/backend.h"
#include "tools/cli/options.h"
#include "tools/cli/report.h"
#include "tools/cli/run_main.h"

namespace sheaf {

OptionParser devices_options() {
  OptionParser parser("devices", "Lists the devices of this machine that plans can run on.");
  parser.flag("--json", "print one JSON object").example("the devices as JSON", {"sheaf devices --json"});
  return parser;
}

int devices_verb(std::span<const std::string> arguments) {
  const OptionParser parser = devices_options();
  auto options = parser.parse(arguments);
  if (!options) return report_usage(std::move(options.error()), "devices");
  if (options->help()) return print_help(parser);
  Json json = Json::object();
  std::string text;
  for (const DeviceBackend* backend : backends()) {
    if (!backend->enumerate) continue;
    DeviceListing listing = backend->enumerate();
    json[std::string(backend->name)] = std::move(listing.json);
    text += listing.text;
  }
  return print(options->has("--json") ? json.dump(2) + "\n" : text);
}

}  // namespace sheaf
