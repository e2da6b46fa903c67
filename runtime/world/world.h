// The processes of a run. A single process is no world: this is for several, each with its own devices, which a launcher
// (mpirun, srun) has started with the same command (docs/worlds.md).
#pragma once

#include "runtime/base/error.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sheaf {

/// Ranks count from 0. All ranks make the calls marked "all ranks together", in one order.
class World {
 public:
  virtual ~World() = default;
  virtual int size() const = 0;
  /// Whether this process does the work of `rank`.
  virtual bool here(int rank) const = 0;

  /// From `from`, which is here, to `to`, and the reverse; a message is received whole, by a call of its size. They block: a
  /// send until its memory may change. Errors: a process is gone; the first cause, with its rank.
  virtual Result<void> send(int from, int to, const void* data, size_t bytes) = 0;
  virtual Result<void> receive(int to, int from, void* data, size_t bytes) = 0;

  /// Each rank's text, by rank. All ranks together.
  virtual Result<std::vector<std::string>> exchange(std::string mine) = 0;
  /// `data` of rank `root`, on all ranks. All ranks together.
  virtual Result<void> broadcast(int root, void* data, size_t bytes) = 0;
  /// Ends the run on all ranks, because of `cause` on this one: every present or later wait returns it as an error. The first
  /// one counts.
  virtual void fail(const Error& cause) = 0;
  /// Why the run has ended, if it has: "rank 2: …". Empty on the rank that failed.
  virtual std::optional<Error> failure() const = 0;

  /// Whether it is true on some rank. All ranks together.
  Result<bool> any(bool mine);
};

/// A device's place in a world.
struct WorldMember {
  std::shared_ptr<World> world;
  int rank = 0;
  bool here() const { return world->here(rank); }
};

}  // namespace sheaf
