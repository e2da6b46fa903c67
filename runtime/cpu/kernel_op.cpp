#include "runtime/cpu/kernel_op.h"

#include "runtime/cpu/dnnl/dnnl_format.h"
#include "runtime/machine/isa.h"
#include "runtime/machine/memory_object.h"
#include "runtime/machine/thread_pool.h"
#include "runtime/steps/kernel_step.h"

#include <algorithm>
#include <map>
#include <optional>

namespace sheaf {
namespace {

using KernelFunction = void (*)(void* const* buffers, const int64_t* extents, int64_t begin, int64_t end);

class CpuKernels : public Kernels {
 public:
  std::optional<MemoryObject> object;  ///< none: the plan has no kernels
  std::map<std::string, KernelFunction> functions;
};

class KernelExecutable : public Executable {
 public:
  KernelExecutable(std::shared_ptr<const CpuKernels> kernels, KernelFunction function, std::vector<int64_t> extents,
                   int64_t work, int64_t grain, int threads, std::optional<Lookup> lookup)
      : kernels_(std::move(kernels)),
        function_(function),
        extents_(std::move(extents)),
        work_(work),
        grain_(grain),
        threads_(threads),
        lookup_(lookup) {}

  void run(void* const* buffers, void*) override {
    if (lookup_) *static_cast<int64_t*>(buffers[lookup_->status]) = 0;
    parallel_for(work_, grain_, threads_, [&](int64_t begin, int64_t end) { function_(buffers, extents_.data(), begin, end); });
    if (!lookup_) return;
    const int64_t status = *static_cast<int64_t*>(buffers[lookup_->status]);
    failed_ = status != 0;
    if (!failed_) return;
    bad_position_ = ~status;
    bad_index_ = lookup_->dtype == DType::int64 ? static_cast<const int64_t*>(buffers[0])[bad_position_]
                                                : static_cast<const int32_t*>(buffers[0])[bad_position_];
  }

  bool failed(int) const override { return failed_; }
  std::string failure(int) const override { return failed_ ? lookup_->failure(bad_position_, bad_index_) : std::string(); }

 private:
  std::shared_ptr<const CpuKernels> kernels_;  // keeps the code mapped
  KernelFunction function_;
  std::vector<int64_t> extents_;
  int64_t work_;
  int64_t grain_;
  int threads_;
  std::optional<Lookup> lookup_;
  bool failed_ = false;
  int64_t bad_position_ = 0;
  int64_t bad_index_ = 0;
};

}  // namespace

Result<std::shared_ptr<const Kernels>> load_cpu_kernels(const Plan& plan) {
  auto kernels = std::make_shared<CpuKernels>();
  if (plan.kernels.empty()) return std::shared_ptr<const Kernels>(kernels);
  const std::string* object = nullptr;
  std::string level, offered;
  for (const std::string& supported : supported_isa_levels()) {
    for (const auto& [name, bytes] : plan.objects) {
      if (!object && name == supported) object = &bytes, level = name;
    }
  }
  if (!object) {
    for (const auto& [name, bytes] : plan.objects) offered += (offered.empty() ? "" : ", ") + name;
    return Error({plan.file}, "the plan holds no kernels that this CPU can run: it has " +
                                  (offered.empty() ? "none" : offered) +
                                  ", and sheaf needs a CPU with AVX2 and FMA (x86-64-v3) at least");
  }
  auto loaded = MemoryObject::load(*object);
  if (!loaded) {
    Diagnostic& problem = loaded.error().diagnostics.front();
    problem.location.file = plan.file;
    problem.message = "the plan's kernels for " + level + " cannot be loaded: " + problem.message;
    return loaded.error();
  }
  kernels->object.emplace(std::move(*loaded));
  for (const Kernel& kernel : plan.kernels) {
    void* symbol = kernels->object->symbol(kernel.name);
    if (!symbol) return Error({plan.file}, "the plan's object for " + level + " has no kernel '" + kernel.name + "'");
    kernels->functions[kernel.name] = reinterpret_cast<KernelFunction>(symbol);
  }
  return std::shared_ptr<const Kernels>(kernels);
}

Result<Prepared> prepare_cpu_kernel(const PrepareRequest& request) {
  auto* loaded = dynamic_cast<const CpuKernels*>(request.kernels);
  if (request.kernels && !loaded) return Error("was not loaded for the CPU");
  SHEAF_ASSIGN(auto step, prepare_kernel_step(request, same_layout_of));
  if (!loaded) return std::move(step.prepared);
  const auto function = loaded->functions.find(request.step.kernel);
  if (function == loaded->functions.end()) return Error("was not loaded");
  const auto grain = request.step.attributes.value("grain", int64_t{1});
  // The shared_ptr that owns the code: request.kernels is a plain pointer, so take part in its ownership here.
  auto owner = std::static_pointer_cast<const CpuKernels>(request.kernels->shared_from_this());
  step.prepared.executable = std::make_unique<KernelExecutable>(
      owner, function->second, std::vector<int64_t>(request.extents.begin(), request.extents.end()), request.work,
      std::max<int64_t>(1, grain), request.threads, step.lookup);
  return std::move(step.prepared);
}

}  // namespace sheaf
