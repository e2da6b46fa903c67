#include "runtime/base/temporary_name.h"

#include <array>
#include <atomic>
#include <climits>
#include <csignal>
#include <cstring>
#include <iterator>
#include <mutex>
#include <unistd.h>

namespace sheaf {
namespace {

constexpr std::string_view kMark = ".sheaf-";

constexpr int kSignals[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM,   SIGPIPE, SIGALRM, SIGUSR1, SIGUSR2,
                            SIGXCPU, SIGXFSZ, SIGIO,   SIGVTALRM, SIGPROF, SIGPWR,  SIGABRT};

// A handler reaches nothing but globals.
struct Slot {
  std::atomic<bool> guarded{false};
  int folder = -1;
  char name[NAME_MAX + 1] = {};
};
std::array<Slot, 16> slots;
std::mutex turn;  // of what follows
int guards = 0;
std::array<struct sigaction, std::size(kSignals)> before;

void remove_and_end(int signal) {
  for (Slot& slot : slots) {
    if (slot.guarded.load(std::memory_order_acquire)) ::unlinkat(slot.folder, slot.name, 0);
  }
  ::raise(signal);  // SA_RESETHAND: now it does what it always did
}

void install() {
  struct sigaction action{};
  action.sa_handler = remove_and_end;
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_NODEFER;
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < before.size(); ++i) {
    sigaction(kSignals[i], nullptr, &before[i]);
    if (!(before[i].sa_flags & SA_SIGINFO) && before[i].sa_handler == SIG_DFL) sigaction(kSignals[i], &action, nullptr);
  }
}

void restore() {
  for (size_t i = 0; i < before.size(); ++i) {
    struct sigaction now;
    sigaction(kSignals[i], nullptr, &now);
    // What somebody else has set meanwhile stays.
    if (!(now.sa_flags & SA_SIGINFO) && now.sa_handler == remove_and_end) sigaction(kSignals[i], &before[i], nullptr);
  }
}

}  // namespace

std::string temporary_name(std::string_view name, std::string_view ending) {
  const size_t more = kMark.size() + ending.size();
  if (name.size() + more <= NAME_MAX) return std::string(name) + std::string(kMark) + std::string(ending);
  // Two names that begin alike must not meet in one: the process, too.
  const std::string own = std::to_string(::getpid());
  return std::string(name.substr(0, NAME_MAX - more - own.size())) + std::string(kMark) + own + std::string(ending);
}

std::string_view finished_name(std::string_view name) {
  const size_t mark = name.rfind(kMark);
  return mark == std::string_view::npos || name.find('.', mark + 1) != std::string_view::npos ? std::string_view()
                                                                                              : name.substr(0, mark);
}

SignalGuard::SignalGuard(int folder, const std::string& name) {
  const std::lock_guard lock(turn);
  if (name.size() > NAME_MAX) return;
  for (size_t i = 0; i < slots.size() && slot_ < 0; ++i) {
    if (slots[i].guarded.load(std::memory_order_relaxed)) continue;
    slot_ = static_cast<int>(i);
    slots[i].folder = folder;
    std::memcpy(slots[i].name, name.c_str(), name.size() + 1);
    slots[i].guarded.store(true, std::memory_order_release);
  }
  if (slot_ >= 0 && guards++ == 0) install();
}

SignalGuard::~SignalGuard() {
  if (slot_ < 0) return;
  const std::lock_guard lock(turn);
  slots[static_cast<size_t>(slot_)].guarded.store(false, std::memory_order_release);
  if (--guards == 0) restore();
}

}  // namespace sheaf
