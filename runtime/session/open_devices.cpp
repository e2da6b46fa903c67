#include "runtime/session/open_devices.h"

#include "runtime/cpu/cpu_backend.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/cuda/cuda_backend.h"
#include "runtime/device/ranked_device.h"
#include "runtime/machine/thread_pool.h"
#include "runtime/session/transport.h"
#include "runtime/world/simulated_world.h"

#include <algorithm>
#include <map>

namespace sheaf {
namespace {

/// The project's backends. What opens devices is linked with this file, and so with them.
[[maybe_unused]] const bool registered = [] {
  for (const DeviceBackend* backend : {&cpu_backend(), &cuda_backend()}) register_backend(*backend, /*replace=*/false);
  return true;
}();

Error unusable(const DeviceSpec& spec, const std::string& why) {
  Error error("device " + to_string(spec) + " cannot be used: " + why);
  error.note("`sheaf devices` says what there is");
  return error.note("name CPU devices instead: cpu:0,cpu:1, or cpu alone to run everything on the host");
}

/// The device of this process that prepares the operations of `spec`: itself, or, for another process's, the first listed one of the
/// same kind, since that process's may not be here.
const DeviceSpec& preparing(const DeviceSpec& spec, const std::vector<DeviceSpec>& list, const World& world) {
  const auto alike = [&](const DeviceSpec& own) { return world.here(own.rank) && own.kind == spec.kind; };
  const auto own = world.here(spec.rank) ? list.end() : std::ranges::find_if(list, alike);
  return own == list.end() ? spec : *own;
}

/// `get`: the device of an entry, as Result.
template <typename Get>
Result<DeviceSet> devices_of(const std::vector<DeviceSpec>& list, int threads, int shards, std::shared_ptr<World> world,
                             const Get& get) {
  if (threads <= 0) threads = available_cpus();
  if (ranks_of(list) < 2) world = nullptr;  // one process has all
  std::vector<std::shared_ptr<Device>> entries, hosts;
  std::vector<std::string> names;
  std::map<std::pair<int, int>, std::shared_ptr<Device>> members;  // by rank and memory: a device listed twice is one
  const auto as_member = [&](std::shared_ptr<Device> device, int rank, int index) {
    const int number = device->info().shares_host_memory ? 0 : 1 + index;
    auto& member = members[{rank, number}];
    if (!member) member = ranked_device(std::move(device), {world, rank}, number);
    return member;
  };
  for (int rank = 0; world && rank < ranks_of(list); ++rank) hosts.push_back(as_member(cpu_device(), rank, 0));
  if (!is_host_only(list)) {
    for (const DeviceSpec& spec : list) {
      SHEAF_ASSIGN(auto device, get(world ? preparing(spec, list, *world) : spec));
      entries.push_back(world ? as_member(std::move(device), spec.rank, spec.index) : std::move(device));
      names.push_back(to_string(spec));
    }
  }
  return DeviceSet(world ? hosts[0] : cpu_device(), std::move(entries), std::move(names), threads, shards, std::move(hosts));
}

std::shared_ptr<World> all_ranks(const std::vector<DeviceSpec>& list) {
  return std::make_shared<SimulatedWorld>(ranks_of(list));
}

}  // namespace

Result<std::shared_ptr<Device>> open_device(const DeviceSpec& spec) {
  const DeviceBackend* backend = find_backend(spec.kind);
  if (!backend) return unusable(spec, "there is no backend '" + spec.kind + "'");
  auto opened = backend->open(spec.index);
  if (!opened) return unusable(spec, opened.error().message());
  return opened;
}

Result<std::shared_ptr<Device>> plan_device(const DeviceSpec& spec, const std::string& why, const std::string& model) {
  const DeviceBackend* backend = find_backend(spec.kind);
  if (!backend || !backend->plan) return unusable(spec, why);
  return backend->plan(spec.index, why, model);
}

std::vector<std::string> device_models() {
  std::vector<std::string> all;
  for (const DeviceBackend* backend : backends()) {
    if (!backend->models) continue;
    for (std::string& model : backend->models()) all.push_back(std::move(model));
  }
  return all;
}

Result<DeviceSet> open_devices(const std::vector<DeviceSpec>& list, int threads, int shards, std::shared_ptr<World> world) {
  if (ranks_of(list) > 1 && !world) {
    return Error("the device list names ranks, but this is one process")
        .note("dump, estimate, verify and explain take such lists; to run it, start as many processes: mpirun -n " +
              std::to_string(ranks_of(list)) + " sheaf train … --devices LIST, each with its own list (docs/worlds.md)");
  }
  SHEAF_ASSIGN(auto devices, devices_of(list, threads, shards, std::move(world), open_device));
  const World* const several = devices.world();
  if (!several) return devices;
  int rank = 0;
  while (!several->here(rank)) ++rank;
  const WorldMember own = *devices.device(devices.message_lane(rank)).member();
  SHEAF_ASSIGN(auto transport, agree_on_transport(devices, own));
  devices.use(std::move(transport));
  return devices;
}

Result<DeviceSet> open_all_ranks(const std::vector<DeviceSpec>& list, int threads, int shards) {
  SHEAF_ASSIGN(auto devices, devices_of(list, threads, shards, all_ranks(list), open_device));
  Transport transport;
  transport.why_not = "one process has all ranks here";
  devices.use(std::move(transport));
  return devices;
}

Result<DeviceSet> plan_devices(const std::vector<DeviceSpec>& list, int threads, int shards, const std::string& model) {
  std::map<std::string, std::string> closed;  // why; a device that is there and one that isn't have nothing in common
  std::string described;                      // the kind that has `model`
  for (const DeviceBackend* backend : backends()) {
    const auto models = backend->models ? backend->models() : std::vector<std::string>{};
    if (std::find(models.begin(), models.end(), model) != models.end()) described = backend->name;
  }
  for (const DeviceSpec& spec : is_host_only(list) ? std::vector<DeviceSpec>{} : list) {
    const DeviceBackend* backend = find_backend(spec.kind);
    if (spec.kind == described) closed.try_emplace(spec.kind, "");
    else if (auto opened = backend ? backend->open(spec.index) : Error("there is no such backend"); !opened)
      closed.try_emplace(spec.kind, opened.error().message());
  }
  if (!model.empty() && !closed.contains(described))
    return Error("--device-model " + model + " describes " + (described.empty() ? "no device" : described + " devices") +
                 ", of which the list has none");
  auto devices = devices_of(list, threads, shards, all_ranks(list), [&](const DeviceSpec& spec) {
    const auto why = closed.find(spec.kind);
    return why == closed.end() ? open_device(spec) : plan_device(spec, why->second, spec.kind == described ? model : "");
  });
  if (devices) devices->use(planned_transport(*devices));
  return devices;
}

}  // namespace sheaf
