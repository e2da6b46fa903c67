#include "runtime/cuda/cuda_device.h"

#include "runtime/cuda/format.h"
#include "runtime/cuda/generated_kernel.h"
#include "runtime/cuda/merged_launch.h"
#include "runtime/cuda/logged_driver.h"
#include "runtime/cuda/queue.h"
#include "runtime/cuda/rank_link.h"
#include "runtime/device/launch_count.h"
#include "runtime/plan/op_list.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

namespace sheaf::cuda {
namespace {

/// Once in a process: what makes products of f32 less exact than f32, whatever a library was asked for.
void warn_of_tf32() {
  static std::atomic<bool> looked{false};
  if (looked.exchange(true, std::memory_order_relaxed)) return;
  const char* value = std::getenv("NVIDIA_TF32_OVERRIDE");
  if (!value || !*value || std::strcmp(value, "0") == 0) return;
  std::fprintf(stderr,
               "warning: NVIDIA_TF32_OVERRIDE=%s lets NVIDIA's libraries round the factors of f32 products to TF32, also with "
               "--numerics strict; unset it, or set it to 0\n",
               value);
}

class CudaDevice final : public Device {
 public:
  CudaDevice(const std::shared_ptr<Backend>& backend, int device, std::string planned)
      : state_(BackendState::of(backend)), driver_(state_->driver()), device_(device), name_("cuda:" + std::to_string(device)) {
    const DeviceProperties& properties = driver_.properties(device);
    info_.kind = "cuda";
    info_.model = properties.name;
    info_.isa = "sm_" + std::to_string(properties.major) + std::to_string(properties.minor);
    info_.memory_bytes = properties.memory_bytes;
    info_.multiprocessors = properties.multiprocessors;
    info_.alignment = kAlignment;
    info_.asynchronous = true;
    info_.fuses_norms = backend->fuses_norms();
    info_.looks_up_numbers = true;
    info_.links_ranks = true;
    info_.planned = std::move(planned);
  }

  ~CudaDevice() override {
    if (!library_) return;
    if (state_->lost()) library_->abandon();
    else (void)driver_.make_current(device_);  // whose handles its libraries give back
  }

  const DeviceInfo& info() const override { return info_; }
  CallLog* call_log() override {
    auto* logged = dynamic_cast<LoggedDriver*>(&driver_);
    return logged ? &logged->log() : nullptr;
  }
  int memory_space() const override { return 1 + device_; }
  std::string software() override {
    const std::lock_guard lock(mutex_);
    const std::string libraries = library_ ? library_->versions() : "", driver = driver_.version();
    return libraries + (libraries.empty() || driver.empty() ? "" : ", ") + driver;
  }

  int64_t available_bytes() override {
    auto memory = driver_.memory(device_);
    return memory ? memory->free_bytes : info_.memory_bytes;
  }

  Result<void*> allocate(size_t bytes) override {
    if (bytes > static_cast<size_t>(info_.memory_bytes)) {
      return Error(std::to_string(bytes) + " bytes of memory are needed; " + name_ + " has " +
                   std::to_string(info_.memory_bytes));
    }
    const size_t least = std::max<size_t>(bytes, 1);
    auto memory = driver_.allocate(device_, least);
    if (!memory) {
      Error error = memory.error();
      return error.note(std::to_string(bytes) + " bytes were asked for on " + name_ + ", " + std::to_string(available_bytes()) +
                        " are free");
    }
    state_->memory.add(*memory, least, device_);
    return memory;
  }
  void release(void* memory) override {
    if (!memory) return;
    state_->memory.remove(memory);
    if (!state_->lost()) driver_.release(device_, memory);  // that would wait for a device that may never be done
  }

  Result<std::unique_ptr<Queue>> open_queue(int, Seconds deadline) override {
    SHEAF_ASSIGN(auto kernels, queue_kernels());
    state_->meet(device_);
    SHEAF_ASSIGN(auto queue, CudaQueue::open(state_, device_, name_, kernels, deadline));
    return std::unique_ptr<Queue>(std::move(queue));
  }
  Result<std::unique_ptr<Event>> make_event() override {
    SHEAF_ASSIGN(auto event, CudaEvent::make(state_, device_));
    return std::unique_ptr<Event>(std::move(event));
  }
  Result<std::shared_ptr<const Kernels>> load_kernels(const Plan& plan) override {
    return load_generated_kernels(state_, device_, plan);
  }

  Result<void> supports(Op op, DType dtype) override {
    SHEAF_ASSIGN(auto library, open_library());
    return library->supports(op, dtype);
  }
  Result<Prepared> prepare(const PrepareRequest& request) override {
    const Step& step = request.step;
    const std::string what = (step.layer.empty() ? "" : "layer '" + step.layer + "', ") + "operation " +
                             (step.kernel.empty() ? to_string(step.op) : step.kernel);
    if (step.op == Op::kernel) {
      SHEAF_ASSIGN(auto kernels, queue_kernels());
      return described(prepare_generated_kernel(request, state_, device_, kernels), what);
    }
    SHEAF_ASSIGN(auto library, open_library());
    if (!request.fast_numerics && info_.planned.empty()) warn_of_tf32();
    return described(library->prepare(request), what);
  }

  Result<Prepared> prepare_reorder(const TensorSpec& from, const TensorSpec& to, int threads) override {
    const auto format = [](const TensorSpec& spec) { return spec.plain() ? "plain" : spec.format->name(); };
    return reordered(from, to, threads, {}, "reordering from " + format(from) + " to " + format(to));
  }
  Result<Prepared> prepare_numbers(const TensorSpec& bytes, const TensorSpec& to, std::span<const float> numbers) override {
    return reordered(bytes, to, 1, numbers, "the numbers of bytes");
  }

  TensorSpec same_layout(const TensorSpec& tensor, DType dtype) override { return same_layout_of(tensor, dtype); }

  std::unique_ptr<Executable> merge(std::span<Executable* const> parts) override {
    auto messages = merge_messages(parts);
    return messages ? std::move(messages) : merge_launches(state_, device_, parts);
  }

  Result<LinkIdentity> link_identity() override {
    SHEAF_ASSIGN(auto library, state_->backend().rank_library());
    return LinkIdentity{driver_.properties(device_).uuid, std::move(library)};
  }
  Result<std::string> new_link() override { return state_->backend().new_rank_communicator(); }
  Result<std::shared_ptr<RankLink>> join_link(const std::string& link, const WorldMember& member, Seconds limit) override {
    SHEAF_ASSIGN(auto joined, CudaRankLink::join(state_, device_, link, member, limit));
    return std::shared_ptr<RankLink>(std::move(joined));
  }

  Result<std::vector<Prepared>> prepare_collective(const CollectiveRequest& request,
                                                   std::span<Device* const> members) override {
    std::vector<int> devices;
    for (Device* member : members) {
      auto* device = dynamic_cast<CudaDevice*>(member);
      if (!device || device->state_ != state_) return Error("a collective of devices of different kinds");
      devices.push_back(device->device_);
    }
    std::string why;
    SHEAF_ASSIGN(auto communicator, state_->communicator(devices, why));
    if (!communicator) return std::vector<Prepared>{};
    SHEAF_ASSIGN(auto prepared, communicator->prepare(request));
    for (size_t rank = 0; rank < prepared.size(); ++rank) {
      auto* operation = dynamic_cast<Operation*>(prepared[rank].executable.get());
      if (!operation) continue;
      const bool root = static_cast<int>(rank) == request.root;
      const bool writes = request.kind == CollectiveRequest::broadcast ? !root : root;
      const size_t times = request.kind == CollectiveRequest::gather && root ? members.size() - 1 : 1;
      operation->operands.clear();
      for (size_t i = 0; i < times; ++i) {
        for (size_t bytes : request.parts) operation->operands.push_back({bytes, writes});
      }
      operation->scratch_bytes = prepared[rank].scratch_bytes;
      operation->what = request.what;
    }
    return prepared;
  }

 private:
  Result<Prepared> reordered(const TensorSpec& from, const TensorSpec& to, int threads, std::span<const float> numbers,
                             const std::string& what) {
    static const Plan no_plan;
    SHEAF_ASSIGN(auto library, open_library());
    Step step;
    step.op = Op::reorder;
    step.inputs = step.outputs = {0};
    step.roles = {"x"};
    const bool constant[] = {false};
    PrepareRequest request{step, no_plan, {&from, 1}, {&to, 1}, threads, false, constant};
    request.numbers = numbers;
    return described(library->prepare(request), what);
  }

  /// Tells the operation what it works on.
  static Result<Prepared> described(Result<Prepared> prepared, const std::string& what) {
    if (!prepared || !prepared->executable || dynamic_cast<PlannedLaunches*>(prepared->executable.get())) return prepared;
    auto* operation = dynamic_cast<Operation*>(prepared->executable.get());
    if (!operation) return Error(what + ": what prepared it made no operation of a GPU");
    operation->operands.clear();
    for (const TensorSpec& input : prepared->inputs) operation->operands.push_back({input.bytes, false});
    for (const TensorSpec& output : prepared->outputs) operation->operands.push_back({output.bytes, true});
    operation->scratch_bytes = prepared->scratch_bytes;
    operation->what = what;
    return prepared;
  }

  Result<Library*> open_library() {
    const std::lock_guard lock(mutex_);
    if (!library_) {
      SHEAF_ASSIGN(library_, state_->backend().open_library(device_));
    }
    return library_.get();
  }

  Result<std::shared_ptr<const QueueKernels>> queue_kernels() {
    const std::lock_guard lock(mutex_);
    if (!queue_kernels_) {
      SHEAF_ASSIGN(queue_kernels_, QueueKernels::load(state_, device_));
    }
    return queue_kernels_;
  }

  std::shared_ptr<BackendState> state_;
  Driver& driver_;
  int device_;
  std::string name_;
  DeviceInfo info_;
  std::mutex mutex_;
  std::unique_ptr<Library> library_;                   ///< opened when first asked for
  std::shared_ptr<const QueueKernels> queue_kernels_;  ///< loaded when first asked for
};

}  // namespace

std::shared_ptr<Device> make_cuda_device(std::shared_ptr<Backend> backend, int device, std::string planned) {
  return std::make_shared<CudaDevice>(backend, device, std::move(planned));
}

}  // namespace sheaf::cuda
