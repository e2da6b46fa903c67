#include "tests/cuda/planning_device.h"

#include "runtime/cuda/cuda_device.h"

namespace sheaf {
namespace {

/// Has nothing that could run. Modules can be "loaded": a device loads the kernels of its queues before it prepares others.
class PlanningDriver final : public cuda::Driver {
 public:
  explicit PlanningDriver(int count) : count_(count) {
    properties_.name = "planned";
    properties_.major = 9;
    properties_.multiprocessors = 132;
    properties_.memory_bytes = int64_t{140} << 30;
  }
  int devices() const override { return count_; }
  const cuda::DeviceProperties& properties(int) const override { return properties_; }
  Result<cuda::MemoryInUse> memory(int) override {
    return cuda::MemoryInUse{properties_.memory_bytes, properties_.memory_bytes};
  }
  Result<void*> allocate(int, size_t) override { return none(); }
  void release(int, void*) override {}
  Result<void*> allocate_pinned(size_t) override { return none(); }
  void release_pinned(void*) override {}
  Result<bool> enable_peer(int, int) override { return true; }
  Result<cuda::Stream> make_stream(int) override { return none(); }
  void destroy(cuda::Stream) override {}
  Result<cuda::DriverEvent> make_event(int) override { return none(); }
  void destroy(cuda::DriverEvent) override {}
  Result<cuda::Module> load(int, const std::string&) override { return reinterpret_cast<cuda::Module>(this); }
  void unload(int, cuda::Module) override {}
  Result<cuda::Function> function(cuda::Module, const std::string&) override {
    return reinterpret_cast<cuda::Function>(this);
  }
  Result<void> record(cuda::DriverEvent, cuda::Stream) override { return none(); }
  Result<void> wait(cuda::Stream, cuda::DriverEvent) override { return none(); }
  Result<bool> done(cuda::DriverEvent) override { return none(); }
  Result<bool> done(cuda::Stream) override { return none(); }
  Result<void> copy(cuda::Stream, void*, int, const void*, int, const CopyShape&) override { return none(); }
  Result<void> fill(cuda::Stream, void*, uint8_t, size_t) override { return none(); }
  Result<void> launch(cuda::Stream, const cuda::Launch&) override { return none(); }
  Result<void> begin_capture(cuda::Stream) override { return none(); }
  Result<cuda::Graph> end_capture(cuda::Stream) override { return none(); }
  Result<void> launch(cuda::Stream, cuda::Graph) override { return none(); }
  void destroy(cuda::Graph) override {}

 private:
  static Error none() { return Error("this device is only planned for"); }

  int count_;
  cuda::DeviceProperties properties_;
};

class SharedLibrary final : public cuda::Library {
 public:
  explicit SharedLibrary(std::shared_ptr<cuda::Library> library) : library_(std::move(library)) {}
  Result<Prepared> prepare(const PrepareRequest& request) override { return library_->prepare(request); }
  bool fuses_norms() const override { return library_->fuses_norms(); }

 private:
  std::shared_ptr<cuda::Library> library_;
};

class PlanningBackend final : public cuda::Backend {
 public:
  PlanningBackend(std::shared_ptr<cuda::Library> library, int count) : library_(std::move(library)), driver_(count) {}
  cuda::Driver& driver() override { return driver_; }
  Result<std::unique_ptr<cuda::Library>> open_library(int) override {
    return std::unique_ptr<cuda::Library>(std::make_unique<SharedLibrary>(library_));
  }
  Result<std::shared_ptr<cuda::Communicator>> open_communicator(std::span<const int>, std::string& why) override {
    why = "nothing is sent between planned devices";
    return std::shared_ptr<cuda::Communicator>();
  }

 private:
  std::shared_ptr<cuda::Library> library_;
  PlanningDriver driver_;
};

}  // namespace

std::vector<std::shared_ptr<Device>> planning_devices(std::shared_ptr<cuda::Library> library, int count) {
  const auto backend = std::make_shared<PlanningBackend>(std::move(library), count);
  std::vector<std::shared_ptr<Device>> devices;
  for (int k = 0; k < count; ++k) devices.push_back(cuda::make_cuda_device(backend, k));
  return devices;
}

}  // namespace sheaf
