#include "tools/cli/print_profile.h"

#include "tools/cli/formatted.h"

#include <algorithm>

namespace sheaf {
namespace {

/// For the first column: microseconds if a whole step takes less than a millisecond.
struct Unit {
  double per_second;
  const char* name;
};

/// `amount` per second; blank if there is none, or if no time was taken.
std::string rate(double amount, double seconds) {
  return amount > 0 && seconds > 0 ? formatted("%9.1f", amount * 1e-9 / seconds) : std::string(9, ' ');
}

std::string row(const Unit& unit, const OperationProfile& sum, double all, const std::string& name) {
  std::string text =
      formatted("%10.3f", sum.seconds * unit.per_second) + formatted("%7.1f", all > 0 ? 100 * sum.seconds / all : 0) +
      formatted("%6.0f", static_cast<double>(sum.operations)) + rate(sum.flops, sum.seconds) + rate(sum.bytes, sum.seconds);
  text += sum.least_seconds > 0 && sum.seconds > 0 ? formatted("%9.0f%%", 100 * sum.least_seconds / sum.seconds)
                                                   : std::string(10, ' ');
  return text + "  " + name + "\n";
}

std::string head(const Unit& unit, const char* name) {
  return std::string("\n        ") + unit.name + "      %  runs  GFLOP/s     GB/s  roofline  " + name + "\n";
}

/// The longest first; the others as one row.
std::string table(const Unit& unit, const char* name, const std::vector<OperationProfile>& sums, double all,
                  std::string OperationProfile::* key) {
  constexpr size_t kMostRows = 40;
  std::string text = head(unit, name);
  const size_t shown = sums.size() > kMostRows ? kMostRows - 1 : sums.size();
  for (size_t i = 0; i < shown; ++i) text += row(unit, sums[i], all, (sums[i].*key).empty() ? "(none)" : sums[i].*key);
  OperationProfile rest;
  rest.operations = 0;
  for (size_t i = shown; i < sums.size(); ++i) {
    rest.operations += sums[i].operations;
    rest.seconds += sums[i].seconds;
    rest.flops += sums[i].flops;
    rest.bytes += sums[i].bytes;
    rest.least_seconds += sums[i].least_seconds;
  }
  if (shown < sums.size()) text += row(unit, rest, all, "(" + std::to_string(sums.size() - shown) + " more)");
  return text;
}

std::string lanes_text(const Profile& profile, const Unit& unit) {
  std::string text = "\n        " + std::string(unit.name) + "   waits  roofline: GFLOP/s     GB/s  lane\n";
  for (const LaneProfile& lane : profile.lanes) {
    text += formatted("%10.3f", lane.seconds * unit.per_second) + formatted("%8.3f", lane.wait_seconds * unit.per_second) +
            formatted("%19.0f", lane.flops_per_second * 1e-9) + formatted("%9.0f", lane.bytes_per_second * 1e-9) + "  " +
            lane.name + "\n";
  }
  if (profile.data_wait_seconds > 0) {
    text += std::string(10, ' ') + formatted("%8.3f", profile.data_wait_seconds * unit.per_second) + std::string(28, ' ') +
            "  the training loop, for data\n";
  }
  return text + "        (roofline: " + profile.roofline_source + ")\n";
}

Json sum_json(const OperationProfile& sum) {
  Json json = Json::object();
  for (const auto& [name, value] : {std::pair{"lane", &sum.lane}, std::pair{"op", &sum.op}, std::pair{"layer", &sum.layer},
                                    std::pair{"implementation", &sum.implementation}}) {
    if (!value->empty()) json[name] = *value;
  }
  if (sum.replica >= 0) json["replica"] = sum.replica;
  json["operations"] = sum.operations;
  json["seconds"] = sum.seconds;
  json["flops"] = sum.flops;
  json["bytes"] = sum.bytes;
  if (sum.seconds > 0) {
    json["flops_per_s"] = sum.flops / sum.seconds;
    json["bytes_per_s"] = sum.bytes / sum.seconds;
    if (sum.least_seconds > 0) json["roofline_share"] = sum.least_seconds / sum.seconds;
  }
  return json;
}

Json sums_json(const std::vector<OperationProfile>& sums) {
  Json json = Json::array();
  for (const OperationProfile& sum : sums) json.push_back(sum_json(sum));
  return json;
}

}  // namespace

std::string profile_text(const Profile& profile, bool operations) {
  const Unit unit = profile.step_seconds < 1e-3 ? Unit{1e6, "us"} : Unit{1e3, "ms"};
  double all = 0;
  for (const OperationProfile& operation : profile.operations) all += operation.seconds;
  std::string text = "profile of " + profile.program + ", batch " + std::to_string(profile.batch) + ": " +
                     formatted("%.3f ", profile.step_seconds * unit.per_second) + unit.name + " a step, median of " +
                     std::to_string(profile.steps) + (profile.steps == 1 ? " step\n" : " steps\n");
  text += lanes_text(profile, unit);
  if (operations) {
    text += head(unit, "lane  operation  layer  [implementation]");
    for (const OperationProfile& operation : profile.operations) {
      text += row(unit, operation, all,
                  operation.lane + "  " + operation.op + "  " + operation.layer + "  [" + operation.implementation + "]");
    }
  }
  text += table(unit, "layer", by_layer(profile), all, &OperationProfile::layer);
  return text + table(unit, "kind of operation", by_kind(profile), all, &OperationProfile::op);
}

std::string profiles_text(std::span<const Profile> profiles) {
  std::vector<const Profile*> sorted;
  for (const Profile& profile : profiles) sorted.push_back(&profile);
  std::sort(sorted.begin(), sorted.end(), [](const Profile* a, const Profile* b) {
    return a->step_seconds * static_cast<double>(a->steps) > b->step_seconds * static_cast<double>(b->steps);
  });
  std::string text;
  for (const Profile* profile : sorted) text += (text.empty() ? "" : "\n") + profile_text(*profile);
  return text;
}

Json profile_json(const Profile& profile) {
  Json json = {{"program", profile.program},
               {"batch", profile.batch},
               {"steps", profile.steps},
               {"step_seconds", profile.step_seconds},
               {"data_wait_seconds", profile.data_wait_seconds},
               {"roofline_source", profile.roofline_source},
               {"lanes", Json::array()}};
  for (const LaneProfile& lane : profile.lanes) {
    json["lanes"].push_back({{"name", lane.name},
                             {"seconds", lane.seconds},
                             {"wait_seconds", lane.wait_seconds},
                             {"roofline", {{"flops_per_s", lane.flops_per_second}, {"bytes_per_s", lane.bytes_per_second}}}});
  }
  json["by_layer"] = sums_json(by_layer(profile));
  json["by_kind"] = sums_json(by_kind(profile));
  json["operations"] = sums_json(profile.operations);
  return json;
}

}  // namespace sheaf
