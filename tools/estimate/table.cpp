#include "tools/estimate/table.h"

#include "tools/inspect/format.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <initializer_list>

namespace sheaf {
namespace {

std::string in_units(double value, double step, std::initializer_list<const char*> units) {
  auto unit = units.begin();
  for (; value >= step && unit + 1 != units.end(); ++unit) value /= step;
  char text[48];
  std::snprintf(text, sizeof text,
                unit == units.begin() && value == static_cast<double>(static_cast<int64_t>(value)) ? "%.0f %s" : "%.1f %s",
                value, *unit);
  return text;
}

}  // namespace

std::string size_text(double bytes) { return in_units(bytes, 1024, {"B", "KiB", "MiB", "GiB", "TiB", "PiB"}); }
std::string size_text(size_t bytes) { return size_text(static_cast<double>(bytes)); }
std::string flops_text(double flops) { return in_units(flops, 1000, {"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP"}); }

std::string time_text(double seconds) {
  if (seconds < 1e-3) return in_units(seconds * 1e6, 1e6, {"us"});
  return seconds < 1 ? in_units(seconds * 1e3, 1e6, {"ms"}) : in_units(seconds, 1e12, {"s"});
}

std::string Table::text(const char* indent, size_t left) const {
  std::vector<size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], width_of(row[c]));
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line = indent;
    for (size_t c = 0; c < row.size(); ++c) {
      const std::string space(widths[c] - width_of(row[c]), ' ');
      line += (c ? "  " : "") + (c < left ? row[c] + space : space + row[c]);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

}  // namespace sheaf
