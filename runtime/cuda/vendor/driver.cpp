// NVIDIA's driver: devices, memory, streams, events. driver_modules.cpp has modules, driver_enqueue.cpp what is put into streams.
#include "runtime/cuda/vendor/driver.h"

#include "runtime/cuda/vendor/nvidia_driver.h"

#include <cstdio>

namespace sheaf::cuda {
namespace {

/// As nvidia-smi writes it.
std::string uuid_text(const CUuuid& uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    char byte[3];
    std::snprintf(byte, sizeof byte, "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    text += (i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "") + std::string(byte);
  }
  return text;
}

}  // namespace

Result<std::unique_ptr<Driver>> open_nvidia_driver() {
  SHEAF_ASSIGN(auto functions, DriverFunctions::open());
  auto driver = std::make_unique<NvidiaDriver>(functions);
  SHEAF_TRY(driver->open());
  return std::unique_ptr<Driver>(std::move(driver));
}

Result<void> NvidiaDriver::open() {
  SHEAF_TRY(result("cuInit", call_.cuInit(0)));
  int count = 0;
  SHEAF_TRY(result("cuDeviceGetCount", call_.cuDeviceGetCount(&count)));
  if (count == 0) return Error("NVIDIA's driver shows no GPU");
  for (int i = 0; i < count; ++i) {
    DeviceState& device = devices_.emplace_back();
    SHEAF_TRY(result("cuDeviceGet", call_.cuDeviceGet(&device.handle, i)));
    SHEAF_TRY(read_properties(device));
  }
  return {};
}

Result<void> NvidiaDriver::read_properties(DeviceState& device) {
  char text[256] = "";
  SHEAF_TRY(result("cuDeviceGetName", call_.cuDeviceGetName(text, sizeof text, device.handle)));
  device.properties.name = text;
  SHEAF_TRY(result("cuDeviceGetPCIBusId", call_.cuDeviceGetPCIBusId(text, sizeof text, device.handle)));
  device.properties.pci_bus_id = text;
  CUuuid uuid;
  SHEAF_TRY(result("cuDeviceGetUuid", call_.cuDeviceGetUuid(&uuid, device.handle)));
  device.properties.uuid = uuid_text(uuid);
  size_t memory = 0;
  SHEAF_TRY(result("cuDeviceTotalMem", call_.cuDeviceTotalMem(&memory, device.handle)));
  device.properties.memory_bytes = static_cast<int64_t>(memory);
  const std::pair<CUdevice_attribute, int*> attributes[] = {
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &device.properties.major},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &device.properties.minor},
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &device.properties.multiprocessors},
      {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, &device.properties.l2_bytes},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, &device.properties.shared_bytes_per_block}};
  for (const auto& [attribute, value] : attributes) {
    SHEAF_TRY(result("cuDeviceGetAttribute", call_.cuDeviceGetAttribute(value, attribute, device.handle)));
  }
  int together = 0;
  SHEAF_TRY(result("cuDeviceGetAttribute",
                   call_.cuDeviceGetAttribute(&together, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, device.handle)));
  device.properties.launches_together = together != 0;
  return {};
}

Result<CUcontext> NvidiaDriver::context(int device) {
  DeviceState& state = at(device);
  std::call_once(state.retained, [&] { state.retain_result = call_.cuDevicePrimaryCtxRetain(&state.context, state.handle); });
  if (state.retain_result != CUDA_SUCCESS) return call_.error("cuDevicePrimaryCtxRetain", state.retain_result);
  return state.context;
}

Result<void> NvidiaDriver::make_current(int device) {
  SHEAF_ASSIGN(auto context, this->context(device));
  return result("cuCtxSetCurrent", call_.cuCtxSetCurrent(context));
}

Result<void> NvidiaDriver::make_current(Stream stream) {
  int device = -1;
  {
    const std::shared_lock lock(streams_mutex_);
    const auto found = streams_.find(stream);
    if (found != streams_.end()) device = found->second;
  }
  if (device < 0) return Error("the driver was given a stream that it has not made");
  return make_current(device);
}

Result<void> NvidiaDriver::make_any_current() {
  CUcontext current = nullptr;
  SHEAF_TRY(result("cuCtxGetCurrent", call_.cuCtxGetCurrent(&current)));
  return current ? Result<void>() : make_current(0);
}

std::string NvidiaDriver::version() {
  int version = 0;
  if (call_.cuDriverGetVersion(&version) != CUDA_SUCCESS) return {};
  return "CUDA driver " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

Result<MemoryInUse> NvidiaDriver::memory(int device) {
  SHEAF_TRY(make_current(device));
  size_t free = 0, total = 0;
  SHEAF_TRY(result("cuMemGetInfo", call_.cuMemGetInfo(&free, &total)));
  return MemoryInUse{static_cast<int64_t>(free), static_cast<int64_t>(total)};
}

Result<void*> NvidiaDriver::allocate(int device, size_t bytes) {
  SHEAF_TRY(make_current(device));
  CUdeviceptr memory = 0;
  SHEAF_TRY(result("cuMemAlloc", call_.cuMemAlloc(&memory, bytes)));
  return reinterpret_cast<void*>(memory);
}

void NvidiaDriver::release(int device, void* memory) {
  if (memory && make_current(device)) call_.cuMemFree(address(memory));
}

Result<void*> NvidiaDriver::allocate_pinned(size_t bytes) {
  SHEAF_TRY(make_any_current());
  void* memory = nullptr;
  SHEAF_TRY(result("cuMemHostAlloc", call_.cuMemHostAlloc(&memory, bytes, CU_MEMHOSTALLOC_PORTABLE)));
  return memory;
}

void NvidiaDriver::release_pinned(void* memory) {
  if (memory && make_any_current()) call_.cuMemFreeHost(memory);
}

bool NvidiaDriver::is_pinned(const void* memory) {
  if (!make_any_current()) return false;
  CUmemorytype type = static_cast<CUmemorytype>(0);
  // For it, the host's pageable memory is an invalid value.
  const CUresult code = call_.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address(memory));
  return code == CUDA_SUCCESS && type == CU_MEMORYTYPE_HOST;
}

Result<bool> NvidiaDriver::enable_peer(int device, int peer) {
  int can = 0;
  const CUresult asked = call_.cuDeviceCanAccessPeer(&can, at(device).handle, at(peer).handle);
  if (asked != CUDA_SUCCESS) return call_.error("cuDeviceCanAccessPeer", asked);
  if (!can) return false;
  SHEAF_ASSIGN(auto other, context(peer));
  SHEAF_TRY(make_current(device));
  const CUresult code = call_.cuCtxEnablePeerAccess(other, 0);
  if (code == CUDA_SUCCESS || code == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) return true;
  if (code == CUDA_ERROR_TOO_MANY_PEERS) return false;
  return call_.error("cuCtxEnablePeerAccess", code);
}

Result<Stream> NvidiaDriver::make_stream(int device) {
  SHEAF_TRY(make_current(device));
  CUstream made = nullptr;
  SHEAF_TRY(result("cuStreamCreate", call_.cuStreamCreate(&made, CU_STREAM_NON_BLOCKING)));
  const auto stream = reinterpret_cast<Stream>(made);
  const std::unique_lock lock(streams_mutex_);
  streams_[stream] = device;
  return stream;
}

void NvidiaDriver::destroy(Stream stream) {
  if (!stream) return;
  if (make_current(stream)) call_.cuStreamDestroy(reinterpret_cast<CUstream>(stream));
  const std::unique_lock lock(streams_mutex_);
  streams_.erase(stream);
}

Result<DriverEvent> NvidiaDriver::make_event(int device, bool timed) {
  SHEAF_TRY(make_current(device));
  CUevent event = nullptr;
  SHEAF_TRY(result("cuEventCreate", call_.cuEventCreate(&event, timed ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING)));
  return reinterpret_cast<DriverEvent>(event);
}

void NvidiaDriver::destroy(DriverEvent event) {
  if (event && make_any_current()) call_.cuEventDestroy(reinterpret_cast<CUevent>(event));
}

}  // namespace sheaf::cuda
