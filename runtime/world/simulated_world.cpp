#include "runtime/world/simulated_world.h"

#include <cstring>

namespace sheaf {

Result<void> SimulatedWorld::send(int from, int to, const void* data, size_t bytes) {
  const auto* first = static_cast<const std::byte*>(data);
  const std::lock_guard lock(mutex_);
  messages_[{from, to}].emplace(first, first + bytes);
  arrived_.notify_all();
  return {};
}

Result<void> SimulatedWorld::receive(int to, int from, void* data, size_t bytes) {
  std::unique_lock lock(mutex_);
  auto& queue = messages_[{from, to}];
  arrived_.wait(lock, [&] { return !queue.empty(); });
  const std::vector<std::byte> message = std::move(queue.front());
  queue.pop();
  if (message.size() != bytes)
    return Error("rank " + std::to_string(from) + " sent " + std::to_string(message.size()) + " bytes where rank " +
                 std::to_string(to) + " expects " + std::to_string(bytes) + ": a bug of sheaf's");
  if (bytes > 0) std::memcpy(data, message.data(), bytes);
  return {};
}

}  // namespace sheaf
