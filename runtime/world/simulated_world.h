// All ranks in this process, for inspecting and verifying a run of several without starting it.
#pragma once

#include "runtime/world/world.h"

#include <condition_variable>
#include <map>
#include <mutex>
#include <queue>

namespace sheaf {

class SimulatedWorld : public World {
 public:
  explicit SimulatedWorld(int size) : size_(size) {}

  int size() const override { return size_; }
  bool here(int) const override { return true; }
  /// Copies the message, so it waits for nobody.
  Result<void> send(int from, int to, const void* data, size_t bytes) override;
  Result<void> receive(int to, int from, void* data, size_t bytes) override;
  Result<std::vector<std::string>> exchange(std::string mine) override { return std::vector{std::move(mine)}; }
  Result<void> broadcast(int, void*, size_t) override { return {}; }
  void fail(const Error&) override {}
  std::optional<Error> failure() const override { return std::nullopt; }

 private:
  const int size_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::map<std::pair<int, int>, std::queue<std::vector<std::byte>>> messages_;  ///< by sender and receiver
};

}  // namespace sheaf
