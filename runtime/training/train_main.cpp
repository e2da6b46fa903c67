#include "runtime/training/train_main.h"

#include "runtime/report.h"
#include "runtime/training/train_run.h"

#include <cstdio>

namespace sheaf {

int train_verb(std::span<const std::string> arguments) {
  const OptionParser parser = train_options();
  auto options = parser.parse(arguments);
  if (!options) return report_usage(std::move(options.error()), "train");
  if (options->help()) {
    std::fputs(parser.help().c_str(), stdout);
  } else {
    auto settings = train_settings(*options);
    if (!settings) return report_usage(std::move(settings.error()), "train");
    auto ending = TrainRun(std::move(*settings)).run();
    if (!ending) return report(ending.error(), kFailed);
    if (*ending == Ending::stopped) return kFailed;
  }
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return kDone;
  return report(Error("stdout cannot be written"), kFailed);
}

}  // namespace sheaf
