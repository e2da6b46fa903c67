// A stand-in libcuda.so.1: one GPU whose memory is the host's and whose work is done before a call returns. It runs no kernels.
// Includes cuda.h, so that its functions are the real ones' by name and type. Built for tests alone, which put it on
// LD_LIBRARY_PATH: the real file that opens the driver is then run, without a GPU.
#include <cuda.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

namespace {

constexpr size_t kMemory = size_t{64} << 20;
constexpr unsigned kMostBlocksTogether = 264;  // two of 512 threads on each multiprocessor

std::mutex mutex;
std::map<uintptr_t, size_t> device_memory, pinned_memory;
size_t in_use = 0;
thread_local CUcontext current = nullptr;

CUcontext context() { return reinterpret_cast<CUcontext>(&device_memory); }

bool inside(const std::map<uintptr_t, size_t>& ranges, uintptr_t at, size_t bytes) {
  const std::lock_guard lock(mutex);
  auto after = ranges.upper_bound(at);
  if (after == ranges.begin()) return false;
  const auto& [begin, size] = *std::prev(after);
  return at + bytes <= begin + size;
}
bool on_device(CUdeviceptr at, size_t bytes) { return inside(device_memory, at, bytes); }
bool on_host(const void* at, size_t bytes) { return inside(pinned_memory, reinterpret_cast<uintptr_t>(at), bytes); }

/// Of a call that works in a context: the thread must have one.
#define NEEDS_CONTEXT \
  if (!current) return CUDA_ERROR_INVALID_CONTEXT

/// A stream's state: whether it captures, and whether a call that a capture forbids has spoilt that.
struct FakeStream {
  bool capturing = false, spoilt = false;
};
/// A kernel, once it is loaded: the first launch of one that isn't would load it.
struct FakeFunction {
  bool loaded = false;
};
struct FakeModule {
  FakeFunction function;
};
struct FakeEvent {
  bool recorded = false;
};
struct FakeGraph {
  int launches = 0;
};

FakeStream& state(CUstream stream) { return *reinterpret_cast<FakeStream*>(stream); }

}  // namespace

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
CUresult cuDeviceGetCount(int* count) { return *count = 1, CUDA_SUCCESS; }
CUresult cuDeviceGet(CUdevice* device, int ordinal) { return *device = 40 + ordinal, CUDA_SUCCESS; }
CUresult cuDeviceGetName(char* name, int length, CUdevice) {
  std::strncpy(name, "Stand-in GPU", static_cast<size_t>(length));
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetPCIBusId(char* id, int length, CUdevice) {
  std::strncpy(id, "0000:3b:00.0", static_cast<size_t>(length));
  return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem(size_t* bytes, CUdevice) { return *bytes = kMemory, CUDA_SUCCESS; }
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  if (device != 40) return CUDA_ERROR_INVALID_DEVICE;
  *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR   ? 9
           : attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ? 0
           : attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT     ? 132
                                                                       : 1 << 16;
  return CUDA_SUCCESS;
}
CUresult cuDeviceCanAccessPeer(int* can, CUdevice, CUdevice) { return *can = 0, CUDA_SUCCESS; }
CUresult cuDevicePrimaryCtxRetain(CUcontext* made, CUdevice) { return *made = context(), CUDA_SUCCESS; }
CUresult cuCtxGetCurrent(CUcontext* now) { return *now = current, CUDA_SUCCESS; }
CUresult cuCtxSetCurrent(CUcontext next) { return current = next, CUDA_SUCCESS; }
CUresult cuCtxEnablePeerAccess(CUcontext, unsigned int) { return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED; }

CUresult cuMemGetInfo(size_t* free, size_t* total) {
  NEEDS_CONTEXT;
  const std::lock_guard lock(mutex);
  *free = kMemory - in_use;
  *total = kMemory;
  return CUDA_SUCCESS;
}
CUresult cuMemAlloc(CUdeviceptr* memory, size_t bytes) {
  NEEDS_CONTEXT;
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(mutex);
  if (bytes > kMemory - in_use) return CUDA_ERROR_OUT_OF_MEMORY;
  *memory = reinterpret_cast<CUdeviceptr>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  device_memory[*memory] = bytes;
  in_use += bytes;
  return CUDA_SUCCESS;
}
CUresult cuMemFree(CUdeviceptr memory) {
  NEEDS_CONTEXT;
  const std::lock_guard lock(mutex);
  const auto found = device_memory.find(memory);
  if (found == device_memory.end()) std::abort();
  in_use -= found->second;
  device_memory.erase(found);
  std::free(reinterpret_cast<void*>(memory));
  return CUDA_SUCCESS;
}
CUresult cuMemHostAlloc(void** memory, size_t bytes, unsigned int flags) {
  NEEDS_CONTEXT;
  if (!(flags & CU_MEMHOSTALLOC_PORTABLE)) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(mutex);
  *memory = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  pinned_memory[reinterpret_cast<uintptr_t>(*memory)] = bytes;
  return CUDA_SUCCESS;
}
CUresult cuMemFreeHost(void* memory) {
  NEEDS_CONTEXT;
  const std::lock_guard lock(mutex);
  if (!pinned_memory.erase(reinterpret_cast<uintptr_t>(memory))) std::abort();
  std::free(memory);
  return CUDA_SUCCESS;
}
CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr memory) {
  NEEDS_CONTEXT;
  if (attribute != CU_POINTER_ATTRIBUTE_MEMORY_TYPE) return CUDA_ERROR_INVALID_VALUE;
  const bool host = on_host(reinterpret_cast<void*>(memory), 1);
  if (!host && !on_device(memory, 1)) return CUDA_ERROR_INVALID_VALUE;
  *static_cast<CUmemorytype*>(data) = host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream* stream, unsigned int flags) {
  NEEDS_CONTEXT;
  if (flags != CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
  *stream = reinterpret_cast<CUstream>(new FakeStream);
  return CUDA_SUCCESS;
}
CUresult cuStreamDestroy(CUstream stream) { return delete &state(stream), CUDA_SUCCESS; }
CUresult cuStreamQuery(CUstream stream) {
  if (!state(stream).capturing) return CUDA_SUCCESS;
  state(stream).spoilt = true;
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}
CUresult cuStreamWaitEvent(CUstream, CUevent, unsigned int) { return current ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT; }
CUresult cuEventCreate(CUevent* event, unsigned int flags) {
  NEEDS_CONTEXT;
  if (flags != CU_EVENT_DISABLE_TIMING) return CUDA_ERROR_INVALID_VALUE;
  *event = reinterpret_cast<CUevent>(new FakeEvent);
  return CUDA_SUCCESS;
}
CUresult cuEventDestroy(CUevent event) { return delete reinterpret_cast<FakeEvent*>(event), CUDA_SUCCESS; }
CUresult cuEventRecord(CUevent event, CUstream) {
  NEEDS_CONTEXT;
  reinterpret_cast<FakeEvent*>(event)->recorded = true;
  return CUDA_SUCCESS;
}
CUresult cuEventQuery(CUevent) { return current ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT; }

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int count, CUjit_option* options, void** values) {
  NEEDS_CONTEXT;
  if (std::strstr(static_cast<const char*>(image), ".version")) {
    *module = reinterpret_cast<CUmodule>(new FakeModule);
    return CUDA_SUCCESS;
  }
  char* log = nullptr;
  size_t room = 0;
  for (unsigned int i = 0; i < count; ++i) {
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER) log = static_cast<char*>(values[i]);
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) room = reinterpret_cast<size_t>(values[i]);
  }
  if (log) std::strncpy(log, "line 1: no .version\n", room);
  return CUDA_ERROR_INVALID_PTX;
}
CUresult cuModuleUnload(CUmodule module) { return delete reinterpret_cast<FakeModule*>(module), CUDA_SUCCESS; }
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  NEEDS_CONTEXT;
  if (std::strcmp(name, "nowhere") == 0) return CUDA_ERROR_NOT_FOUND;
  *function = reinterpret_cast<CUfunction>(&reinterpret_cast<FakeModule*>(module)->function);
  return CUDA_SUCCESS;
}
CUresult cuFuncLoad(CUfunction function) {
  NEEDS_CONTEXT;
  reinterpret_cast<FakeFunction*>(function)->loaded = true;
  return CUDA_SUCCESS;
}
CUresult cuLaunchKernel(CUfunction function, unsigned int x, unsigned int y, unsigned int z, unsigned int block, unsigned int,
                        unsigned int, unsigned int, CUstream, void**, void**) {
  NEEDS_CONTEXT;
  if (!reinterpret_cast<FakeFunction*>(function)->loaded) std::abort();
  return x && y && z && block ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned int x, unsigned int y, unsigned int z, unsigned int block,
                                   unsigned int, unsigned int, unsigned int, CUstream, void**) {
  NEEDS_CONTEXT;
  if (!reinterpret_cast<FakeFunction*>(function)->loaded) std::abort();
  if (!(x && y && z && block)) return CUDA_ERROR_INVALID_VALUE;
  return x * y * z > kMostBlocksTogether ? CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE : CUDA_SUCCESS;
}

// Every end is checked to be what the call says it is.
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, size_t bytes, CUstream) {
  if (!current || !on_device(to, bytes) || !on_host(from, bytes)) return CUDA_ERROR_INVALID_VALUE;
  return std::memcpy(reinterpret_cast<void*>(to), from, bytes), CUDA_SUCCESS;
}
CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, size_t bytes, CUstream) {
  if (!current || !on_device(from, bytes) || !on_host(to, bytes)) return CUDA_ERROR_INVALID_VALUE;
  return std::memcpy(to, reinterpret_cast<void*>(from), bytes), CUDA_SUCCESS;
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream) {
  if (!current || !on_device(from, bytes) || !on_device(to, bytes)) return CUDA_ERROR_INVALID_VALUE;
  return std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes), CUDA_SUCCESS;
}
CUresult cuMemcpyPeerAsync(CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t, CUstream) {
  return CUDA_ERROR_INVALID_VALUE;
}
CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER*, CUstream) { return CUDA_ERROR_INVALID_VALUE; }
CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D* copy, CUstream) {
  NEEDS_CONTEXT;
  const bool from_host = copy->srcMemoryType == CU_MEMORYTYPE_HOST, to_host = copy->dstMemoryType == CU_MEMORYTYPE_HOST;
  const char* from = from_host ? static_cast<const char*>(copy->srcHost) : reinterpret_cast<const char*>(copy->srcDevice);
  char* to = to_host ? static_cast<char*>(copy->dstHost) : reinterpret_cast<char*>(copy->dstDevice);
  if (copy->WidthInBytes > copy->srcPitch || copy->WidthInBytes > copy->dstPitch) return CUDA_ERROR_INVALID_VALUE;
  for (size_t row = 0; row < copy->Height; ++row) {
    const char* source = from + row * copy->srcPitch;
    char* target = to + row * copy->dstPitch;
    const bool source_is = from_host ? on_host(source, copy->WidthInBytes) : on_device(CUdeviceptr(source), copy->WidthInBytes);
    const bool target_is = to_host ? on_host(target, copy->WidthInBytes) : on_device(CUdeviceptr(target), copy->WidthInBytes);
    if (!source_is || !target_is) return CUDA_ERROR_INVALID_VALUE;
    std::memcpy(target, source, copy->WidthInBytes);
  }
  return CUDA_SUCCESS;
}
CUresult cuMemsetD8Async(CUdeviceptr memory, unsigned char value, size_t bytes, CUstream) {
  if (!current || !on_device(memory, bytes)) return CUDA_ERROR_INVALID_VALUE;
  return std::memset(reinterpret_cast<void*>(memory), value, bytes), CUDA_SUCCESS;
}

CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode) {
  if (!current || mode != CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) return CUDA_ERROR_INVALID_VALUE;
  return state(stream).capturing = true, CUDA_SUCCESS;
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  if (!state(stream).capturing) return CUDA_ERROR_ILLEGAL_STATE;
  state(stream).capturing = false;
  if (std::exchange(state(stream).spoilt, false)) return *graph = nullptr, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  *graph = reinterpret_cast<CUgraph>(new FakeGraph);
  return CUDA_SUCCESS;
}
CUresult cuGraphInstantiate(CUgraphExec* ready, CUgraph, unsigned long long flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  return *ready = reinterpret_cast<CUgraphExec>(new FakeGraph), CUDA_SUCCESS;
}
CUresult cuGraphDestroy(CUgraph graph) { return delete reinterpret_cast<FakeGraph*>(graph), CUDA_SUCCESS; }
CUresult cuGraphExecDestroy(CUgraphExec graph) { return delete reinterpret_cast<FakeGraph*>(graph), CUDA_SUCCESS; }
CUresult cuGraphLaunch(CUgraphExec graph, CUstream) { return ++reinterpret_cast<FakeGraph*>(graph)->launches, CUDA_SUCCESS; }

}  // extern "C"
