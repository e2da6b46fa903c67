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
};

}  // namespace sheaf::cuda
