#include "frontend/problems.h"

#include <algorithm>

namespace sheaf::frontend {
namespace {

// A longer line (a minified file) would bury the message that quotes it.
constexpr size_t longest_quoted_line = 2000;

}  // namespace

Problems::Problems(std::string file, std::string_view text) : file_(std::move(file)), text_(text), line_starts_{0} {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') line_starts_.push_back(i + 1);
  }
}

std::string Problems::source_line(int line) const {
  if (line < 1 || static_cast<size_t>(line) > line_starts_.size()) return {};
  size_t begin = line_starts_[line - 1];
  size_t end = std::min(text_.find('\n', begin), text_.size());
  if (end > begin && text_[end - 1] == '\r') --end;
  if (end - begin > longest_quoted_line) return {};
  return std::string(text_.substr(begin, end - begin));
}

void Problems::add(TextPlace place, std::string message, std::vector<std::string> notes) {
  if (!seen_.emplace(place.line, place.column, message).second) return;
  if (diagnostics_.size() >= shown) return;
  diagnostics_.push_back({Severity::error, locate(place), std::move(message), source_line(place.line), std::move(notes)});
}

bool Problems::spend(size_t reads, TextPlace place) {
  bool before = reads_ > most_reads;
  reads_ = std::min(reads_ + reads, most_reads + 1);
  if (reads_ > most_reads && !before) {
    add(place, "the modules expand to more than " + std::to_string(most_reads) + " values");
  }
  return reads_ <= most_reads;
}

std::string Problems::text_of(TextPlace place) const {
  return file_ + ":" + std::to_string(place.line) + ":" + std::to_string(place.column);
}

Error Problems::take() {
  Error error;
  error.diagnostics = std::move(diagnostics_);
  std::ranges::sort(error.diagnostics, {}, [](const Diagnostic& d) {
    return std::tuple(d.location.line, d.location.column, std::string_view(d.message));
  });
  if (size_t hidden = seen_.size() - error.diagnostics.size()) {
    error.note("and " + std::to_string(hidden) + " more problems, not shown");
  }
  diagnostics_.clear();
  return error;
}

}  // namespace sheaf::frontend
