// A machine with virtual GPUs: the CUDA backend on them, and device lists for sessions and trainers.
#pragma once

#include "runtime/device/device_set.h"
#include "tests/sim/sim_communicator.h"
#include "tests/sim/sim_rank_communicator.h"
#include "tests/sim/sim_library.h"

namespace sheaf::sim {

struct MachineOptions {
  SimOptions driver;
  LibraryOptions library;
  bool collectives = true;        ///< there is something like NCCL
  size_t communicator_bytes = 0;  ///< that a communicator takes of each device's memory for itself
  RankLinkOptions link;
};

class SimBackend final : public cuda::Backend {
 public:
  explicit SimBackend(const MachineOptions& options) : options_(options), driver_(options.driver) {}
  SimDriver& driver() override { return driver_; }
  bool fuses_norms() const override { return options_.library.fuses_norms; }
  Result<std::unique_ptr<cuda::Library>> open_library(int device) override;
  Result<std::shared_ptr<cuda::Communicator>> open_communicator(std::span<const int> devices, std::string& why) override;
  Result<std::string> rank_library() override;
  Result<std::string> new_rank_communicator() override { return new_exchange_file(); }
  Result<std::unique_ptr<cuda::RankCommunicator>> join_ranks(int device, const std::string& name, int rank, int ranks) override;

 private:
  MachineOptions options_;
  SimDriver driver_;
};

class SimMachine {
 public:
  explicit SimMachine(MachineOptions options = {});
  SimDriver& driver() { return backend_->driver(); }
  std::shared_ptr<Device> device(int index);
  /// "cuda:0,cpu:0,cuda:1" with the CPU as host, whose operations have one thread (as those of the GPUs).
  std::shared_ptr<const DeviceSet> list(const std::string& devices);

 private:
  std::shared_ptr<SimBackend> backend_;
  std::shared_ptr<Device> host_;
  std::map<int, std::shared_ptr<Device>> devices_;
};

}  // namespace sheaf::sim
