// Whether the other processes of a world that run on this machine are still there.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace sheaf {

class Peers {
 public:
  /// This process, for the others' Peers: who can be looked at from here says the same machine.
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
  /// The first rank on this machine whose process has ended. It doesn't wait.
  std::optional<Gone> gone() const;

  /// How many ranks of lower number are on this machine.
  int local_rank() const { return local_rank_; }

 private:
  struct Peer {
    int rank = 0, process = 0;
    int handle = -1;  ///< a descriptor that is readable once the process has ended
  };
  std::vector<Peer> peers_;
  int local_rank_ = 0;
};

}  // namespace sheaf
