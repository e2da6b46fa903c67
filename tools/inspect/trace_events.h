// Reads the events of a trace one after another: a long trace is never in memory as a whole tree of values.
#pragma once

#include "runtime/base/error.h"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace sheaf {

/// Takes an event; returns what is wrong with it, or nothing.
using TakeEvent = std::function<std::optional<std::string>(const nlohmann::json& event)>;

/// Passes each element of a trace's array of events, {"traceEvents": […]} or the bare array, to `take` in order, and returns
/// their number. Errors, located in `text` (of `file`): not JSON, JSON nested too deep, neither of the two forms, and `take`'s
/// own for an event.
Result<size_t> for_each_event(const std::string& file, std::string_view text, const TakeEvent& take);

}  // namespace sheaf
