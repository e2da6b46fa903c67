#include "tools/train/train_main.h"

#include "tools/cli/report.h"
#include "tools/train/train_run.h"

namespace sheaf {

int train_verb(std::span<const std::string> arguments) {
  const OptionParser parser = train_options();
  auto options = parser.parse(arguments);
  if (!options) return report_usage(std::move(options.error()), "train");
  if (options->help()) return print_help(parser);
  auto settings = train_settings(*options);
  if (!settings) return report_usage(std::move(settings.error()), "train");
  auto ending = TrainRun(std::move(*settings)).run();
  if (!ending) return report(ending.error(), kFailed);
  if (*ending == Ending::stopped) return kFailed;
  return finish_stdout();
}

}  // namespace sheaf
