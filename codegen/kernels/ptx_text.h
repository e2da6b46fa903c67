// From the LLVM dialect to PTX, on a thread of its own.
#pragma once

#include "runtime/base/error.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <thread>

namespace sheaf::kernels {

/// PTX for sm_80, which later GPUs accept too. Compiled in parallel with the other objects.
class PtxText {
 public:
  /// Starts with `module`, whose kernels are entries (pass sheaf-ptx-entry); the module isn't needed afterwards.
  explicit PtxText(mlir::ModuleOp module);
  ~PtxText();
  PtxText(const PtxText&) = delete;
  /// Waits for the text.
  Result<std::string> take();

 private:
  Result<std::string> bitcode_, text_ = std::string();
  std::thread thread_;
};

}  // namespace sheaf::kernels
