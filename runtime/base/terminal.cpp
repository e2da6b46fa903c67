#include "runtime/base/terminal.h"

#include <algorithm>
#include <cstdlib>
#include <sys/ioctl.h>
#include <unistd.h>

namespace sheaf {
namespace {

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

bool wants_colours(std::FILE* stream) {
  if (!environment("NO_COLOR").empty()) return false;
  if (const auto force = environment("FORCE_COLOR"); !force.empty() && force != "0") return true;
  return is_terminal(stream);
}

}  // namespace

std::string Palette::paint(std::string_view colour, std::string_view text) const {
  std::string painted;
  painted.reserve(colour.size() + text.size() + reset.size());
  return painted.append(colour).append(text).append(reset);
}

std::string with_headings(std::string_view text, const Palette& palette) {
  if (palette.heading.empty()) return std::string(text);
  std::string painted, before;
  const auto is_rule = [](std::string_view line) {
    if (line.empty()) return false;
    for (; line.starts_with("─"); line.remove_prefix(std::string_view("─").size())) {
    }
    return line.empty();
  };
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    const std::string_view line = text.substr(0, end);
    const bool heading = is_rule(line.substr(0, line.find('\n'))) && before.size() > 1;
    painted += heading ? palette.paint(palette.heading, before.substr(0, before.size() - 1)) + "\n" : before;
    before = line;
    text.remove_prefix(end);
  }
  return painted + before;
}

bool is_terminal(std::FILE* stream) { return ::isatty(::fileno(stream)) == 1 && environment("TERM") != "dumb"; }

Palette palette_of(std::FILE* stream) {
  if (!wants_colours(stream)) return {};
  // The colours that compilers use, readable on light and dark: bold red, magenta, cyan, green.
  return {.error = "\x1b[1;31m",
          .warning = "\x1b[1;35m",
          .note = "\x1b[1;36m",
          .caret = "\x1b[1;32m",
          .heading = "\x1b[1m",
          .name = "\x1b[36m",
          .reset = "\x1b[0m"};
}

int columns_of(std::FILE* stream, int otherwise) {
  winsize size{};
  return ::ioctl(::fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : otherwise;
}

}  // namespace sheaf
