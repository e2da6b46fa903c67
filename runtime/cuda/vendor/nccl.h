// Collectives among several GPUs through NCCL.
#pragma once

#include "runtime/cuda/library.h"

#include <nccl.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace sheaf::cuda {

struct NcclFunctions {
  /// Opened once. Errors: no such library, or one that lacks a function.
  static Result<const NcclFunctions*> open();
  std::string version() const;  ///< "2.28.9"
  /// "ncclGroupEnd: unhandled system error: the library's last words"
  Error failure(const char* call, ncclResult_t result, ncclComm_t comm = nullptr) const;

  decltype(::ncclGetVersion)* get_version = nullptr;
  decltype(::ncclGetErrorString)* get_error_string = nullptr;
  decltype(::ncclGetLastError)* get_last_error = nullptr;
  decltype(::ncclCommInitAll)* init_all = nullptr;
  decltype(::ncclGetUniqueId)* get_unique_id = nullptr;
  decltype(::ncclCommInitRankConfig)* init_rank_config = nullptr;
  decltype(::ncclCommFinalize)* finalize = nullptr;
  decltype(::ncclCommDestroy)* destroy = nullptr;
  decltype(::ncclCommAbort)* abort = nullptr;
  decltype(::ncclCommGetAsyncError)* get_async_error = nullptr;
  decltype(::ncclGroupStart)* group_start = nullptr;
  decltype(::ncclGroupEnd)* group_end = nullptr;
  decltype(::ncclBroadcast)* broadcast = nullptr;
  decltype(::ncclReduce)* reduce = nullptr;
  decltype(::ncclSend)* send = nullptr;
  decltype(::ncclRecv)* receive = nullptr;
};

/// One communicator per device, all in this process. Each collective is run once when it is prepared, with all members on one
/// thread: NCCL then has the connections it needs, and a launch, which each lane's thread makes for its own member, waits for
/// nobody.
class NcclCommunicator final : public Communicator, public std::enable_shared_from_this<NcclCommunicator> {
 public:
  static Result<std::shared_ptr<NcclCommunicator>> make(Driver& driver, std::span<const int> devices);
  ~NcclCommunicator() override;

  Result<std::vector<Prepared>> prepare(const CollectiveRequest& request) override;
  void abort() override;

  /// Enqueues member `rank`'s part into a stream.
  Result<void> enqueue(const CollectiveRequest& request, size_t rank, void* const* buffers, Stream stream);
  /// The number of buffers of a member.
  size_t buffers(const CollectiveRequest& request, size_t rank) const;

 private:
  NcclCommunicator(Driver& driver, const NcclFunctions& functions, std::span<const int> devices)
      : driver_(driver), nccl_(functions), devices_(devices.begin(), devices.end()) {}
  /// Between ncclGroupStart and ncclGroupEnd.
  Result<void> issue(const CollectiveRequest& request, size_t rank, void* const* buffers, Stream stream);
  /// Errors: failures in earlier work of this member, on the device or in NCCL's own threads.
  Result<void> background(size_t rank) const;
  Result<void> connect(const CollectiveRequest& request);
  Result<void> run_once(const CollectiveRequest& request, const std::vector<void*>& memory);

  Driver& driver_;
  const NcclFunctions& nccl_;
  std::vector<int> devices_;       ///< by rank
  std::vector<ncclComm_t> comms_;  ///< by rank
  std::vector<Stream> streams_;    ///< by rank, for connect()
  std::atomic<bool> aborted_{false};
  std::mutex aborting_;
};

/// For Backend::open_communicator(): null, with the reason in `why`, if NCCL is missing or rejects these devices.
Result<std::shared_ptr<Communicator>> open_nccl(Driver& driver, std::span<const int> devices, std::string& why);

}  // namespace sheaf::cuda
