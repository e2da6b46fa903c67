#include "runtime/cost/description.h"

#include "runtime/cost/interpolation.h"
#include "runtime/device/backend.h"

#include <algorithm>
#include <set>

namespace sheaf {
namespace {

/// The arithmetic rate of `op` on operands of `dtype`, all cores.
double rate_of(const DeviceDescription& device, Op op, DType dtype) {
  const auto own = device.operations.find(op);
  const double f32 = own == device.operations.end() ? device.flops_per_second : own->second;
  if (dtype == DType::float32 || device.bf16_flops_per_second == 0) return f32;
  const auto known = device.bf16_operations.find(op);
  return known == device.bf16_operations.end() ? f32 * device.bf16_flops_per_second / device.flops_per_second : known->second;
}

/// The data sheet that `of` goes by; null: none.
const DeviceDescription* sheet_of(const DeviceDescriptions& of, const DeviceInfo& device) {
  const auto kind = of.kinds.find(device.kind);
  const bool known = kind != of.kinds.end() && kind->second.known;
  const auto sheet = known || !device.planned.empty() ? of.sheets.end() : of.sheets.find(device.model);
  return sheet == of.sheets.end() ? nullptr : &sheet->second;
}

}  // namespace

DeviceDescriptions guessed_devices(const std::string& model) {
  DeviceDescriptions devices;
  devices.source = "a guess from the CPU's model";
  for (const DeviceBackend* backend : backends()) {
    if (!backend->describe) continue;
    const auto models = backend->models ? backend->models() : std::vector<std::string>{};
    for (const std::string& key : models) {
      DeviceDescription sheet = backend->describe(key);
      devices.sheets.emplace(sheet.model, std::move(sheet));
    }
    const bool has = std::find(models.begin(), models.end(), model) != models.end();
    const auto& described = devices.kinds[std::string(backend->name)] = backend->describe(has ? model : "");
    if (has) devices.source = "the data sheet of an " + described.model + " and what is assumed with it (docs/estimate.md)";
  }
  return devices;
}

const DeviceDescription& DeviceDescriptions::of(const DeviceInfo& device) const {
  static const DeviceDescription unknown;
  if (const DeviceDescription* sheet = sheet_of(*this, device)) return *sheet;
  const auto found = kinds.find(device.kind);
  return found == kinds.end() ? unknown : found->second;
}

std::string DeviceDescriptions::source_for(const std::vector<const DeviceInfo*>& devices) const {
  std::set<std::string> models;
  for (const DeviceInfo* device : devices)
    if (sheet_of(*this, *device)) models.insert(device->model);
  std::string text = source;
  for (const std::string& model : models) text += "; the data sheet of an " + model + " (docs/estimate.md)";
  return text;
}

namespace {

/// The share of the cores that a lane of `threads` threads has while `busy` work.
double share_of(const DeviceDescription& device, int threads, int busy) {
  return double(threads) / std::max({device.cores, busy, threads});
}

}  // namespace

double lane_cache(const DeviceDescription& device, int threads, int busy) {
  return device.cache_bytes * share_of(device, threads, busy);
}

Roofline lane_roofline(const DeviceDescription& device, int threads, int busy, Op op, DType dtype, double bytes,
                       double cached) {
  const double share = share_of(device, threads, busy);
  const double crowd = std::min(1.0, double(threads) / std::max({busy, threads, 1}));
  Roofline roofline;
  roofline.flops_per_second = rate_of(device, op, dtype) * share;
  roofline.bytes_per_second = std::min(device.bytes_per_second * crowd, device.core_bytes_per_second * threads);
  const double in_cache = std::max(roofline.bytes_per_second, device.cache_bytes_per_second * share);
  if (cached > 0) roofline.bytes_per_second = bytes / (cached / in_cache + (bytes - cached) / roofline.bytes_per_second);
  roofline.seconds_per_operation = device.seconds_per_operation;
  return roofline;
}

double channels_share(const DeviceDescription& device, Op op, DType dtype, int64_t channels, std::string_view candidate) {
  if (channels <= 0) return 1;
  const bool f32 = dtype == DType::float32;
  const auto share = [&](const ChannelRates& rates) {
    return interpolated(rates, double(channels)) / rate_of(device, op, dtype);
  };
  const auto& fast = f32 ? device.fast_by_channels : device.bf16_fast_by_channels;
  if (const auto known = fast.find(op); known != fast.end())
    if (const auto own = known->second.find(candidate); own != known->second.end()) return share(own->second);
  const auto& listed = f32 ? device.by_channels : device.bf16_by_channels;
  const auto found = listed.find(op);
  return found == listed.end() ? 1 : share(found->second);
}

Roofline lane_roofline(const DeviceDescription& device, int threads, int busy, Op op, DType dtype, double bytes) {
  return lane_roofline(device, threads, busy, op, dtype, bytes, bytes <= lane_cache(device, threads, busy) ? bytes : 0);
}

}  // namespace sheaf
