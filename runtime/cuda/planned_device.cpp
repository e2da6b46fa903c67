#include "runtime/cuda/planned_device.h"

#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/gpu_models.h"
#include "runtime/plan/plan.h"

#include <map>
#include <mutex>

namespace sheaf::cuda {
namespace {

/// Has nothing that could run. Modules can be "loaded": a device loads the kernels of its queues before it prepares others.
class PlanningDriver final : public Driver {
 public:
  explicit PlanningDriver(const GpuModel& model) : properties_(properties_of(model)) {}
  int devices() const override { return kMostDevices; }
  const DeviceProperties& properties(int) const override { return properties_; }
  Result<MemoryInUse> memory(int) override { return MemoryInUse{properties_.memory_bytes, properties_.memory_bytes}; }
  Result<void*> allocate(int, size_t) override { return none(); }
  void release(int, void*) override {}
  Result<void*> allocate_pinned(size_t) override { return none(); }
  void release_pinned(void*) override {}
  Result<bool> enable_peer(int, int) override { return true; }
  Result<Stream> make_stream(int) override { return none(); }
  void destroy(Stream) override {}
  Result<DriverEvent> make_event(int, bool) override { return none(); }
  Result<double> elapsed(DriverEvent, DriverEvent) override { return none(); }
  void destroy(DriverEvent) override {}
  Result<Module> load(int, const std::string&) override { return reinterpret_cast<Module>(this); }
  void unload(int, Module) override {}
  Result<Function> function(int, Module, const std::string&) override { return reinterpret_cast<Function>(this); }
  Result<void> record(DriverEvent, Stream) override { return none(); }
  Result<void> wait(Stream, DriverEvent) override { return none(); }
  Result<bool> done(DriverEvent) override { return none(); }
  Result<bool> done(Stream) override { return none(); }
  Result<void> copy(Stream, void*, int, const void*, int, const CopyShape&) override { return none(); }
  Result<void> fill(Stream, void*, uint8_t, size_t) override { return none(); }
  Result<void> launch(Stream, const Launch&) override { return none(); }
  Result<void> begin_capture(Stream) override { return none(); }
  Result<Graph> end_capture(Stream) override { return none(); }
  Result<void> launch(Stream, Graph) override { return none(); }
  void destroy(Graph) override {}

 private:
  static Error none() { return Error("this device is only planned for"); }

  DeviceProperties properties_;
};

/// The devices share it.
class SharedLibrary final : public Library {
 public:
  explicit SharedLibrary(const GpuModel& model) : model_(model) {}
  Result<void> supports(Op op, DType dtype) override { return planning_library(model_).library->supports(op, dtype); }
  Result<Prepared> prepare(const PrepareRequest& request) override {
    return planning_library(model_).library->prepare(request);
  }

 private:
  const GpuModel& model_;
};

/// As NCCL's, which any machine with several GPUs is taken to have: it needs no scratch memory.
class PlanningCommunicator final : public Communicator {
 public:
  explicit PlanningCommunicator(size_t members) : members_(members) {}
  Result<std::vector<Prepared>> prepare(const CollectiveRequest&) override {
    std::vector<Prepared> prepared(members_);
    for (Prepared& member : prepared) member.implementation = "NCCL";
    return prepared;
  }

 private:
  size_t members_;
};

class PlanningBackend final : public Backend {
 public:
  explicit PlanningBackend(const GpuModel& model) : model_(model), driver_(model) {}
  Driver& driver() override { return driver_; }
  bool fuses_norms() const override { return planning_library(model_).fuses_norms; }
  Result<std::unique_ptr<Library>> open_library(int) override {
    return std::unique_ptr<Library>(std::make_unique<SharedLibrary>(model_));
  }
  Result<std::shared_ptr<Communicator>> open_communicator(std::span<const int> devices, std::string&) override {
    return std::shared_ptr<Communicator>(std::make_shared<PlanningCommunicator>(devices.size()));
  }

 private:
  const GpuModel& model_;
  PlanningDriver driver_;
};

/// The process's, of `model`.
const std::shared_ptr<Backend>& planning_backend(const GpuModel& model) {
  static std::mutex mutex;
  static auto& backends = *new std::map<const GpuModel*, std::shared_ptr<Backend>>;  // as the GPUs': never destroyed
  const std::lock_guard lock(mutex);
  auto& backend = backends[&model];
  if (!backend) backend = std::make_shared<PlanningBackend>(model);
  return backend;
}

}  // namespace

Driver& planning_driver(const GpuModel& model) { return planning_backend(model)->driver(); }

std::shared_ptr<Device> planned_device(int index, const std::string& why, const std::string& model) {
  const GpuModel* known = find_gpu_model(model);
  const GpuModel& chosen = known ? *known : gpu_models().front();
  return make_cuda_device(planning_backend(chosen), index,
                          (why.empty() ? "" : why + "; ") + "planned for as an " + chosen.name);
}

}  // namespace sheaf::cuda
