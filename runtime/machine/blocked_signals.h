// Threads of the runtime take no signals.
#pragma once

#include <csignal>

namespace sheaf {

/// While one of these exists the calling thread takes no signals from outside, and neither do the threads that it starts: they stay
/// so. oneDNN's generated products (x64:gemm:jit) keep data beyond the end of the stack, where the kernel would write a handler's
/// frame: memory of others is overwritten. A handler for the calling thread itself wants an alternate stack (SA_ONSTACK).
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
