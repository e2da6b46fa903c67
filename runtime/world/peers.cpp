#include "runtime/world/peers.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace sheaf {
namespace {

/// Equal texts mean equal kernels, and one process's numbers mean the same to the other.
std::string machine() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  char names[PATH_MAX];
  const ssize_t length = readlink("/proc/self/ns/pid", names, sizeof names);
  return boot + " " + std::string(names, length > 0 ? static_cast<size_t>(length) : 0);
}

/// A process according to /proc/PID/stat.
struct Status {
  char state = 0;  ///< 'T': stopped, 't': stopped by a debugger
  int parent = 0;
};
Status status_of(int process) {
  std::ostringstream text;
  text << std::ifstream("/proc/" + std::to_string(process) + "/stat").rdbuf();
  const std::string all = text.str();
  Status status;
  // After the program's name, which may contain any character.
  if (const size_t end = all.rfind(')'); end != std::string::npos) {
    std::istringstream rest(all.substr(end + 1));
    rest >> status.state >> status.parent;
  }
  return status;
}

std::filesystem::path program_of(const std::string& process) {
  std::error_code none;
  return std::filesystem::read_symlink("/proc/" + process + "/exe", none);
}

std::vector<int> stopped_siblings() {
  std::vector<int> found;
  const std::filesystem::path own = program_of("self");
  std::error_code none;
  for (std::filesystem::directory_iterator entry("/proc", none), end; !none && entry != end; entry.increment(none)) {
    const int process = std::atoi(entry->path().filename().c_str());
    if (process <= 0 || process == getpid()) continue;
    const Status status = status_of(process);
    const bool stopped = status.state == 'T' || status.state == 't';
    if (stopped && status.parent == getppid() && program_of(std::to_string(process)) == own) found.push_back(process);
  }
  return found;
}

}  // namespace

int Siblings::stopped_for(std::chrono::duration<double> limit, std::chrono::duration<double> passed) {
  std::map<int, std::chrono::duration<double>> now;
  for (const int process : stopped_siblings()) {
    const auto before = stopped_.find(process);
    now[process] = before == stopped_.end() ? std::chrono::duration<double>{0} : before->second + passed;
  }
  stopped_ = std::move(now);
  for (const auto& [process, seconds] : stopped_)
    if (seconds >= limit) return process;
  return 0;
}

std::string Peers::introduction() { return machine() + " " + std::to_string(getpid()); }

Peers::Peers(const std::vector<std::string>& introductions, int own) {
  const std::string here = machine() + " ";
  for (int rank = 0; rank < static_cast<int>(introductions.size()); ++rank) {
    const std::string& text = introductions[static_cast<size_t>(rank)];
    if (rank == own || !text.starts_with(here)) continue;
    Peer peer{rank, std::atoi(text.c_str() + here.size())};
    // Unlike a process number, the descriptor never refers to another process. If the kernel has none, signs of life must do.
    peer.handle = static_cast<int>(syscall(SYS_pidfd_open, peer.process, 0));
    if (rank < own) ++local_rank_;
    if (peer.handle >= 0) peers_.push_back(peer);
  }
}

Peers::~Peers() {
  for (const Peer& peer : peers_) close(peer.handle);
}

bool Peers::Peer::ended() const {
  pollfd ended{handle, POLLIN, 0};
  return poll(&ended, 1, 0) == 1 && (ended.revents & POLLIN);
}

bool Peers::ended(int rank) const {
  for (const Peer& peer : peers_)
    if (peer.rank == rank) return peer.ended();
  return false;
}

std::optional<Peers::Gone> Peers::gone() const {
  for (const Peer& peer : peers_) {
    if (peer.ended())
      return Gone{peer.rank,
                  "its process " + std::to_string(peer.process) + " ended without a word: it was killed, or crashed"};
  }
  return std::nullopt;
}

}  // namespace sheaf
