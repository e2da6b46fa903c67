// The stand-in driver: streams, events, graphs, and what is put into streams. Each belongs to a context.
#include "tests/cuda/stand_in/driver_state.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

namespace stand_in {
namespace {

constexpr unsigned kMostBlocksTogether = 264;  // two of 512 threads on each multiprocessor

struct Event {
  int device = 0;
  uint64_t recorded = 0, done = 0;
  bool captured = false;  ///< recorded last in a capture
  bool timed = false;
  std::chrono::microseconds reached = {};  ///< on the device's clock
};
struct Graph {
  int device = 0;
  std::vector<Work> work;
};

struct Objects {
  Handles<Stream> streams{"stream"};
  Handles<Event> events{"event"};
  Handles<Graph> graphs{"graph"}, ready{"instantiated graph"};
  std::vector<std::shared_ptr<Stream>> busy;  ///< streams with work
};
Objects& all() {
  static auto& made = *new Objects;
  return made;
}

thread_local std::vector<std::weak_ptr<Stream>> captures;

/// `bytes` of `rows` rows, whichever ends they have: already checked.
void put_copy(Stream& stream, void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t bytes, size_t rows) {
  put(stream, [=] {
    for (size_t row = 0; row < rows; ++row)
      std::memmove(static_cast<char*>(to) + row * to_pitch, static_cast<const char*>(from) + row * from_pitch, bytes);
    return true;
  });
}

size_t extent(size_t pitch, size_t bytes, size_t rows) { return (rows - 1) * pitch + bytes; }

CUresult launch(const char* call, CUfunction function, CUstream to, bool sizes) {
  const Lock lock(machine());
  const auto stream = find_stream(to, call);
  const auto kernel = kernels().find(function, call);
  if (!stream || !kernel) return CUDA_ERROR_INVALID_HANDLE;
  if (kernel->device != stream->device || stream->device != current_device()) return CUDA_ERROR_INVALID_HANDLE;
  if (!kernel->loaded) fault(std::string(call) + ": the kernel is not loaded yet");
  if (!sizes) return CUDA_ERROR_INVALID_VALUE;
  return put(*stream, [] { return true; }), CUDA_SUCCESS;
}

}  // namespace

std::shared_ptr<Stream> find_stream(CUstream stream, const char* call) { return all().streams.find(stream, call); }

void put(Stream& stream, Work work) {
  if (stream.capturing) return stream.captured.push_back(std::move(work));
  stream.waiting.push_back(std::move(work));
  auto& busy = all().busy;
  if (std::none_of(busy.begin(), busy.end(), [&](const auto& one) { return one.get() == &stream; }))
    busy.push_back(all().streams.find(&stream, "put"));
  run();
}

void run() {
  const Lock lock(machine());
  bool moved = true;
  while (moved) {
    moved = false;
    for (const auto& stream : all().busy) {
      while (!stream->waiting.empty() && stream->waiting.front()()) {
        stream->waiting.erase(stream->waiting.begin());
        moved = true;
      }
    }
  }
  std::erase_if(all().busy, [](const auto& stream) { return stream->waiting.empty(); });
}

bool captures_here() {
  const Lock lock(machine());
  std::erase_if(captures, [](const auto& one) { return one.expired() || !one.lock()->capturing; });
  return !captures.empty();
}

void spoil_captures_here() {
  const Lock lock(machine());
  for (const auto& one : captures) {
    if (const auto stream = one.lock()) stream->spoilt = true;
  }
}

}  // namespace stand_in

using namespace stand_in;

#define FIND(name, handles, handle) FIND_IN(name, all().handles, handle)

extern "C" {

CUresult cuStreamCreate(CUstream* stream, unsigned int flags) {
  NEEDS_CONTEXT;
  if (flags != CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock(machine());
  auto made = std::make_shared<Stream>();
  made->device = current_device();
  return *stream = reinterpret_cast<CUstream>(all().streams.make(made)), CUDA_SUCCESS;
}
/// Its work goes on.
CUresult cuStreamDestroy(CUstream stream) {
  const Lock lock(machine());
  return all().streams.destroy(stream, "cuStreamDestroy") ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
CUresult cuStreamQuery(CUstream handle) {
  FIND(stream, streams, handle);
  if (stream->capturing) return stream->spoilt = true, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  run();
  return stream->waiting.empty() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult cuEventCreate(CUevent* event, unsigned int flags) {
  NEEDS_CONTEXT;
  if (flags != CU_EVENT_DISABLE_TIMING && flags != CU_EVENT_DEFAULT) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock(machine());
  auto made = std::make_shared<Event>();
  made->device = current_device();
  made->timed = flags == CU_EVENT_DEFAULT;
  return *event = reinterpret_cast<CUevent>(all().events.make(made)), CUDA_SUCCESS;
}
CUresult cuEventDestroy(CUevent event) {
  const Lock lock(machine());
  return all().events.destroy(event, "cuEventDestroy") ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
CUresult cuEventRecord(CUevent handle, CUstream to) {
  NEEDS_CONTEXT;
  FIND(event, events, handle);
  const auto stream = find_stream(to, "cuEventRecord");
  if (!stream || event->device != stream->device) return CUDA_ERROR_INVALID_HANDLE;
  event->captured = stream->capturing;
  if (stream->capturing) return stream->captured_events.insert(handle), CUDA_SUCCESS;
  const uint64_t number = ++event->recorded;
  put(*stream, [event, number] {
    event->done = std::max(event->done, number);
    event->reached = clock_of(event->device);
    return true;
  });
  return CUDA_SUCCESS;
}
/// Of any device's event.
CUresult cuStreamWaitEvent(CUstream to, CUevent handle, unsigned int flags) {
  NEEDS_CONTEXT;
  FIND(event, events, handle);
  const auto stream = find_stream(to, "cuStreamWaitEvent");
  if (!stream || flags != CU_EVENT_WAIT_DEFAULT) return CUDA_ERROR_INVALID_VALUE;
  if (stream->capturing) {
    if (stream->captured_events.count(handle)) return CUDA_SUCCESS;
    return stream->spoilt = true, CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  }
  if (event->captured) return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  const uint64_t number = event->recorded;
  put(*stream, [event, number] { return event->done >= number; });
  return CUDA_SUCCESS;
}
CUresult cuEventQuery(CUevent handle) {
  NEEDS_CONTEXT;
  FIND(event, events, handle);
  if (event->captured) return CUDA_ERROR_CAPTURED_EVENT;
  run();
  return event->done >= event->recorded ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult cuEventElapsedTime(float* milliseconds, CUevent first, CUevent last) {
  NEEDS_CONTEXT;
  FIND(from, events, first);
  const auto to = all().events.find(last, "cuEventElapsedTime");
  if (!to || from->device != to->device || !from->timed || !to->timed) return CUDA_ERROR_INVALID_HANDLE;
  if (from->recorded == 0 || to->recorded == 0) return CUDA_ERROR_INVALID_HANDLE;
  if (from->done < from->recorded || to->done < to->recorded) return CUDA_ERROR_NOT_READY;
  *milliseconds = std::chrono::duration<float, std::milli>(to->reached - from->reached).count();
  return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction function, unsigned int x, unsigned int y, unsigned int z, unsigned int block, unsigned int,
                        unsigned int, unsigned int, CUstream stream, void**, void**) {
  return launch("cuLaunchKernel", function, stream, x && y && z && block);
}
CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned int x, unsigned int y, unsigned int z, unsigned int block,
                                   unsigned int, unsigned int, unsigned int, CUstream stream, void**) {
  if (x * y * z > kMostBlocksTogether) return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
  return launch("cuLaunchCooperativeKernel", function, stream, x && y && z && block);
}

// They check that every end is what the call says it is, and that the stream's device reaches it.
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, size_t bytes, CUstream handle) {
  NEEDS_CONTEXT;
  FIND(stream, streams, handle);
  void* target = reinterpret_cast<void*>(to);
  if (device_of(target, bytes) != stream->device || !on_host(from, bytes)) return CUDA_ERROR_INVALID_VALUE;
  return put_copy(*stream, target, 0, from, 0, bytes, 1), CUDA_SUCCESS;
}
CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, size_t bytes, CUstream handle) {
  NEEDS_CONTEXT;
  FIND(stream, streams, handle);
  const void* source = reinterpret_cast<const void*>(from);
  if (device_of(source, bytes) != stream->device || !on_host(to, bytes)) return CUDA_ERROR_INVALID_VALUE;
  return put_copy(*stream, to, 0, source, 0, bytes, 1), CUDA_SUCCESS;
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream handle) {
  NEEDS_CONTEXT;
  FIND(stream, streams, handle);
  const int source = device_of(reinterpret_cast<void*>(from), bytes), target = device_of(reinterpret_cast<void*>(to), bytes);
  if (source < 0 || source != target || source != stream->device) return CUDA_ERROR_INVALID_VALUE;
  return put_copy(*stream, reinterpret_cast<void*>(to), 0, reinterpret_cast<void*>(from), 0, bytes, 1), CUDA_SUCCESS;
}
/// Needs no access enabled: the driver goes through the host where there is none.
CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes,
                           CUstream handle) {
  CUDA_MEMCPY3D_PEER copy = {};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = from;
  copy.srcContext = from_context;
  copy.dstDevice = to;
  copy.dstContext = to_context;
  copy.srcPitch = copy.dstPitch = copy.WidthInBytes = bytes;
  copy.srcHeight = copy.dstHeight = copy.Height = copy.Depth = 1;
  return cuMemcpy3DPeerAsync(&copy, handle);
}
CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER* copy, CUstream handle) {
  NEEDS_CONTEXT;
  FIND(stream, streams, handle);
  const auto place = [&](CUdeviceptr at, size_t pitch) {
    return device_of(reinterpret_cast<void*>(at), extent(pitch, copy->WidthInBytes, copy->Height));
  };
  const int source = device_of(copy->srcContext), target = device_of(copy->dstContext);
  const bool sizes = copy->WidthInBytes != 0 && copy->Height != 0 && copy->Depth == 1 && copy->WidthInBytes <= copy->srcPitch &&
                     copy->WidthInBytes <= copy->dstPitch && copy->srcHeight >= copy->Height && copy->dstHeight >= copy->Height;
  const bool ends =
      copy->srcMemoryType == CU_MEMORYTYPE_DEVICE && copy->dstMemoryType == CU_MEMORYTYPE_DEVICE && source >= 0 && target >= 0;
  if (!sizes || !ends || place(copy->srcDevice, copy->srcPitch) != source || place(copy->dstDevice, copy->dstPitch) != target)
    return CUDA_ERROR_INVALID_VALUE;
  if (stream->device != source && stream->device != target) return CUDA_ERROR_INVALID_CONTEXT;
  put_copy(*stream, reinterpret_cast<void*>(copy->dstDevice), copy->dstPitch, reinterpret_cast<void*>(copy->srcDevice),
           copy->srcPitch, copy->WidthInBytes, copy->Height);
  return CUDA_SUCCESS;
}
CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D* copy, CUstream handle) {
  NEEDS_CONTEXT;
  FIND(stream, streams, handle);
  const bool from_host = copy->srcMemoryType == CU_MEMORYTYPE_HOST, to_host = copy->dstMemoryType == CU_MEMORYTYPE_HOST;
  const void* from = from_host ? copy->srcHost : reinterpret_cast<const void*>(copy->srcDevice);
  void* to = to_host ? copy->dstHost : reinterpret_cast<void*>(copy->dstDevice);
  if (copy->WidthInBytes > copy->srcPitch || copy->WidthInBytes > copy->dstPitch || copy->Height == 0)
    return CUDA_ERROR_INVALID_VALUE;
  const auto is_there = [&](const void* at, size_t pitch, bool host) {
    const size_t bytes = extent(pitch, copy->WidthInBytes, copy->Height);
    return host ? on_host(at, bytes) : device_of(at, bytes) == stream->device;
  };
  if (!is_there(from, copy->srcPitch, from_host) || !is_there(to, copy->dstPitch, to_host)) return CUDA_ERROR_INVALID_VALUE;
  return put_copy(*stream, to, copy->dstPitch, from, copy->srcPitch, copy->WidthInBytes, copy->Height), CUDA_SUCCESS;
}
CUresult cuMemsetD8Async(CUdeviceptr memory, unsigned char value, size_t bytes, CUstream handle) {
  NEEDS_CONTEXT;
  FIND(stream, streams, handle);
  const int place = device_of(reinterpret_cast<void*>(memory), bytes);
  if (place < 0 || !reaches(stream->device, place)) return CUDA_ERROR_INVALID_VALUE;
  put(*stream, [=] { return std::memset(reinterpret_cast<void*>(memory), value, bytes), true; });
  return CUDA_SUCCESS;
}

CUresult cuStreamBeginCapture(CUstream handle, CUstreamCaptureMode mode) {
  NEEDS_CONTEXT;
  FIND(stream, streams, handle);
  if (mode != CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) return CUDA_ERROR_INVALID_VALUE;
  if (stream->capturing) return CUDA_ERROR_ILLEGAL_STATE;
  captures.push_back(stream);
  return stream->capturing = true, CUDA_SUCCESS;
}
CUresult cuStreamEndCapture(CUstream handle, CUgraph* graph) {
  FIND(stream, streams, handle);
  if (!stream->capturing) return CUDA_ERROR_ILLEGAL_STATE;
  if (!captures_here()) return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  stream->capturing = false;
  stream->captured_events.clear();
  auto work = std::exchange(stream->captured, {});
  if (std::exchange(stream->spoilt, false)) return *graph = nullptr, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  auto made = std::make_shared<Graph>(Graph{stream->device, std::move(work)});
  return *graph = reinterpret_cast<CUgraph>(all().graphs.make(made)), CUDA_SUCCESS;
}
CUresult cuGraphInstantiate(CUgraphExec* ready, CUgraph handle, unsigned long long flags) {
  FIND(graph, graphs, handle);
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  return *ready = reinterpret_cast<CUgraphExec>(all().ready.make(std::make_shared<Graph>(*graph))), CUDA_SUCCESS;
}
CUresult cuGraphDestroy(CUgraph graph) {
  const Lock lock(machine());
  return all().graphs.destroy(graph, "cuGraphDestroy") ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuGraphExecDestroy(CUgraphExec graph) {
  const Lock lock(machine());
  return all().ready.destroy(graph, "cuGraphExecDestroy") ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuGraphLaunch(CUgraphExec handle, CUstream to) {
  FIND(graph, ready, handle);
  const auto stream = find_stream(to, "cuGraphLaunch");
  if (!stream || graph->device != stream->device) return CUDA_ERROR_INVALID_HANDLE;
  for (const Work& work : graph->work) put(*stream, work);
  return CUDA_SUCCESS;
}

}  // extern "C"
