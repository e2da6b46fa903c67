// Threads that work together: the team of the thread that starts the work, which is one of them.
//
// Work is divided into shares. A share's result depends only on its number, so any member may take it: each takes its own
// first (the cache still holds what the last share of that number used); a member that is done takes one that nobody has
// begun. A member without a core, on a shared machine, delays only the share that it is working on.
// A wait spins briefly, then sleeps: the core goes to the thread it waits for.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace sheaf {

class Team {
 public:
  /// The calling thread's team. Made on first request; its threads end with the calling thread.
  static Team& own();
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  /// Calls body(data) `shares` times, on at most as many threads, one of which is the caller, and returns when all calls
  /// have. Within a call, share() says which it is. Starts missing threads; allocates nothing
  /// otherwise. If the system gives no thread, the process ends with a message: shares may wait for each other, so fewer
  /// threads could wait for ever.
  void run(int shares, void (*body)(void*), void* data);

  /// Within a share: calls body(data) as the only share of separate work.
  static void run_nested(void (*body)(void*), void* data);

  /// Within a share: waits until all other shares of the work get here, too.
  void wait_for_all();

  /// Whether the CPU's flag of invalid operations (invalid_flag.h) was set in a share since the team last forgot it. It is
  /// clear after each share.
  bool saw_invalid() const { return saw_invalid_.load(std::memory_order_relaxed); }
  void forget_invalid() { saw_invalid_.store(false, std::memory_order_relaxed); }

  struct Share {
    Team* team = nullptr;  ///< null: the thread is in no team
    int index = 0, count = 1;
  };
  /// The calling thread's place.
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
  std::atomic<int32_t> started_{0};                  ///< number of the current work; may wrap around
  std::atomic<int32_t> finished_{0};                 ///< finished shares of it
  std::unique_ptr<std::atomic<int32_t>[]> claimed_;  ///< by share: the last work in which it was taken
  std::atomic<int32_t> arrived_{0}, phase_{0};       ///< for wait_for_all()
  std::atomic<bool> stop_{false}, saw_invalid_{false};
  bool spins_ = true;  ///< there is a core for each thread
  unsigned forks_;     ///< forks of the process before the team was made: a child has none of its threads
  std::vector<std::thread> members_;
};

}  // namespace sheaf
