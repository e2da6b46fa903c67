#include "runtime/base/error.h"

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

/// The caret stands under byte `column`; tabs are kept and the continuation bytes of UTF-8 take no room, so
/// that it lands where a terminal shows that byte.
std::string caret_line(std::string_view source, int column) {
  std::string line;
  const size_t before = std::min(source.size(), static_cast<size_t>(column - 1));
  for (size_t i = 0; i < before; ++i) {
    if ((static_cast<unsigned char>(source[i]) & 0xC0) == 0x80) continue;
    line += source[i] == '\t' ? '\t' : ' ';
  }
  return line + '^';
}

}  // namespace

std::string to_string(const Diagnostic& diagnostic) {
  std::string text;
  const Location& at = diagnostic.location;
  if (!at.file.empty()) {
    text += at.file;
    if (at.line > 0) {
      text += ':' + std::to_string(at.line);
      if (at.column > 0) text += ':' + std::to_string(at.column);
    }
    text += ": ";
  }
  text += word_of(diagnostic.severity);
  text += ": " + diagnostic.message;
  if (!diagnostic.source_line.empty()) {
    text += '\n' + diagnostic.source_line;
    if (at.column > 0) text += '\n' + caret_line(diagnostic.source_line, at.column);
  }
  for (const std::string& note : diagnostic.notes) text += "\nnote: " + note;
  return text;
}

std::string to_string(const Error& error) {
  std::string text;
  for (const Diagnostic& diagnostic : error.diagnostics) {
    if (!text.empty()) text += '\n';
    text += to_string(diagnostic);
  }
  return text;
}

}  // namespace sheaf
