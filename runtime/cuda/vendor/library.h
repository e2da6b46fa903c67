// The library operations of one NVIDIA GPU: a table of steps' names and the functions that prepare them with cuDNN, cuBLASLt or
// the kernels of runtime/cuda/kernels.
#pragma once

#include "runtime/cuda/library.h"
#include "runtime/cuda/own_kernels.h"

#include <memory>
#include <string>

namespace sheaf::cuda {

class Cudnn;     // vendor/cudnn.h
class CublasLt;  // vendor/cublaslt.h

/// The libraries that prepare a device's operations. If a library cannot be opened, the reason is kept: only the operations
/// that need it fail.
struct LibraryContext {
  Driver* driver = nullptr;  ///< null if a binding is only planned, for a device that may be absent
  int device = 0;
  DeviceProperties properties;
  std::shared_ptr<Cudnn> cudnn;
  std::string no_cudnn;  ///< why `cudnn` is null
  std::shared_ptr<CublasLt> cublaslt;
  std::string no_cublaslt;  ///< why `cublaslt` is null
  std::shared_ptr<OwnKernels> own;
  std::string no_own;  ///< why `own` is null when not planning

  /// Then prepare() chooses engines, formats and sizes for `properties` and leaves the executable null, or only tells its
  /// number of launches; `own` has kernels that cannot run, or is null.
  bool planning() const { return driver == nullptr; }
};

/// Binds one kind of step. Operands, attributes and their rules: docs/steps.md. May throw OperationError
/// (runtime/steps/step_operands.h), which the library's prepare() turns into an Error.
using PrepareOperation = Result<Prepared> (*)(const PrepareRequest&, LibraryContext&);

/// The library of device `device` of `driver`. Missing libraries are errors of the operations that need them.
Result<std::unique_ptr<Library>> open_library(Driver& driver, int device);

// By file: cudnn_conv.cpp
Result<Prepared> prepare_conv(const PrepareRequest& request, LibraryContext& context);
Result<Prepared> prepare_conv_transpose(const PrepareRequest& request, LibraryContext& context);
// cudnn_conv_backward.cpp
Result<Prepared> prepare_conv_backward_data(const PrepareRequest& request, LibraryContext& context);
Result<Prepared> prepare_conv_backward_weight(const PrepareRequest& request, LibraryContext& context);
// cublaslt_linear.cpp, cublaslt_linear_backward.cpp
Result<Prepared> prepare_linear(const PrepareRequest& request, LibraryContext& context);
Result<Prepared> prepare_linear_backward_data(const PrepareRequest& request, LibraryContext& context);
Result<Prepared> prepare_linear_backward_weight(const PrepareRequest& request, LibraryContext& context);
// cublaslt_matmul.cpp
Result<Prepared> prepare_matmul(const PrepareRequest& request, LibraryContext& context);
// cudnn_rnn.cpp: lstm, gru, rnn, their training steps and gradients
Result<Prepared> prepare_rnn(const PrepareRequest& request, LibraryContext& context);

}  // namespace sheaf::cuda
