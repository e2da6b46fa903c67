// Threads of the runtime take no signals.
#pragma once

#include <csignal>

namespace sheaf {

/// While one of these exists, the calling thread takes no signals from outside; threads that it starts meanwhile never
/// do. oneDNN's generated products (x64:gemm:jit) keep data beyond the end of the stack, where the kernel would write a
/// handler's frame and overwrite that data. A handler for the calling thread itself needs an alternate stack (SA_ONSTACK).
class BlockedSignals {
 public:
  BlockedSignals();
  ~BlockedSignals();
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace sheaf
