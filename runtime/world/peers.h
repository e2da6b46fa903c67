// Whether the other processes of a world on this machine are still there.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sheaf {

class Peers {
 public:
  /// This process, for the others' Peers: processes that can see each other introduce the same machine.
  static std::string introduction();

  /// `introductions`: each rank's, by rank; `own`: this one's.
  Peers(const std::vector<std::string>& introductions, int own);
  ~Peers();
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  struct Gone {
    int rank = 0;
    std::string what;  ///< "process 4711 has ended: …"
  };
  /// The first rank on this machine whose process has ended. Doesn't wait.
  std::optional<Gone> gone() const;
  /// Whether `rank` is on this machine and its process has ended. Doesn't wait.
  bool ended(int rank) const;

  /// The number of lower ranks on this machine.
  int local_rank() const { return local_rank_; }

 private:
  struct Peer {
    int rank = 0, process = 0;
    int handle = -1;  ///< a descriptor that is readable once the process has ended
    bool ended() const;
  };
  std::vector<Peer> peers_;
  int local_rank_ = 0;
};

/// The processes that this one's launcher started on this machine to run the same program, before anyone knows their ranks.
class Siblings {
 public:
  /// A process that was stopped (by SIGSTOP, or a debugger) at each look so far that together make up `limit`; 0: none.
  /// `passed`: since the last look.
  int stopped_for(std::chrono::duration<double> limit, std::chrono::duration<double> passed);

 private:
  std::map<int, std::chrono::duration<double>> stopped_;  ///< by process
};

}  // namespace sheaf
