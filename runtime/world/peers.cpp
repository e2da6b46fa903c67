#include "runtime/world/peers.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <fstream>

namespace sheaf {
namespace {

/// Same text: same kernel, and one process's numbers mean the same to the other.
std::string machine() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  char names[PATH_MAX];
  const ssize_t length = readlink("/proc/self/ns/pid", names, sizeof names);
  return boot + " " + std::string(names, length > 0 ? static_cast<size_t>(length) : 0);
}

}  // namespace

std::string Peers::introduction() { return machine() + " " + std::to_string(getpid()); }

Peers::Peers(const std::vector<std::string>& introductions, int own) {
  const std::string here = machine() + " ";
  for (int rank = 0; rank < static_cast<int>(introductions.size()); ++rank) {
    const std::string& text = introductions[static_cast<size_t>(rank)];
    if (rank == own || !text.starts_with(here)) continue;
    Peer peer{rank, std::atoi(text.c_str() + here.size())};
    // Unlike its number, the descriptor is never another process's. Where the kernel has none, signs of life must do.
    peer.handle = static_cast<int>(syscall(SYS_pidfd_open, peer.process, 0));
    if (rank < own) ++local_rank_;
    if (peer.handle >= 0) peers_.push_back(peer);
  }
}

Peers::~Peers() {
  for (const Peer& peer : peers_) close(peer.handle);
}

std::optional<Peers::Gone> Peers::gone() const {
  for (const Peer& peer : peers_) {
    pollfd ended{peer.handle, POLLIN, 0};
    if (poll(&ended, 1, 0) == 1 && (ended.revents & POLLIN))
      return Gone{peer.rank,
                  "its process " + std::to_string(peer.process) + " ended without a word: it was killed, or crashed"};
  }
  return std::nullopt;
}

}  // namespace sheaf
