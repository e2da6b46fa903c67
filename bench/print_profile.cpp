#include "profile.h"

#include <algorithm>
#include <functional>
#include <iomanip>
#include <map>

namespace sheaf::bench {
namespace {

struct Row {
  std::string name;
  size_t count = 0;
  double seconds = 0, bytes = 0, operations = 0;

  void add(const Timing& timing) {
    ++count;
    seconds += timing.seconds;
    bytes += timing.bytes;
    operations += timing.operations;
  }
};

/// Of the first column: microseconds where a whole call takes less than a millisecond.
struct Unit {
  double per_second;
  const char* name;
};

void print_row(std::ostream& out, const Unit& unit, const Row& row, double sum) {
  const double rate = row.seconds > 0 ? 1e-9 / row.seconds : 0;
  out << std::fixed << std::setprecision(3) << std::setw(10) << row.seconds * unit.per_second << std::setprecision(1) << std::setw(7)
      << (sum > 0 ? 100 * row.seconds / sum : 0) << std::setw(6) << row.count << std::setw(8) << row.bytes * rate;
  if (row.operations > 0) {
    out << std::setw(9) << row.operations * rate;
  } else {
    out << std::setw(9) << "";
  }
  out << "  " << row.name << "\n";
}

void print_head(std::ostream& out, const Unit& unit, const char* name) {
  out << "\n        " << unit.name << "      %  runs    GB/s  GFLOP/s  " << name << "\n";
}

/// The operations' sums by `key`, the slowest first.
void print_sums(std::ostream& out, const Unit& unit, const char* name, const std::vector<Timing>& timings, double sum,
                const std::function<std::string(const Timing&)>& key) {
  std::map<std::string, Row> rows;
  for (const Timing& timing : timings) rows[key(timing)].add(timing);
  std::vector<Row> sorted;
  for (auto& [text, row] : rows) sorted.push_back(std::move(row)), sorted.back().name = text;
  std::sort(sorted.begin(), sorted.end(), [](const Row& a, const Row& b) { return a.seconds > b.seconds; });
  print_head(out, unit, name);
  for (const Row& row : sorted) print_row(out, unit, row, sum);
}

}  // namespace

void print_profile(std::ostream& out, const ProfiledDevices& devices, double call) {
  const Unit unit = call < 1e-3 ? Unit{1e6, "us"} : Unit{1e3, "ms"};
  std::vector<Timing> all;
  std::vector<size_t> lanes;
  double sum = 0;
  for (size_t lane = 0; lane < devices.size(); ++lane) {
    for (Timing& timing : devices[lane]->timings()) {
      sum += timing.seconds;
      all.push_back(std::move(timing));
      lanes.push_back(lane);
    }
  }
  print_head(out, unit, "lane, operation, layer, implementation");
  for (size_t i = 0; i < all.size(); ++i) {
    Row row{std::to_string(lanes[i]) + "  " + all[i].op + "  " + all[i].layer + "  [" + all[i].implementation + "]"};
    row.add(all[i]);
    print_row(out, unit, row, sum);
  }
  print_sums(out, unit, "layer", all, sum, [](const Timing& t) { return t.op == "reorder" ? "(reorders)" : t.layer; });
  print_sums(out, unit, "implementation", all, sum, [](const Timing& t) { return t.op + "  [" + t.implementation + "]"; });
  print_sums(out, unit, "kind", all, sum, [](const Timing& t) { return t.op; });
  print_head(out, unit, "in all");
  print_row(out, unit, {"sum of operations, all lanes", all.size(), sum}, sum);
  print_row(out, unit, {"call", 1, call}, sum);
}

}  // namespace sheaf::bench
