// Turns sheaf-run (tools/sheaf-run.cpp) into a program whose cuda:0 to cuda:3 are virtual GPUs, for running models' tests on
// them: they are registered in CUDA's place (runtime/device/backend.h). Misuse that a GPU would punish is printed, and the exit
// status is then 3. SHEAF_SIM_SEED selects the order in which streams proceed, SHEAF_SIM_CHANNELS_LAST=1 the format of images,
// SHEAF_SIM_LINK=VERSION what links ranks' devices, none if it is empty; SHEAF_SIM_MACHINE=NAME part of their UUIDs, which differ from
// process to process otherwise; SHEAF_SIM_LINK_FAULT=absent a rank that never joins, =N one whose message N to each rank comes after the next,
// SHEAF_SIM_FUSES_NORMS=1 a library that joins batch norms with the ReLUs after them, SHEAF_SIM_JOINS_CONVOLUTIONS=1 one that also
// joins convolutions with the batch norms around them.
#include "runtime/device/backend.h"
#include "tests/sim/sim_machine.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <unistd.h>

namespace sheaf {
namespace {

constexpr int kDevices = 4;
std::atomic<int> violations{0};

/// Ends with the process, after all sessions and models: only then is it known what was not released.
class Machine {
 public:
  Machine() {
    sim::MachineOptions options;
    options.driver.devices = kDevices;
    options.driver.memory_bytes = int64_t{2} << 30;
    options.driver.violation = [](const std::string& text) {
      std::fprintf(stderr, "virtual GPU: %s\n", text.c_str());
      ++violations;
    };
    if (const char* seed = std::getenv("SHEAF_SIM_SEED"))
      options.driver.seed = static_cast<unsigned>(std::strtoul(seed, nullptr, 10));
    if (const char* machine = std::getenv("SHEAF_SIM_MACHINE")) options.driver.machine = machine;
    if (const char* library = std::getenv("SHEAF_SIM_LINK")) options.link.library = library;
    if (const char* fault = std::getenv("SHEAF_SIM_LINK_FAULT")) {
      options.link.absent = std::string_view(fault) == "absent";
      if (!options.link.absent) options.link.swaps = std::strtoul(fault, nullptr, 10);
    }
    options.library.channels_last = std::getenv("SHEAF_SIM_CHANNELS_LAST") != nullptr;
    options.library.joins_convolutions = std::getenv("SHEAF_SIM_JOINS_CONVOLUTIONS") != nullptr;
    options.library.fuses_norms = options.library.joins_convolutions || std::getenv("SHEAF_SIM_FUSES_NORMS") != nullptr;
    options.library.narrow_gradients = std::getenv("SHEAF_SIM_NARROW_GRADIENTS") != nullptr;
    machine_ = std::make_unique<sim::SimMachine>(options);
  }
  ~Machine() {
    machine_.reset();
    if (violations == 0) return;
    std::fflush(stdout);
    _exit(3);
  }
  std::shared_ptr<Device> device(int index) {
    const std::lock_guard lock(mutex_);
    return machine_->device(index);
  }

 private:
  std::mutex mutex_;
  std::unique_ptr<sim::SimMachine> machine_;
};

Result<std::shared_ptr<Device>> open_virtual(int index) {
  if (index >= kDevices) return Error("there are " + std::to_string(kDevices) + " virtual GPUs");
  static Machine machine;
  return machine.device(index);
}

constexpr DeviceBackend virtual_gpus = {"cuda", open_virtual};
[[maybe_unused]] const bool registered = (register_backend(virtual_gpus), true);

}  // namespace
}  // namespace sheaf
