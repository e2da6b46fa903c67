// The problems found in one model file, collected so that all of them are reported at once.
#pragma once

#include "runtime/base/error.h"

#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace sheaf::frontend {

/// A place in the file being read. Lines and columns count from 1, columns in characters.
struct TextPlace {
  int line = 0;
  int column = 0;
};

/// Collects diagnostics with their source lines. A message repeated at the same place (a module's mistake, found in each of its
/// expansions) is kept once.
class Problems {
 public:
  /// Diagnostics beyond this number are counted, not shown.
  static constexpr size_t shown = 50;
  /// The most values that may be read in all, counting each expansion of a module: a small file can ask for any amount.
  static constexpr size_t most_reads = 10'000'000;

  Problems(std::string file, std::string_view text);

  void add(TextPlace place, std::string message, std::vector<std::string> notes = {});
  bool empty() const { return seen_.empty(); }
  /// True once further problems are only counted: then there is no need to look for suggestions.
  bool full() const { return diagnostics_.size() >= shown; }
  /// Counts `reads`; once there are too many, returns false, with a problem at `place` the first time.
  bool spend(size_t reads, TextPlace place);
  Location locate(TextPlace place) const { return {file_, place.line, place.column}; }
  /// "FILE:LINE:COL", for notes that point elsewhere in the file.
  std::string text_of(TextPlace place) const;
  /// Everything found, in the order of the file.
  Error take();

 private:
  std::string source_line(int line) const;

  std::string file_;
  std::string_view text_;
  std::vector<size_t> line_starts_;
  std::set<std::tuple<int, int, std::string>> seen_;
  std::vector<Diagnostic> diagnostics_;
  size_t reads_ = 0;
};

}  // namespace sheaf::frontend
