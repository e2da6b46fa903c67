#include "tools/estimate/median_rates.h"

#include <algorithm>

namespace sheaf {
namespace {

/// The median of what `figure` finds in each pass.
template <typename Figure>
double median(const std::vector<DeviceDescription>& passes, const Figure& figure) {
  std::vector<double> found;
  for (const DeviceDescription& pass : passes) found.push_back(figure(pass));
  const auto middle = found.begin() + static_cast<std::ptrdiff_t>((found.size() - 1) / 2);
  std::nth_element(found.begin(), middle, found.end());
  return *middle;
}

}  // namespace

DeviceDescription median_of(const std::vector<DeviceDescription>& passes) {
  using Device = DeviceDescription;
  Device joined = passes.front();
  for (const auto member : {&Device::flops_per_second, &Device::bf16_flops_per_second, &Device::bytes_per_second,
                            &Device::core_bytes_per_second, &Device::cache_bytes_per_second, &Device::copy_bytes_per_second,
                            &Device::seconds_per_operation, &Device::seconds_per_wait})
    joined.*member = median(passes, [&](const Device& pass) { return pass.*member; });
  for (const auto member : {&Device::operations, &Device::bf16_operations})
    for (auto& [op, rate] : joined.*member)
      rate = median(passes, [&, op = op](const Device& pass) { return (pass.*member).at(op); });
  for (const auto member : {&Device::by_channels, &Device::bf16_by_channels})
    for (auto& [op, rates] : joined.*member)
      for (size_t i = 0; i < rates.size(); ++i)
        rates[i].second = median(passes, [&, op = op](const Device& pass) { return (pass.*member).at(op)[i].second; });
  for (const auto member : {&Device::fast_by_channels, &Device::bf16_fast_by_channels})
    for (auto& [op, candidates] : joined.*member)
      for (auto& [name, rates] : candidates)
        for (size_t i = 0; i < rates.size(); ++i)
          rates[i].second = median(
              passes, [&, op = op, &name = name](const Device& pass) { return (pass.*member).at(op).at(name)[i].second; });
  return joined;
}

}  // namespace sheaf
