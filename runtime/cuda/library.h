// Prepares library operations on one GPU. vendor/library.h has the real one (cuDNN, cuBLASLt, NCCL and the kernels
// of runtime/cuda/kernels); tests/sim one that computes on the CPU.
#pragma once

#include "runtime/cuda/operation.h"

#include <memory>
#include <string>
#include <vector>

namespace sheaf::cuda {

class Library {
 public:
  virtual ~Library() = default;
  /// As Device::supports().
  virtual Result<void> supports(Op op, DType dtype) = 0;
  /// As Device::prepare(), of steps other than `kernel`. Executables are cuda::Operation.
  virtual Result<Prepared> prepare(const PrepareRequest& request) = 0;
  /// The libraries opened so far: "cuDNN 9.19.0, cuBLASLt 13.0.2".
  virtual std::string versions() const { return {}; }
  /// A device of the process is lost: what is open is left to the process, since closing it would wait for that device.
  virtual void abandon() {}
};

/// Operations among several GPUs (NCCL). One for a list of distinct devices; ranks count in that list.
class Communicator {
 public:
  virtual ~Communicator() = default;
  /// By rank: the operation that this member launches. Errors: as prepare().
  virtual Result<std::vector<Prepared>> prepare(const CollectiveRequest& request) = 0;
  /// Ends operations that still wait for a member that won't come: after a deadline, before memory is released. Operations fail
  /// from then on. From any thread.
  virtual void abort() {}
};

/// A part of what a rank's GPU exchanges with another's.
struct RankMessage {
  bool sends = false;
  int peer = 0;  ///< the other rank
  size_t bytes = 0;
  std::string what;  ///< the same on both sides
};

/// A GPU's membership in a communicator (NCCL) whose other members are GPUs of other processes. No call waits for them. One thread
/// calls it at a time.
class RankCommunicator {
 public:
  virtual ~RankCommunicator() = default;
  /// Whether the last call has been carried out: a stream has its work only then, and nothing else may be called before. Errors: why
  /// it can't be; or what has gone wrong since, such as a member that is gone.
  virtual Result<bool> ready() = 0;
  /// Puts the messages, each with its buffer, into `stream`; they go on beside each other.
  virtual Result<void> exchange(std::span<const RankMessage> messages, void* const* buffers, Stream stream) = 0;
  /// Nothing more will be exchanged. ready() then says whether all is done.
  virtual Result<void> finish() = 0;
  /// Ends work that still waits for a member. Nothing may be called afterwards.
  virtual void abort() = 0;
};

/// Opens libraries and communicators; one per process.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual Driver& driver() = 0;
  /// DeviceInfo's, of its libraries.
  virtual bool fuses_norms() const = 0;
  virtual Result<std::unique_ptr<Library>> open_library(int device) = 0;
  /// Null if collectives are unavailable (NCCL is missing); `why` then says so.
  virtual Result<std::shared_ptr<Communicator>> open_communicator(std::span<const int> devices, std::string& why) = 0;

  /// What makes RankCommunicators: "NCCL 2.28.9". Errors: it is missing.
  virtual Result<std::string> rank_library() { return Error("there is nothing that links processes"); }
  /// The name of a new communicator, made by one process for all members.
  virtual Result<std::string> new_rank_communicator() { return Error("there is nothing that links processes"); }
  /// Begins to join the communicator `name` as one of `ranks`; ready() then says whether all have.
  virtual Result<std::unique_ptr<RankCommunicator>> join_ranks(int device, const std::string& name, int rank, int ranks) {
    return Error("there is nothing that links processes");
  }
};

}  // namespace sheaf::cuda
