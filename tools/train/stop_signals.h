// SIGINT, SIGTERM and SIGHUP as a wish to stop after the step at hand.
#pragma once

#include <csignal>

namespace sheaf {

/// While one of these exists, the first of these signals is noted; the second does what it always did, so that a run
/// that hangs can still be ended. Ignored signals (nohup and the like) stay ignored.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// The signal that came; 0: none so far.
  int caught() const;
  /// "SIGINT", "SIGTERM", "SIGHUP".
  static const char* name(int signal) { return signal == SIGINT ? "SIGINT" : signal == SIGTERM ? "SIGTERM" : "SIGHUP"; }

 private:
  struct sigaction before_int_{}, before_term_{}, before_hangup_{};
};

}  // namespace sheaf
