// NCCL between GPUs of several processes: one member of a communicator in each.
#pragma once

#include "runtime/cuda/vendor/nccl.h"

namespace sheaf::cuda {

/// Doesn't block (ncclConfig_t::blocking is 0): NCCL's own threads wait for other ranks.
class NcclRankCommunicator final : public RankCommunicator {
 public:
  /// The name of a new communicator: ncclGetUniqueId()'s bytes as hexadecimal digits.
  static Result<std::string> new_name();
  /// Begins to join it with `device` as rank `rank` of `ranks`.
  static Result<std::unique_ptr<NcclRankCommunicator>> join(Driver& driver, int device, const std::string& name, int rank,
                                                            int ranks);
  ~NcclRankCommunicator() override;

  Result<bool> ready() override;
  Result<void> exchange(std::span<const RankMessage> messages, void* const* buffers, Stream stream) override;
  Result<void> finish() override;
  void abort() override;

 private:
  NcclRankCommunicator(Driver& driver, const NcclFunctions& functions, int device)
      : driver_(driver), nccl_(functions), device_(device) {}

  Driver& driver_;
  const NcclFunctions& nccl_;
  int device_;
  ncclComm_t comm_ = nullptr;  ///< null: there is none, or none any more
};

}  // namespace sheaf::cuda
