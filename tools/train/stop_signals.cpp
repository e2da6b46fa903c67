#include "tools/train/stop_signals.h"

namespace sheaf {
namespace {

// A handler can reach only globals; StopSignals is this one's only user.
volatile std::sig_atomic_t caught_signal = 0;

void note_signal(int signal) { caught_signal = signal; }

void install(int signal, struct sigaction& before) {
  sigaction(signal, nullptr, &before);
  if (before.sa_handler == SIG_IGN) return;
  struct sigaction action{};
  action.sa_handler = note_signal;
  // Once: a second signal gets the default. Restart: writes of files go on. A stack of its own: a running kernel may keep data
  // beyond the end of the thread's (runtime/machine/blocked_signals.h).
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

}  // namespace

StopSignals::StopSignals() : stack_(64 << 10) {
  caught_signal = 0;
  stack_t own{};
  own.ss_sp = stack_.data();
  own.ss_size = stack_.size();
  sigaltstack(&own, &before_stack_);
  install(SIGINT, before_int_);
  install(SIGTERM, before_term_);
  install(SIGHUP, before_hangup_);
}

StopSignals::~StopSignals() {
  sigaction(SIGINT, &before_int_, nullptr);
  sigaction(SIGTERM, &before_term_, nullptr);
  sigaction(SIGHUP, &before_hangup_, nullptr);
  sigaltstack(&before_stack_, nullptr);
}

int StopSignals::caught() const { return caught_signal; }

}  // namespace sheaf
