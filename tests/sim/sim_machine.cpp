#include "tests/sim/sim_machine.h"

#include "runtime/cpu/cpu_device.h"
#include "runtime/cuda/cuda_device.h"
#include "tests/sim/emulated_module.h"

#include <set>
#include <stdexcept>

namespace sheaf::sim {

Result<std::unique_ptr<cuda::Library>> SimBackend::open_library(int) {
  return std::unique_ptr<cuda::Library>(std::make_unique<SimLibrary>(driver_, options_.library));
}

Result<std::shared_ptr<cuda::Communicator>> SimBackend::open_communicator(std::span<const int> devices, std::string& why) {
  if (!options_.collectives) {
    why = "this machine was made without";
    return std::shared_ptr<cuda::Communicator>();
  }
  if (std::set<int>(devices.begin(), devices.end()).size() != devices.size())
    return Error("ncclCommInitAll: a device appears twice");
  SHEAF_ASSIGN(auto made, SimCommunicator::open(driver_, {devices.begin(), devices.end()}, options_.communicator_bytes));
  return std::shared_ptr<cuda::Communicator>(std::move(made));
}

Result<std::string> SimBackend::rank_library() {
  if (options_.link.library.empty()) return Error("this machine was made without");
  return options_.link.library;
}

Result<std::unique_ptr<cuda::RankCommunicator>> SimBackend::join_ranks(int, const std::string& name, int rank, int ranks) {
  SHEAF_ASSIGN(auto joined, SimRankCommunicator::join(driver_, name, rank, ranks, options_.link));
  return std::unique_ptr<cuda::RankCommunicator>(std::move(joined));
}

SimMachine::SimMachine(MachineOptions options) {
  if (!options.driver.load) options.driver.load = emulated_module;
  host_ = options.library.operations ? options.library.operations : cpu_device();
  backend_ = std::make_shared<SimBackend>(options);
}

std::shared_ptr<Device> SimMachine::device(int index) {
  auto& made = devices_[index];
  if (!made) made = cuda::make_cuda_device(backend_, index);
  return made;
}

std::shared_ptr<const DeviceSet> SimMachine::list(const std::string& devices) {
  auto specs = parse_devices(devices);
  if (!specs) throw std::runtime_error(to_string(specs.error()));
  if (is_host_only(*specs))
    return std::make_shared<const DeviceSet>(host_, std::vector<std::shared_ptr<Device>>(), std::vector<std::string>(), 1);
  std::vector<std::shared_ptr<Device>> entries;
  std::vector<std::string> names;
  for (const DeviceSpec& spec : *specs) {
    entries.push_back(spec.kind == host_->info().kind ? host_ : device(spec.index));
    names.push_back(to_string(spec));
  }
  return std::make_shared<const DeviceSet>(host_, std::move(entries), std::move(names), 1);
}

}  // namespace sheaf::sim
