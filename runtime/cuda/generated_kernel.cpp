#include "runtime/cuda/generated_kernel.h"

#include "runtime/steps/kernel_step.h"
#include "runtime/cuda/format.h"
#include "runtime/cuda/generated_launch.h"
#include "runtime/device/launch_count.h"
#include "runtime/plan/kernel_lookup.h"

#include <algorithm>

namespace sheaf::cuda {
namespace {

/// Pinned memory of an operation.
class PinnedBlock {
 public:
  PinnedBlock(std::shared_ptr<BackendState> state, void* memory) : state_(std::move(state)), memory_(memory) {}
  ~PinnedBlock() {
    if (!state_->lost()) state_->driver().release_pinned(memory_);
  }
  PinnedBlock(const PinnedBlock&) = delete;
  PinnedBlock& operator=(const PinnedBlock&) = delete;
  void* get() const { return memory_; }

 private:
  std::shared_ptr<BackendState> state_;
  void* memory_;
};

/// A lookup's status is looked at on the device, which raises the queue's flag, and comes to the host without being asked for.
class LookupKernel final : public GeneratedLaunch, public CountsLaunches {
 public:
  static constexpr int kLaunches = 3, kReports = 4;  ///< words of pinned memory: two for each phase
  LookupKernel(GeneratedLaunch&& launch, Lookup lookup, std::shared_ptr<const QueueKernels> kernels,
               std::unique_ptr<PinnedBlock> report)
      : GeneratedLaunch(std::move(launch)), lookup_(lookup), kernels_(std::move(kernels)), report_(std::move(report)) {
    for (const int phase : {0, 1}) found(phase)[0] = found(phase)[1] = 0;
    own = {{report_->get(), kReports * sizeof(int64_t), true}};
  }

  Result<void> enqueue(const Enqueue& at) override {
    auto* status = static_cast<int64_t*>(at.buffers[lookup_.status]);
    SHEAF_TRY(driver().fill(at.stream, status, 0, sizeof *status));
    SHEAF_TRY(GeneratedLaunch::enqueue(at));
    return kernels_->report(at.stream, status, at.buffers[0], static_cast<int64_t>(size_of(lookup_.dtype)), found(at.phase),
                            at.flag);
  }
  int launches() const override { return kLaunches; }
  bool reports_by_phase() const override { return true; }
  bool failed(int phase) const override { return found(phase)[0] != 0; }
  std::string failure(int phase) const override {
    return failed(phase) ? lookup_.failure(~found(phase)[0], found(phase)[1]) : std::string();
  }

 private:
  int64_t* found(int phase) const { return static_cast<int64_t*>(report_->get()) + 2 * phase; }

  Lookup lookup_;
  std::shared_ptr<const QueueKernels> kernels_;
  std::unique_ptr<PinnedBlock> report_;  ///< by phase of runs: status, index
};

}  // namespace

unsigned blocks_for(int64_t work, int items, int threads, int multiprocessors) {
  constexpr int64_t kThreadsAtOnce = 2048;  ///< of a multiprocessor, at most
  const int64_t needed = (work + items - 1) / std::max(1, items);
  const int64_t at_once = kThreadsAtOnce / std::max(1, threads) * std::max(1, multiprocessors);
  return static_cast<unsigned>(std::clamp<int64_t>(needed, 1, 2 * std::max<int64_t>(1, at_once)));
}

Result<std::shared_ptr<const Kernels>> load_generated_kernels(const std::shared_ptr<BackendState>& state, int device,
                                                              const Plan& plan) {
  auto kernels = std::make_shared<PtxKernels>();
  if (plan.kernels.empty()) return std::shared_ptr<const Kernels>(kernels);
  const std::string* ptx = find_ptx(plan);
  if (!ptx) {
    std::string has;
    for (const auto& object : plan.objects) has += (has.empty() ? "" : ", ") + object.first;
    Error error({plan.file}, "the plan holds no kernels for GPUs: it has " + (has.empty() ? "none" : has));
    error.note("compile the model again: sheaf compile writes them unless its --targets leaves them out");
    return error;
  }
  auto module = LoadedModule::load(state, device, *ptx);
  if (!module) {
    Error error({plan.file}, "the plan's kernels cannot be loaded on " + state->driver().properties(device).name + ": " +
                                 module.error().message());
    for (const std::string& note : module.error().diagnostics.front().notes) error.note(note);
    return error;
  }
  kernels->module = std::move(*module);
  for (const Kernel& kernel : plan.kernels) {
    if (kernel.gpu_block <= 0) continue;
    auto function = kernels->module->function(kernel.name);
    if (!function)
      return Error({plan.file}, "the plan's PTX has no kernel '" + kernel.name + "': " + function.error().message());
    PtxKernels::Entry entry{*function, nullptr};
    if (launches_many(kernel)) {
      SHEAF_ASSIGN(auto many, kernels->module->function(kernel.name + "_many"));
      entry.many = many;
    }
    kernels->entries[kernel.name] = entry;
  }
  return std::shared_ptr<const Kernels>(kernels);
}

Result<Prepared> prepare_generated_kernel(const PrepareRequest& request, const std::shared_ptr<BackendState>& state, int device,
                                          const std::shared_ptr<const QueueKernels>& queue_kernels) {
  auto* loaded = dynamic_cast<const PtxKernels*>(request.kernels);
  if (request.kernels && !loaded) return Error("was not loaded for GPUs");
  if (loaded && loaded->module && loaded->module->device() != device) return Error("was loaded for another GPU");
  SHEAF_ASSIGN(auto step, prepare_kernel_step(request, same_layout_of));
  const Kernel& kernel = *step.kernel;
  if (kernel.gpu_block <= 0 || kernel.gpu_items <= 0) {
    Error error("has no form for GPUs in this plan");
    return error.note("compile the model again: sheaf compile writes them unless its --targets leaves them out");
  }
  if (!loaded) {
    step.prepared.executable = planned_launches_of(step.lookup ? LookupKernel::kLaunches : 1);
    return std::move(step.prepared);
  }
  const auto entry = loaded->entries.find(kernel.name);
  if (entry == loaded->entries.end()) return Error("was not loaded");
  GeneratedLaunch launch(std::static_pointer_cast<const PtxKernels>(request.kernels->shared_from_this()), entry->second, kernel,
                         request.extents.first(static_cast<size_t>(kernel.extents)), request.gpu_work,
                         request.inputs.size() + request.outputs.size(), state->driver().properties(device).multiprocessors);
  if (!step.lookup) {
    step.prepared.executable = std::make_unique<GeneratedLaunch>(std::move(launch));
    return std::move(step.prepared);
  }
  SHEAF_ASSIGN(auto report, state->driver().allocate_pinned(LookupKernel::kReports * sizeof(int64_t)));
  step.prepared.executable = std::make_unique<LookupKernel>(std::move(launch), *step.lookup, queue_kernels,
                                                            std::make_unique<PinnedBlock>(state, report));
  return std::move(step.prepared);
}

}  // namespace sheaf::cuda
