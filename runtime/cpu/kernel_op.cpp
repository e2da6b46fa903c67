#include "runtime/cpu/kernel_op.h"

#include "runtime/cpu/dnnl_format.h"
#include "runtime/cpu/isa.h"
#include "runtime/cpu/thread_pool.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>

namespace sheaf {
namespace {

using KernelFunction = void (*)(void* const* buffers, const int64_t* extents, int64_t begin, int64_t end);

class CpuKernels : public Kernels {
 public:
  ~CpuKernels() override {
    if (handle) dlclose(handle);
    if (file >= 0) close(file);
  }
  void* handle = nullptr;
  int file = -1;  ///< kept open: dlopen takes a path that it knows for the object it knows, and numbers are used again
  std::map<std::string, KernelFunction> functions;
};

/// dlopen of bytes in memory. Fills handle and file of `kernels`.
Result<void> open_object(CpuKernels& kernels, const std::string& name, const std::string& bytes) {
  const int file = memfd_create("sheaf-kernels", MFD_CLOEXEC);
  if (file < 0) return Error("cannot create a memory file for the plan's kernels");
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t written = write(file, bytes.data() + done, bytes.size() - done);
    if (written <= 0) {
      close(file);
      return Error("cannot store the plan's kernels in memory");
    }
    done += static_cast<size_t>(written);
  }
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  const char* reason = handle ? nullptr : dlerror();
  kernels.handle = handle;
  kernels.file = file;
  if (handle) return {};
  return Error("the plan's kernels for " + name + " cannot be loaded: " + (reason ? reason : "unknown reason"));
}

/// A kernel that looks rows up in a table reports the first index beyond its end: output `status` of the step, an
/// int64, stays 0 or becomes ~p, p being the position of that index in input 0. Input 1 is the table.
struct Lookup {
  size_t status = 0;  ///< buffer
  DType dtype = DType::int64;
  int64_t entries = 0;
};

class KernelExecutable : public Executable {
 public:
  KernelExecutable(std::shared_ptr<const CpuKernels> kernels, KernelFunction function, std::vector<int64_t> extents,
                   int64_t work, int64_t grain, int threads, std::optional<Lookup> lookup)
      : kernels_(std::move(kernels)), function_(function), extents_(std::move(extents)), work_(work), grain_(grain),
        threads_(threads), lookup_(lookup) {}

  void run(void* const* buffers, void*) override {
    if (lookup_) *static_cast<int64_t*>(buffers[lookup_->status]) = 0;
    parallel_for(work_, grain_, threads_,
                 [&](int64_t begin, int64_t end) { function_(buffers, extents_.data(), begin, end); });
    if (!lookup_) return;
    const int64_t status = *static_cast<int64_t*>(buffers[lookup_->status]);
    failed_ = status != 0;
    if (!failed_) return;
    bad_position_ = ~status;
    bad_index_ = lookup_->dtype == DType::int64 ? static_cast<const int64_t*>(buffers[0])[bad_position_]
                                                : static_cast<const int32_t*>(buffers[0])[bad_position_];
  }

  bool failed() const override { return failed_; }
  std::string failure() const override {
    if (!failed_) return {};
    return "index " + std::to_string(bad_index_) + " (element " + std::to_string(bad_position_) +
           " of its input) is out of range; the table has entries 0 to " + std::to_string(lookup_->entries - 1);
  }

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

Error step_error(const PrepareRequest& request, const std::string& why) {
  return Error("layer '" + request.step.layer + "': kernel '" + request.step.kernel + "' " + why);
}

/// For an element-wise kernel: the format that most of its inputs have, if all operands can have it. Which is
/// so where they have the same dims and the format has no padding, so that its bytes are the elements. Dtypes may differ:
/// what counts is where each element lies.
const TensorSpec* shared_format(const PrepareRequest& request) {
  const TensorSpec* best = nullptr;
  std::ptrdiff_t best_count = 0;
  const auto alike = [&](const TensorSpec& a, const TensorSpec& b) {
    return a.dims == b.dims && (a.dtype == b.dtype || !same_layout_of(a, b.dtype).plain());
  };
  for (const TensorSpec& input : request.inputs) {
    const auto count = std::count_if(request.inputs.begin(), request.inputs.end(),
                                     [&](const TensorSpec& other) {
                                       return same_format(input, other) || same_format(same_layout_of(input, other.dtype), other);
                                     });
    if (count > best_count) best = &input, best_count = count;
  }
  if (!best || best->plain()) return nullptr;
  if (best->bytes != static_cast<size_t>(element_count(*best)) * size_of(best->dtype)) return nullptr;
  for (const TensorSpec& other : request.inputs) {
    if (!alike(*best, other)) return nullptr;
  }
  for (const TensorSpec& other : request.outputs) {
    if (!alike(*best, other)) return nullptr;
  }
  return best;
}

std::string reason_for_layout(const Kernel& kernel, const TensorSpec* format) {
  const std::string made = "compiled into the plan for this chain of ops";
  if (format) return made + "; element-wise without broadcasting, so it works in its inputs' layout, " + format->format->name();
  if (!kernel.elementwise) return made + "; it finds elements by their indices, so all operands are plain";
  return made + "; its operands don't share another layout, so all are plain";
}

Result<std::optional<Lookup>> find_lookup(const PrepareRequest& request) {
  const auto found = request.step.attributes.find("status");
  if (found == request.step.attributes.end()) return std::optional<Lookup>();
  const int64_t output = found->is_number_integer() ? found->get<int64_t>() : -1;
  if (output < 0 || output >= static_cast<int64_t>(request.outputs.size()) || request.inputs.size() < 2 ||
      request.outputs[static_cast<size_t>(output)].dtype != DType::int64 ||
      element_count(request.outputs[static_cast<size_t>(output)]) != 1 || request.inputs[1].dims.empty() ||
      (request.inputs[0].dtype != DType::int64 && request.inputs[0].dtype != DType::int32)) {
    return step_error(request, "has a 'status' that is not an output of one int64, or no indices and table to go with it");
  }
  return std::optional<Lookup>({request.inputs.size() + static_cast<size_t>(output), request.inputs[0].dtype,
                                request.inputs[1].dims[0]});
}

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
    return Error({plan.file}, "the plan holds no kernels that this CPU can run: it has " + (offered.empty() ? "none" : offered) +
                 ", and sheaf needs a CPU with AVX2 and FMA (x86-64-v3) at least");
  }
  if (auto opened = open_object(*kernels, level, *object); !opened) {
    opened.error().diagnostics.front().location.file = plan.file;
    return opened.error();
  }
  for (const Kernel& kernel : plan.kernels) {
    void* symbol = dlsym(kernels->handle, kernel.name.c_str());
    if (!symbol) return Error({plan.file}, "the plan's object for " + level + " has no kernel '" + kernel.name + "'");
    kernels->functions[kernel.name] = reinterpret_cast<KernelFunction>(symbol);
  }
  return std::shared_ptr<const Kernels>(kernels);
}

Result<Prepared> prepare_cpu_kernel(const PrepareRequest& request) {
  auto* loaded = dynamic_cast<const CpuKernels*>(request.kernels);
  if (request.kernels && !loaded) return step_error(request, "was not loaded for the CPU");
  const auto described = std::find_if(request.plan.kernels.begin(), request.plan.kernels.end(),
                                      [&](const Kernel& kernel) { return kernel.name == request.step.kernel; });
  if (described == request.plan.kernels.end()) return step_error(request, "is not in the plan");
  if (static_cast<int>(request.extents.size()) < described->extents) {
    return step_error(request, "reads " + std::to_string(described->extents) + " extents; the step gives " +
                                   std::to_string(request.extents.size()));
  }

  Prepared prepared;
  const TensorSpec* format = described->elementwise ? shared_format(request) : nullptr;
  const auto adopt = [&](const TensorSpec& spec) {
    if (!format) return plain_tensor(spec.dtype, spec.dims);
    return format->dtype == spec.dtype ? *format : same_layout_of(*format, spec.dtype);
  };
  for (const TensorSpec& input : request.inputs) prepared.inputs.push_back(adopt(input));
  for (const TensorSpec& output : request.outputs) prepared.outputs.push_back(adopt(output));
  for (const auto& pair : request.step.attributes.value("in_place", Json::array())) {
    if (pair.is_array() && pair.size() == 2 && pair[0].is_number_integer() && pair[1].is_number_integer()) {
      prepared.in_place.emplace_back(pair[0].get<int>(), pair[1].get<int>());
    }
  }
  auto lookup = find_lookup(request);
  if (!lookup) return lookup.error();
  prepared.can_fail = lookup->has_value();
  prepared.implementation = "generated";
  prepared.reason = reason_for_layout(*described, format);
  if (!loaded) return prepared;
  const auto function = loaded->functions.find(request.step.kernel);
  if (function == loaded->functions.end()) return step_error(request, "was not loaded");
  const auto grain = request.step.attributes.value("grain", int64_t{1});
  // The shared_ptr that owns the code: request.kernels is a plain pointer, so take part in its ownership here.
  auto owner = std::static_pointer_cast<const CpuKernels>(request.kernels->shared_from_this());
  prepared.executable = std::make_unique<KernelExecutable>(
      owner, function->second, std::vector<int64_t>(request.extents.begin(), request.extents.end()), request.work,
      std::max<int64_t>(1, grain), request.threads, *lookup);
  return prepared;
}

}  // namespace sheaf
