// A trace as text in Chrome's trace event format, which Perfetto reads too (internal to runtime/trace).
// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
#pragma once

#include "sheaf/trace.h"

#include <string>

namespace sheaf {

std::string chrome_trace(const Trace::State& state);

}  // namespace sheaf
