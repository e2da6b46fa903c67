// The file that describes a machine's devices.
#include "runtime/base/file.h"
#include "runtime/base/printable.h"
#include "runtime/cost/description.h"
#include "runtime/device/backend.h"
#include "runtime/plan/json_node.h"
#include "runtime/plan/json_text.h"

#include <cmath>
#include <string_view>
#include <vector>

namespace sheaf {
namespace {

constexpr uint64_t kLargestFile = 1 << 20;

/// The figures of a description under their names in the file.
template <typename Description, typename Use>
void for_each_figure(Description& device, const Use& use) {
  use("flops_per_second", device.flops_per_second);
  use("bf16_flops_per_second", device.bf16_flops_per_second);
  use("bytes_per_second", device.bytes_per_second);
  use("core_bytes_per_second", device.core_bytes_per_second);
  use("cache_bytes", device.cache_bytes);
  use("cache_bytes_per_second", device.cache_bytes_per_second);
  use("seconds_per_operation", device.seconds_per_operation);
  use("seconds_per_wait", device.seconds_per_wait);
  use("copy_bytes_per_second", device.copy_bytes_per_second);
  use("memory_bytes", device.memory_bytes);
}

/// The same for rates by operation.
template <typename Description, typename Use>
void for_each_rates(Description& device, const Use& use) {
  use("operations", device.operations);
  use("bf16_operations", device.bf16_operations);
  use("by_channels", device.by_channels);
  use("bf16_by_channels", device.bf16_by_channels);
  use("fast_by_channels", device.fast_by_channels);
  use("bf16_fast_by_channels", device.bf16_fast_by_channels);
}

double positive(const JsonNode& node) {
  const double value = node.json().is_number() ? node.json().get<double>() : 0;
  if (!(value > 0) || !std::isfinite(value)) node.fail("must be a positive number");
  return value;
}

/// `node`'s object `name`, whose keys are operations: use(operation, the object, key).
template <typename Use>
void for_each_operation(const JsonNode& node, const char* name, const Use& use) {
  const JsonNode given = node.field(name);
  if (!given.json().is_object()) return given.fail("must be an object");
  for (const auto& item : given.json().items()) {
    const auto op = op_from_name(item.key());
    if (!op) return given.fail("unknown operation " + in_quotes(item.key()));
    use(*op, given.field(item.key().c_str()));
  }
}

void read_rates(const JsonNode& node, double& rate) { rate = positive(node); }

void read_rates(const JsonNode& list, ChannelRates& rates) {
  const size_t size = list.size();
  if (size == 0 && !list.failed()) list.fail("must have a pair of a number of channels and a rate");
  for (size_t i = 0; i < size && !list.failed(); ++i) {
    const JsonNode pair = list.element(i);
    if (pair.size() != 2) pair.fail("must be a number of channels and a rate");
    if (list.failed()) break;
    const int64_t channels = pair.element(0).integer(1, int64_t{1} << 20);
    if (!rates.empty() && channels <= rates.back().first) pair.fail("must have more channels than the pair before it");
    rates.emplace_back(channels, positive(pair.element(1)));
  }
}

void read_rates(const JsonNode& node, CandidateRates& rates) {
  if (!node.json().is_object()) return node.fail("must be an object");
  for (const auto& item : node.json().items()) read_rates(node.field(item.key().c_str()), rates[item.key()]);
}

void read_device(const JsonNode& node, DeviceDescription& device) {
  std::vector<std::string_view> names = {"model", "cores"};
  const auto add = [&](const char* name, const auto&) { names.push_back(name); };
  for_each_figure(device, add);
  for_each_rates(device, add);
  node.only(names);
  if (node.failed()) return;
  device.known = true;
  if (node.has("model")) device.model = node.field("model").text();
  if (node.has("cores")) device.cores = static_cast<int>(node.field("cores").integer(1, 1 << 20));
  const double guessed_ratio = device.flops_per_second > 0 ? device.bf16_flops_per_second / device.flops_per_second : 0;
  for_each_figure(device, [&](const char* name, double& figure) {
    if (node.has(name)) figure = positive(node.field(name));
  });
  if (!node.has("bf16_flops_per_second")) device.bf16_flops_per_second = device.flops_per_second * guessed_ratio;
  for_each_rates(device, [&](const char* name, auto& rates) {
    if (!node.has(name)) return;
    rates.clear();  // they take the place of those that were guessed
    for_each_operation(node, name, [&](Op op, const JsonNode& given) { read_rates(given, rates[op]); });
  });
}

template <typename Rates>
Json json_of(const std::map<Op, Rates>& operations) {
  std::map<std::string, Rates> by_name;  // which a file lists in alphabetical order
  for (const auto& [op, rate] : operations) by_name[to_string(op)] = rate;
  return by_name;
}

Json json_of(const DeviceDescription& device) {
  Json json = {{"model", device.model}, {"cores", device.cores}};
  for_each_figure(device, [&](const char* name, double figure) {
    if (figure > 0) json[name] = figure;
  });
  for_each_rates(device, [&](const char* name, const auto& rates) {
    if (!rates.empty()) json[name] = json_of(rates);
  });
  return json;
}

}  // namespace

Result<DeviceDescriptions> read_devices(const std::string& file, const std::string& model) {
  SHEAF_ASSIGN(auto text, read_file(file, kLargestFile));
  SHEAF_ASSIGN(auto json, parse_ordered_json(file, text));
  DeviceDescriptions devices = guessed_devices(model);
  devices.source = file;
  JsonReading reading{file, {}};
  const JsonNode root(reading, json);
  std::vector<std::string_view> fields = {"sheaf_devices"};
  for (const DeviceBackend* backend : backends()) fields.push_back(backend->name);
  root.only(fields);
  if (!root.failed()) root.field("sheaf_devices").version("1.0");
  for (const std::string& kind : backend_names()) {
    if (!root.failed() && root.has(kind.c_str())) read_device(root.field(kind.c_str()), devices.kinds[kind]);
  }
  if (reading.error) return *reading.error;
  return devices;
}

std::string devices_text(const DeviceDescriptions& devices) {
  Json json = {{"sheaf_devices", "1.0"}};
  for (const auto& [kind, device] : devices.kinds) {
    if (device.known) json[kind] = json_of(device);
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace sheaf
