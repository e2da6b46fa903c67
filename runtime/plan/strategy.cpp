#include "runtime/plan/strategy.h"

#include "runtime/plan/plan.h"

#include <algorithm>
#include <iterator>

namespace sheaf {
namespace {

/// By value of Strategy.
constexpr std::string_view kStrategyNames[] = {"data_parallel", "replicated", "sharded", "fully_sharded"};

}  // namespace

std::string to_string(Strategy strategy) { return std::string(kStrategyNames[static_cast<size_t>(strategy)]); }

std::optional<Strategy> strategy_from_name(std::string_view name) {
  const auto* const found = std::ranges::find(kStrategyNames, name);
  if (found == std::end(kStrategyNames)) return std::nullopt;
  return static_cast<Strategy>(found - std::begin(kStrategyNames));
}

Strategy strategy_of(const Plan& plan) {
  for (const std::string& feature : plan.requires_)
    if (const auto strategy = strategy_from_name(feature)) return *strategy;
  return Strategy();
}

std::span<const std::string_view> strategy_names() { return kStrategyNames; }

}  // namespace sheaf
