// A stand-in libcuda.so.1: devices, contexts, memory, streams, events, modules of the machine in machine.h. It runs no kernels.
// It includes cuda.h, so that its functions have the real ones' names and types. Built only for tests, which put it where the real
// one would be found: they run the real file that opens the driver, without a GPU.
#include "tests/cuda/stand_in/driver_state.h"

#include <cstdlib>
#include <cstring>

namespace stand_in {
namespace {

struct Context {
  int device = 0;
  std::set<int> peers;
};
Context contexts[kDevices] = {{0, {}}, {1, {}}};
thread_local Context* current = nullptr;

struct Range {
  size_t bytes = 0;
  int device = 0;  ///< or kHost
};
constexpr int kHost = -2;
/// Of devices and page-locked, by address.
std::map<uintptr_t, Range>& ranges() {
  static auto& made = *new std::map<uintptr_t, Range>;
  return made;
}
size_t in_use[kDevices] = {};

/// The place of all these bytes; -1: they are in no one allocation.
int place_of(uintptr_t at, size_t bytes) {
  const Lock lock(machine());
  const auto after = ranges().upper_bound(at);
  if (after == ranges().begin()) return -1;
  const auto& [begin, range] = *std::prev(after);
  return at + bytes <= begin + range.bytes ? range.device : -1;
}

void take_back(uintptr_t memory, bool host, const char* call) {
  const Lock lock(machine());
  const auto found = ranges().find(memory);
  if (found == ranges().end() || (found->second.device == kHost) != host) return fault(std::string(call) + ": not its memory");
  if (!host) in_use[found->second.device] -= found->second.bytes;
  count(host ? "pinned memory" : "memory", -1);
  ranges().erase(found);
  std::free(reinterpret_cast<void*>(memory));
}

}  // namespace

int current_device() { return current ? current->device : -1; }
int device_of(const void* memory, size_t bytes) {
  const int place = place_of(reinterpret_cast<uintptr_t>(memory), bytes);
  return place == kHost ? -1 : place;
}
bool on_host(const void* memory, size_t bytes) { return place_of(reinterpret_cast<uintptr_t>(memory), bytes) == kHost; }
bool reaches(int device, int memory) {
  const Lock lock(machine());
  return device == memory || contexts[device].peers.count(memory) != 0;
}
int device_of(CUcontext context) {
  for (const Context& one : contexts) {
    if (reinterpret_cast<const Context*>(context) == &one) return one.device;
  }
  return -1;
}

}  // namespace stand_in

using namespace stand_in;

extern "C" {

CUresult cuInit(unsigned int) { return std::getenv("STAND_IN_NO_GPU") ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS; }
CUresult cuDriverGetVersion(int* version) { return *version = 13000, CUDA_SUCCESS; }
CUresult cuGetErrorName(CUresult code, const char** name) {
  *name = code == CUDA_ERROR_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY"
          : code == CUDA_ERROR_NO_DEVICE   ? "CUDA_ERROR_NO_DEVICE"
          : code == CUDA_ERROR_INVALID_PTX ? "CUDA_ERROR_INVALID_PTX"
                                           : "CUDA_ERROR_OF_SOME_KIND";
  return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult code, const char** words) {
  *words = code == CUDA_ERROR_OUT_OF_MEMORY ? "out of memory"
           : code == CUDA_ERROR_NO_DEVICE   ? "no CUDA-capable device is detected"
                                            : "something went wrong";
  return CUDA_SUCCESS;
}

// Handles of devices are no ordinals.
CUresult cuDeviceGetCount(int* count) { return *count = kDevices, CUDA_SUCCESS; }
CUresult cuDeviceGet(CUdevice* device, int ordinal) { return *device = 40 + ordinal, CUDA_SUCCESS; }
CUresult cuDeviceGetName(char* name, int length, CUdevice) {
  std::strncpy(name, "Stand-in GPU", static_cast<size_t>(length));
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetPCIBusId(char* id, int length, CUdevice device) {
  std::strncpy(id, device == 40 ? "0000:3b:00.0" : "0000:5e:00.0", static_cast<size_t>(length));
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  for (int i = 0; i < 16; ++i) uuid->bytes[i] = static_cast<char>(16 * device + i);
  return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem(size_t* bytes, CUdevice) { return *bytes = kMemory, CUDA_SUCCESS; }
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  if (device < 40 || device >= 40 + kDevices) return CUDA_ERROR_INVALID_DEVICE;
  *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR   ? 9
           : attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ? 0
           : attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT     ? 132
                                                                       : 1 << 16;
  return CUDA_SUCCESS;
}
CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  return *can = device != peer && !std::getenv("STAND_IN_NO_PEERS"), CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* made, CUdevice device) {
  if (device < 40 || device >= 40 + kDevices) return CUDA_ERROR_INVALID_DEVICE;
  return *made = reinterpret_cast<CUcontext>(&contexts[device - 40]), CUDA_SUCCESS;
}
CUresult cuCtxGetCurrent(CUcontext* now) { return *now = reinterpret_cast<CUcontext>(current), CUDA_SUCCESS; }
CUresult cuCtxSetCurrent(CUcontext next) {
  if (next && device_of(next) < 0) return CUDA_ERROR_INVALID_CONTEXT;
  return current = reinterpret_cast<Context*>(next), CUDA_SUCCESS;
}
CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags) {
  NEEDS_CONTEXT;
  const Lock lock(machine());
  const int other = device_of(peer);
  if (flags != 0 || other < 0 || other == current->device) return CUDA_ERROR_INVALID_VALUE;
  if (std::getenv("STAND_IN_NO_PEERS")) return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
  return current->peers.insert(other).second ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}

CUresult cuMemGetInfo(size_t* free, size_t* total) {
  NEEDS_CONTEXT;
  const Lock lock(machine());
  *free = kMemory - in_use[current->device];
  *total = kMemory;
  return CUDA_SUCCESS;
}
CUresult cuMemAlloc(CUdeviceptr* memory, size_t bytes) {
  NEEDS_CONTEXT;
  NOT_IN_A_CAPTURE;
  const Lock lock(machine());
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (bytes > kMemory - in_use[current->device]) return CUDA_ERROR_OUT_OF_MEMORY;
  void* made = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  ranges()[reinterpret_cast<uintptr_t>(made)] = {bytes, current->device};
  in_use[current->device] += bytes;
  count("memory", 1);
  return *memory = reinterpret_cast<CUdeviceptr>(made), CUDA_SUCCESS;
}
CUresult cuMemFree(CUdeviceptr memory) {
  NEEDS_CONTEXT;
  NOT_IN_A_CAPTURE;
  return take_back(memory, false, "cuMemFree"), CUDA_SUCCESS;
}
CUresult cuMemHostAlloc(void** memory, size_t bytes, unsigned int flags) {
  NEEDS_CONTEXT;
  NOT_IN_A_CAPTURE;
  if (!(flags & CU_MEMHOSTALLOC_PORTABLE)) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock(machine());
  *memory = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  ranges()[reinterpret_cast<uintptr_t>(*memory)] = {bytes, kHost};
  count("pinned memory", 1);
  return CUDA_SUCCESS;
}
CUresult cuMemFreeHost(void* memory) {
  NEEDS_CONTEXT;
  NOT_IN_A_CAPTURE;
  return take_back(reinterpret_cast<uintptr_t>(memory), true, "cuMemFreeHost"), CUDA_SUCCESS;
}
CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr memory) {
  NEEDS_CONTEXT;
  if (attribute != CU_POINTER_ATTRIBUTE_MEMORY_TYPE) return CUDA_ERROR_INVALID_VALUE;
  const int place = place_of(memory, 1);
  if (place == -1) return CUDA_ERROR_INVALID_VALUE;
  *static_cast<CUmemorytype*>(data) = place == kHost ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  return CUDA_SUCCESS;
}

}  // extern "C"
