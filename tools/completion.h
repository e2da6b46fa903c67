// Scripts that complete sheaf's command line in a shell, made from the table of verbs (tools/verbs.h).
#pragma once

#include "tools/cli/options.h"

#include <string>

namespace sheaf {

/// How a value is completed.
enum class ValueKind { none, choice, verb, file, model, plan, model_or_plan, directory, devices, source };
/// Derived from the option's choices, its use of files and the name of its placeholder: LIST, MODEL.json, PLAN, …
ValueKind value_kind(const OptionInfo& option);

/// The entries offered for a device list, and what a source may be besides a file.
inline constexpr const char* kOfferedDevices = "cpu cpu:0 cpu:1 cpu:2 cpu:3 cpu:0-1 cpu:0-3 cpu:0-7 cuda:0 cuda:1";
inline constexpr const char* kOfferedSources = "random:";

std::string bash_completion();
std::string zsh_completion();
std::string fish_completion();

}  // namespace sheaf
