// Device lists as values.
#include "sheaf/devices.h"

#include "runtime/base/joined.h"
#include "runtime/base/exception.h"
#include "runtime/device/backend.h"
#include "runtime/device/device_list.h"
#include "runtime/device/shards.h"
#include "runtime/session/open_devices.h"

namespace sheaf {

Result<DeviceList> DeviceList::open(std::string_view list, int threads, int shards) try {
  if (shards < 0 || shards > kMostShards)
    return Error(std::to_string(shards) + " shards: expected 0 to " + std::to_string(kMostShards));
  SHEAF_ASSIGN(auto parsed, parse_devices(list));
  SHEAF_ASSIGN(auto opened, open_devices(parsed, threads, shards));
  return DeviceList(std::make_shared<const DeviceSet>(std::move(opened)));
} catch (...) {
  return error_of_exception();
}

std::vector<std::string> DeviceList::names() const {
  if (devices_->host_only()) return {"cpu"};
  std::vector<std::string> names;
  for (int k = 0; k < devices_->entries(); ++k) names.push_back(devices_->entry_name(k));
  return names;
}

std::string DeviceList::text() const { return joined(names(), ","); }

size_t DeviceList::size() const { return static_cast<size_t>(devices_->entries()); }

std::string devices_json() {
  Json json = Json::object();
  for (const DeviceBackend* backend : backends()) {
    if (backend->enumerate) json[std::string(backend->name)] = backend->enumerate().json;
  }
  return json.dump(2);
}

}  // namespace sheaf
