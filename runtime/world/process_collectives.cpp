// Operations of all ranks, made of messages: along a binomial tree, so they take as many rounds as the number of ranks has
// bits.
#include "runtime/world/process_world.h"

#include <cstring>

namespace sheaf {
namespace {

/// Joins texts into one, each preceded by its length.
void append(std::string& all, const std::string& text) {
  const uint64_t length = text.size();
  all.append(reinterpret_cast<const char*>(&length), sizeof length);
  all += text;
}

std::vector<std::string> parts(const std::string& all) {
  std::vector<std::string> found;
  for (size_t at = 0; at + sizeof(uint64_t) <= all.size();) {
    uint64_t length = 0;
    std::memcpy(&length, all.data() + at, sizeof length);
    found.push_back(all.substr(at + sizeof length, length));
    at += sizeof length + length;
  }
  return found;
}

}  // namespace

Result<void> ProcessWorld::broadcast(int root, void* data, size_t bytes) {
  const int place = (rank_ - root + size_) % size_;  // the root's is 0
  const auto rank_at = [&](int other) { return (other + root) % size_; };
  int step = 1;
  for (; step < size_; step *= 2) {
    if ((place & step) == 0) continue;
    SHEAF_TRY(receive(rank_, rank_at(place - step), data, bytes));
    break;
  }
  for (step /= 2; step > 0; step /= 2) {
    if (place + step < size_) SHEAF_TRY(send(rank_, rank_at(place + step), data, bytes));
  }
  return {};
}

Result<std::vector<std::string>> ProcessWorld::exchange(std::string mine) {
  std::string all;
  append(all, mine);
  // Rank r collects those of the ranks after it, in their order.
  for (int step = 1; step < size_; step *= 2) {
    uint64_t length = all.size();
    if ((rank_ & step) != 0) {
      SHEAF_TRY(send(rank_, rank_ - step, &length, sizeof length));
      SHEAF_TRY(send(rank_, rank_ - step, all.data(), all.size()));
      break;
    }
    if (rank_ + step >= size_) continue;
    SHEAF_TRY(receive(rank_, rank_ + step, &length, sizeof length));
    std::string theirs(length, '\0');
    SHEAF_TRY(receive(rank_, rank_ + step, theirs.data(), theirs.size()));
    all += theirs;
  }
  uint64_t length = all.size();
  SHEAF_TRY(broadcast(0, &length, sizeof length));
  all.resize(length);
  SHEAF_TRY(broadcast(0, all.data(), all.size()));
  return parts(all);
}

}  // namespace sheaf
