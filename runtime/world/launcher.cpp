#include "runtime/world/launcher.h"

#include "runtime/world/process_world.h"

#include <dlfcn.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>

namespace sheaf {
namespace {

std::string folder_of_program() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  const std::string text(path, length > 0 ? static_cast<size_t>(length) : 0);
  return text.substr(0, text.rfind('/'));
}

/// Where the engine lies, seen from the program: in a build folder, and as installed.
constexpr const char* kPlaces[] = {"/../lib/libsheaf_mpi.so", "/../" SHEAF_MPI_FOLDER "/libsheaf_mpi.so"};

Result<OpenMessages> open_engine(const std::string& sign) {
  std::string reasons;
  for (const char* place : kPlaces) {
    const std::string path = folder_of_program() + place;
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

}  // namespace

std::optional<LauncherSign> launcher_sign(const std::function<const char*(const char*)>& variable) {
  const auto number = [&](const char* name) { return variable(name) ? std::atoi(variable(name)) : 0; };
  // Open MPI's mpirun, and MPICH's and its descendants' (PMI); srun sets the latter with --mpi=pmi2.
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    if (number(name) > 0) return LauncherSign{std::string(name) + "=" + variable(name), number(name)};
  }
  // srun --mpi=pmix. A batch script has Slurm's other variables too, and is one process.
  if (variable("PMIX_RANK") && number("SLURM_STEP_NUM_TASKS") > 0)
    return LauncherSign{std::string("SLURM_STEP_NUM_TASKS=") + variable("SLURM_STEP_NUM_TASKS"),
                        number("SLURM_STEP_NUM_TASKS")};
  return std::nullopt;
}

Result<std::shared_ptr<ProcessWorld>> join_world() {
  const auto sign = launcher_sign([](const char* name) -> const char* { return std::getenv(name); });
  if (!sign || sign->processes < 2) return std::shared_ptr<ProcessWorld>();
  SHEAF_ASSIGN(const auto open, open_engine(sign->text));
  SHEAF_ASSIGN(auto world, ProcessWorld::open(open));
  if (world->size() != sign->processes) {
    return Error("a launcher has started " + std::to_string(sign->processes) + " processes (" + sign->text + "), and " +
                 world->library() + " knows of " + std::to_string(world->size()))
        .note("start sheaf with the mpirun of the MPI that it was built with");
  }
  return world;
}

}  // namespace sheaf
