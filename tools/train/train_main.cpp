#include "tools/train/train_main.h"

#include "runtime/world/launcher.h"
#include "tools/cli/report.h"
#include "tools/train/train_run.h"

namespace sheaf {
namespace {

/// All processes end together.
Result<Ending> left(ProcessWorld& world, Ending ending) {
  SHEAF_TRY(world.leave());
  return ending;
}

}  // namespace

int train_verb(std::span<const std::string> arguments) {
  const OptionParser parser = train_options();
  auto options = parser.parse(arguments);
  if (!options) return report_usage(std::move(options.error()), "train");
  if (options->help()) return print_help(parser);
  auto settings = train_settings(*options);
  if (!settings) return report_usage(std::move(settings.error()), "train");
  auto world = join_world();
  if (!world) return report(world.error(), kFailed);
  auto ending = TrainRun(std::move(*settings), *world).run();
  if (*world) {
    if (ending) ending = left(**world, *ending);
    if (!ending) (*world)->fail(ending.error());
  }
  if (!ending) return report(ending.error(), kFailed);
  if (*ending == Ending::stopped) return kFailed;
  return finish_stdout();
}

}  // namespace sheaf
