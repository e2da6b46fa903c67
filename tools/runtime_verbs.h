// The verbs that need no compiler: those of `sheaf-run`, and of `sheaf` itself.
#pragma once

#include "tools/bench/bench_main.h"
#include "tools/cli/run_main.h"
#include "tools/cli/verb.h"
#include "tools/estimate/estimate_main.h"
#include "tools/train/eval_main.h"
#include "tools/train/train_main.h"
#include "tools/train/train_settings.h"

#include <optional>
#include <string>
#include <vector>

namespace sheaf {

inline constexpr Verb kRun = {run_options, run_verb}, kTrain = {train_options, train_verb}, kEval = {eval_options, eval_verb},
                      kEstimate = {estimate_options, estimate_verb}, kBench = {bench_options, bench_verb},
                      kDevices = {devices_options, devices_verb};

/// The exit status of the verb that `arguments` begin with (`run …`, `train …`, `--version`); none if they begin with none of them.
std::optional<int> named_runtime_verb(const std::vector<std::string>& arguments);

/// The same, and `run` where they begin with none of them: main() of `sheaf-run`.
int runtime_verb(std::vector<std::string> arguments);

}  // namespace sheaf
