#include "runtime/base/error.h"

#include "runtime/base/printable.h"
#include "runtime/base/terminal.h"

#include <algorithm>
#include <string_view>

namespace sheaf {

namespace {

std::string_view word_of(Severity severity) {
  switch (severity) {
    case Severity::error: return "error";
    case Severity::warning: return "warning";
    case Severity::note: return "note";
  }
  return "error";
}

std::string_view colour_of(Severity severity, const Palette& palette) {
  switch (severity) {
    case Severity::error: return palette.error;
    case Severity::warning: return palette.warning;
    case Severity::note: return palette.note;
  }
  return palette.error;
}

/// The caret is under byte `column`; tabs are kept and the continuation bytes of UTF-8 take no room, so that it is where a
/// terminal shows that byte.
std::string caret_line(std::string_view source, int column, const Palette& palette) {
  std::string line;
  const std::string before = printable(source.substr(0, static_cast<size_t>(column - 1)), true);
  for (const char byte : before) {
    if ((static_cast<unsigned char>(byte) & 0xC0) == 0x80) continue;
    line += byte == '\t' ? '\t' : ' ';
  }
  return line + palette.paint(palette.caret, "^");
}

}  // namespace

std::string to_string(const Diagnostic& diagnostic) { return to_string(diagnostic, Palette{}); }

std::string to_string(const Diagnostic& diagnostic, const Palette& palette) {
  std::string text;
  const Location& at = diagnostic.location;
  if (!at.file.empty()) {
    text += printable(at.file);
    if (at.line > 0) {
      text += ':' + std::to_string(at.line);
      if (at.column > 0) text += ':' + std::to_string(at.column);
    }
    text += ": ";
  }
  text += palette.paint(colour_of(diagnostic.severity, palette), std::string(word_of(diagnostic.severity)) + ":");
  text += " " + shortened(diagnostic.message);
  if (!diagnostic.source_line.empty()) {
    text += '\n' + printable(diagnostic.source_line, true);
    if (at.column > 0) text += '\n' + caret_line(diagnostic.source_line, at.column, palette);
  }
  for (const std::string& note : diagnostic.notes) text += "\n" + palette.paint(palette.note, "note:") + " " + shortened(note);
  return text;
}

std::string to_string(const Error& error) { return to_string(error, Palette{}); }

std::string to_string(const Error& error, const Palette& palette) {
  std::string text;
  for (const Diagnostic& diagnostic : error.diagnostics) {
    if (!text.empty()) text += '\n';
    text += to_string(diagnostic, palette);
  }
  return text;
}

}  // namespace sheaf
