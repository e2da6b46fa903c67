// SIGINT, SIGTERM and SIGHUP as a request to stop after the current step.
#pragma once

#include <csignal>
#include <vector>

namespace sheaf {

/// While one of these exists, the first of these signals is recorded; the second has its usual effect, so that a run that hangs
/// can still be ended. It belongs to the thread that runs the steps. Ignored signals (nohup and the like) stay ignored.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// The signal that arrived; 0: none so far.
  int caught() const;
  /// "SIGINT", "SIGTERM", "SIGHUP".
  static const char* name(int signal) { return signal == SIGINT ? "SIGINT" : signal == SIGTERM ? "SIGTERM" : "SIGHUP"; }

 private:
  std::vector<char> stack_;  ///< of the handler, on the thread that made this
  stack_t before_stack_{};
  struct sigaction before_int_{}, before_term_{}, before_hangup_{};
};

}  // namespace sheaf
