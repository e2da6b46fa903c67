#include "runtime/world/launcher.h"

#include "runtime/base/program_folder.h"
#include "runtime/world/process_world.h"

#include <dlfcn.h>

#include <csignal>
#include <cstdlib>

namespace sheaf {
namespace {

/// Where the engine is, relative to the program's folder: in a build folder, and as installed.
constexpr const char* kPlaces[] = {"../lib/libsheaf_mpi.so", "../" SHEAF_MPI_FOLDER "/libsheaf_mpi.so"};

Result<OpenMessages> open_engine(const std::string& sign) {
  std::error_code ignored;  // the places are then relative to the current folder, and no engine is found
  const auto folder = program_folder(ignored);
  std::string reasons;
  for (const char* place : kPlaces) {
    const std::string path = (folder / place).string();
    // MPI libraries open plugins of their own, which look for the library's symbols among the global ones.
    if (void* engine = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL)) {
      if (void* found = dlsym(engine, "sheaf_open_messages")) return reinterpret_cast<OpenMessages>(found);
    }
    const char* why = dlerror();
    reasons += std::string(reasons.empty() ? "" : "; ") + (why ? why : path);
  }
  return Error("a launcher has started this process as one of several (" + sign + "), but MPI can't be used: " + reasons)
      .note("sheaf is built with MPI where its headers are: tools/setup.sh installs Open MPI's")
      .note("without it, name all devices in one process: --devices cpu:0,cpu:1");
}

/// An MPI library may write to the socket of a process that is gone. That mustn't end this one before it has reported which.
void survive_broken_pipes() {
  struct sigaction now{};
  sigaction(SIGPIPE, nullptr, &now);
  if (now.sa_handler == SIG_DFL) std::signal(SIGPIPE, SIG_IGN);
}

}  // namespace

std::optional<LauncherSign> launcher_sign(const std::function<const char*(const char*)>& variable) {
  const auto number = [&](const char* name) { return variable(name) ? std::atoi(variable(name)) : 0; };
  // Open MPI's mpirun, and MPICH's and its descendants' (PMI); srun sets the latter with --mpi=pmi2.
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    if (number(name) > 0) return LauncherSign{std::string(name) + "=" + variable(name), number(name)};
  }
  // srun --mpi=pmix. A batch script has Slurm's other variables too, but is a single process.
  if (variable("PMIX_RANK") && number("SLURM_STEP_NUM_TASKS") > 0)
    return LauncherSign{std::string("SLURM_STEP_NUM_TASKS=") + variable("SLURM_STEP_NUM_TASKS"),
                        number("SLURM_STEP_NUM_TASKS")};
  return std::nullopt;
}

Result<std::shared_ptr<ProcessWorld>> join_world() {
  const auto sign = launcher_sign([](const char* name) -> const char* { return std::getenv(name); });
  if (!sign || sign->processes < 2) return std::shared_ptr<ProcessWorld>();
  SHEAF_ASSIGN(const auto open, open_engine(sign->text));
  survive_broken_pipes();
  SHEAF_ASSIGN(auto world, ProcessWorld::open(open));
  if (world->size() != sign->processes) {
    return Error("a launcher has started " + std::to_string(sign->processes) + " processes (" + sign->text + "), and " +
                 world->library() + " knows of " + std::to_string(world->size()))
        .note("start sheaf with the mpirun of the MPI that it was built with");
  }
  return world;
}

}  // namespace sheaf
