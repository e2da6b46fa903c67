// Whether a launcher has started this process as one of several.
#pragma once

#include "runtime/world/world.h"

#include <functional>

namespace sheaf {

class ProcessWorld;

/// Joins the world that a launcher (Open MPI's, MPICH's, Slurm's) has made; null if this process was started by itself, or as
/// the only one. Errors: the engine isn't in this build, or can't be opened; the launcher is of another MPI.
Result<std::shared_ptr<ProcessWorld>> join_world();

/// The environment's sign of a launcher, such as "OMPI_COMM_WORLD_SIZE=4", and the number of processes it gives; none if there
/// is no such sign. `variable`: std::getenv, or a test's.
struct LauncherSign {
  std::string text;
  int processes = 0;
};
std::optional<LauncherSign> launcher_sign(const std::function<const char*(const char*)>& variable);

}  // namespace sheaf
