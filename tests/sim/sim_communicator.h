// Collectives of virtual GPUs. They check for errors that NCCL would punish with a hang: members that call different
// collectives, call them in another order, or don't call.
#pragma once

#include "runtime/cuda/library.h"
#include "tests/sim/sim_driver.h"

namespace sheaf::sim {

class SimCommunicator final : public cuda::Communicator, public std::enable_shared_from_this<SimCommunicator> {
 public:
  /// Takes `bytes` of each device's memory for itself.
  static Result<std::shared_ptr<SimCommunicator>> open(SimDriver& driver, std::vector<int> devices, size_t bytes);
  ~SimCommunicator() override;
  Result<std::vector<Prepared>> prepare(const CollectiveRequest& request) override;

  void abort() override;

  struct Part {  ///< one member's contribution
    std::shared_ptr<const CollectiveRequest> request;
    std::vector<void*> buffers;
    std::string what;
  };
  /// A member's next collective.
  Result<void> enqueue(cuda::Stream stream, size_t rank, Part part);
  /// The number of buffers of a member.
  size_t buffers(const CollectiveRequest& request, size_t rank) const;
  SimDriver& driver() { return driver_; }

 private:
  struct Call {
    std::shared_ptr<Meeting> meeting;
    std::vector<Part> parts;
  };
  SimCommunicator(SimDriver& driver, std::vector<int> devices)
      : driver_(driver), devices_(std::move(devices)), next_(devices_.size()) {}
  Result<void> run(const std::vector<Part>& parts);

  SimDriver& driver_;
  std::vector<int> devices_;
  std::vector<void*> own_;  ///< memory, by rank
  std::mutex mutex_;
  std::vector<size_t> next_;  ///< by rank: number of its next collective
  std::vector<std::shared_ptr<Call>> calls_;
  bool aborted_ = false;
};

}  // namespace sheaf::sim
