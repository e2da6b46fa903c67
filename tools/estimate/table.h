// Figures and tables of an estimate's text.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace sheaf {

/// "95.3 KiB".
std::string size_text(double bytes);
std::string size_text(size_t bytes);
/// "12.6 GFLOP".
std::string flops_text(double flops);
/// "310.0 ms".
std::string time_text(double seconds);

/// Rows of cells, in columns; the first `left` columns are aligned left, the others right.
class Table {
 public:
  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  std::string text(const char* indent, size_t left = 1) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace sheaf
