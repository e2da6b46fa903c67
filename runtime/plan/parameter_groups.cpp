#include "runtime/plan/parameter_groups.h"

namespace sheaf {

std::string group_rate_setting(size_t index) { return "lr[" + std::to_string(index) + "]"; }

std::vector<GroupRate> group_rates(const Plan& plan) {
  static const Json::json_pointer place("/optimizer/parameter_groups");
  std::vector<GroupRate> rates;
  if (!plan.training.contains(place)) return rates;
  const Json& groups = plan.training.at(place);
  for (size_t i = 0; groups.is_array() && i < groups.size(); ++i) {
    const auto lr = groups[i].find("lr");
    if (groups[i].is_object() && lr != groups[i].end() && lr->is_number())
      rates.push_back({group_rate_setting(i), lr->get<double>()});
  }
  return rates;
}

std::vector<GroupRate> group_rates(const Plan& plan, double base) {
  static const Json::json_pointer place("/optimizer/lr");
  std::vector<GroupRate> rates = group_rates(plan);
  if (!plan.training.contains(place) || !plan.training.at(place).is_number()) return rates;
  const auto own = plan.training.at(place).get<double>();
  for (GroupRate& rate : rates)
    if (own != 0 && base != own) rate.lr *= base / own;
  return rates;
}

}  // namespace sheaf
