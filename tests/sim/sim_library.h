// Library operations of virtual GPUs: the CPU's, put into a stream.
#pragma once

#include "runtime/cuda/library.h"
#include "tests/sim/sim_driver.h"

namespace sheaf::sim {

struct LibraryOptions {
  /// Who computes; the CPU unless a test has operations of its own.
  std::shared_ptr<Device> operations;
  /// Convolutions and what goes with them ask for channels last, as cuDNN does; else all is plain.
  bool channels_last = false;
  /// Batch norm comes with the addition and the ReLU around it, as cuDNN does it.
  bool fuses_norms = false;
  /// Gradients of convolutions' weights are bf16, whatever the plan says, as cuDNN's are of narrow operands.
  bool narrow_gradients = false;
  bool guardable = true;
  bool recordable = true;
};

/// Operands are in the formats of GPUs (plain, channels last); what the CPU wants them in, and its own memory, stay within the
/// operation. Workspaces are the CPU's.
class SimLibrary final : public cuda::Library {
 public:
  SimLibrary(SimDriver& driver, LibraryOptions options) : driver_(driver), options_(std::move(options)) {}
  Result<void> supports(Op op, DType dtype) override;
  Result<Prepared> prepare(const PrepareRequest& request) override;

 private:
  Result<Prepared> prepare_reorder(const TensorSpec& from, const TensorSpec& to);

  SimDriver& driver_;
  LibraryOptions options_;
};

}  // namespace sheaf::sim
