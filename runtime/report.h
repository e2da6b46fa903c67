// How a verb ends: its exit status, and errors on stderr.
#pragma once

#include "runtime/base/error.h"

#include <string>

namespace sheaf {

/// Exit statuses of every verb: done; the model, plan, data or run is at fault; the command line is.
inline constexpr int kDone = 0, kFailed = 1, kUsage = 2;

/// Prints the error to stderr and gives `status` back.
int report(const Error& error, int status);

/// Reports a fault of the command line of `verb`, with a note on where its options are listed.
int report_usage(Error error, const std::string& verb);

}  // namespace sheaf
