// Threads that do work together: the team of the thread that starts the work, which is one of them.
//
// Work comes in shares. What a share computes depends only on its number, so any member may take it: each takes its own
// first (what the last share of that number left in the cache is still there), and whoever is done takes one that nobody has
// begun. A member that has no core, on a machine that others use, holds up no more than the share that it is in.
// A wait is a short spin, then sleep: the core goes to whoever is waited for.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace sheaf {

class Team {
 public:
  /// The calling thread's. Made on first request; its threads end with the calling thread.
  static Team& own();
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  /// Calls body(data) `shares` times, on at most as many threads, of which the caller is one, and returns when all calls
  /// have. Within a call, share() says which it is. Threads that aren't there yet are started; nothing is allocated
  /// otherwise. Where the system gives no thread, the process ends with a message: shares may wait for each other, so fewer
  /// threads could wait for ever.
  void run(int shares, void (*body)(void*), void* data);

  /// Within a share: calls body(data) as the only share of a work of its own.
  static void run_nested(void (*body)(void*), void* data);

  /// Within a share: waits for all other shares of the work to come here, too.
  void wait_for_all();

  /// Whether the CPU's flag of invalid operations (invalid_flag.h) went up in a share since the team forgot. It is down
  /// after each share.
  bool saw_invalid() const { return saw_invalid_.load(std::memory_order_relaxed); }
  void forget_invalid() { saw_invalid_.store(false, std::memory_order_relaxed); }

  struct Share {
    Team* team = nullptr;  ///< null: the thread is in none
    int index = 0, count = 1;
  };
  /// That the calling thread is in.
  static const Share& share();

 private:
  Team();
  void grow(int members);
  void stop();
  void member(int index, int members, int32_t seen);
  bool claim(int share, int32_t work);
  void take(int share);

  void (*body_)(void*) = nullptr;
  void* data_ = nullptr;
  int shares_ = 0;
  std::atomic<int32_t> started_{0};                  ///< number of the present work; may wrap around
  std::atomic<int32_t> finished_{0};                 ///< of its shares
  std::unique_ptr<std::atomic<int32_t>[]> claimed_;  ///< by share: the last work in which it was taken
  std::atomic<int32_t> arrived_{0}, phase_{0};       ///< of wait_for_all()
  std::atomic<bool> stop_{false}, saw_invalid_{false};
  bool spins_ = true;  ///< there is a core for each
  unsigned forks_;     ///< of the process before the team was made: a child has none of its threads
  std::vector<std::thread> members_;
};

}  // namespace sheaf
