// How a verb ends: its exit status, its output on stdout, and errors on stderr.
#pragma once

#include "runtime/base/error.h"

#include <string>

namespace sheaf {

class OptionParser;

/// Exit statuses of every verb: done; the model, plan, data or run is at fault; the command line is.
inline constexpr int kDone = 0, kFailed = 1, kUsage = 2;

/// Prints the error to stderr and returns `status`.
int report(const Error& error, int status);

/// Reports a fault of the command line of `verb`, with a note on where its options are listed.
int report_usage(Error error, const std::string& verb);

/// Prints a warning to stderr.
void report_warning(const Diagnostic& warning);

/// Ends a verb that wrote to stdout: kDone, or kFailed with a message if stdout did not take all of it (a full disk).
int finish_stdout();
/// Writes `text` to stdout, with headings of tables coloured on a terminal, then calls finish_stdout().
int print(const std::string& text);

/// `--help`: the options' table as wide as the terminal.
int print_help(const OptionParser& parser);

}  // namespace sheaf
