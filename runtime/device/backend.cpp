#include "runtime/device/backend.h"

#include <algorithm>

namespace sheaf {
namespace {

std::vector<const DeviceBackend*>& table() {
  static std::vector<const DeviceBackend*> all;
  return all;
}

auto place_of(std::string_view name) {
  return std::find_if(table().begin(), table().end(), [&](const DeviceBackend* known) { return known->name == name; });
}

}  // namespace

const std::vector<const DeviceBackend*>& backends() { return table(); }

std::vector<std::string> backend_names() {
  std::vector<std::string> names;
  for (const DeviceBackend* backend : table()) names.emplace_back(backend->name);
  return names;
}

const DeviceBackend* find_backend(std::string_view name) {
  const auto found = place_of(name);
  return found == table().end() ? nullptr : *found;
}

void register_backend(const DeviceBackend& backend, bool replace) {
  const auto found = place_of(backend.name);
  if (found == table().end()) table().push_back(&backend);
  else if (replace) *found = &backend;
}

}  // namespace sheaf
