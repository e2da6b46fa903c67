// Library operations of virtual GPUs: the CPU's, put into a stream.
#pragma once

#include "runtime/cuda/library.h"
#include "tests/sim/sim_driver.h"

namespace sheaf::sim {

struct LibraryOptions {
  /// Who computes; the CPU unless a test has operations of its own.
  std::shared_ptr<Device> operations;
  /// Convolutions and their gradients ask for channels last, as cuDNN does; otherwise everything is plain.
  bool channels_last = false;
  /// Batch norm includes the addition and the ReLU around it, as in cuDNN.
  bool fuses_norms = false;
  /// Convolutions come with the batch norms around them, as cuDNN has them for f16. With `fuses_norms`.
  bool joins_convolutions = false;
  /// Gradients of convolutions' weights are bf16, whatever the plan says, like cuDNN's for narrow operands.
  bool narrow_gradients = false;
  bool guardable = true;
  bool recordable = true;
};

/// Operands are in the formats of GPUs (plain, channels last); the formats the CPU wants, and its own memory, stay within the
/// operation. Workspaces are the CPU's.
class SimLibrary final : public cuda::Library {
 public:
  SimLibrary(SimDriver& driver, LibraryOptions options) : driver_(driver), options_(std::move(options)) {}
  Result<void> supports(Op op, DType dtype) override;
  Result<Prepared> prepare(const PrepareRequest& request) override;

 private:
  Result<Prepared> prepare_reorder(const TensorSpec& from, const TensorSpec& to);
  Result<Prepared> prepare_numbers(const PrepareRequest& request);

  SimDriver& driver_;
  LibraryOptions options_;
};

}  // namespace sheaf::sim
