// A GPU's operations: they are put into a stream rather than run.
#pragma once

#include "runtime/device/operation.h"
#include "runtime/cuda/driver.h"

namespace sheaf::cuda {

/// Where and on what an operation is enqueued.
struct Enqueue {
  Stream stream = nullptr;
  void* const* buffers = nullptr;  ///< inputs, then outputs
  void* scratch = nullptr;         ///< in the device's memory
  const int32_t* guard = nullptr;  ///< device memory: if it isn't 0 when the work starts, the work does nothing; null: none
  int32_t* flag = nullptr;         ///< device memory: an operation that can fail sets it to non-zero if it does
  Seconds deadline = kDeadline;    ///< the queue's
  bool recording = false;          ///< the stream only records the work: it can't be queried
  int phase = 0;                   ///< of the run: where an operation that can fail reports to
};

/// The base of every executable that the CUDA backend prepares. CudaQueue calls enqueue(), never run().
class Operation : public Executable {
 public:
  void run(void* const* buffers, void* scratch) final;
  /// Puts the work into the stream; allocates nothing, waits for nothing.
  virtual Result<void> enqueue(const Enqueue& at) = 0;
  struct Operand {
    size_t bytes = 0;
    bool writes = false;
  };
  // Set by CudaDevice when the operation was prepared; for a driver that watches, and for messages.
  std::vector<Operand> operands;
  size_t operand_alignment = 1;  ///< assumed by its kernels; for scratch memory it is always kAlignment
  size_t scratch_bytes = 0;
  std::vector<Access> own;  ///< further memory that its kernels access: a table, a report
  std::string what;         ///< "layer 'conv1', operation conv"
};

}  // namespace sheaf::cuda
