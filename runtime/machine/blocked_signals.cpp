#include "runtime/machine/blocked_signals.h"

namespace sheaf {

BlockedSignals::BlockedSignals() {
  sigset_t outside;
  sigfillset(&outside);
  // What a thread does to itself.
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS}) sigdelset(&outside, own);
  pthread_sigmask(SIG_BLOCK, &outside, &before_);
}

BlockedSignals::~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

}  // namespace sheaf
