// NVIDIA's driver: what is put into streams, and whether it is done.
#include "runtime/cuda/vendor/nvidia_driver.h"

namespace sheaf::cuda {
namespace {

CUstream native(Stream stream) { return reinterpret_cast<CUstream>(stream); }
CUevent native(DriverEvent event) { return reinterpret_cast<CUevent>(event); }

/// For cuMemcpy2D and 3D (CU_DEVICE_ATTRIBUTE_MAX_PITCH of every GPU).
constexpr size_t kMostPitch = (size_t{1} << 31) - 1;

}  // namespace

Result<void> NvidiaDriver::record(DriverEvent event, Stream stream) {
  SHEAF_TRY(make_current(stream));
  return result("cuEventRecord", call_.cuEventRecord(native(event), native(stream)));
}

Result<void> NvidiaDriver::wait(Stream stream, DriverEvent event) {
  SHEAF_TRY(make_current(stream));
  return result("cuStreamWaitEvent", call_.cuStreamWaitEvent(native(stream), native(event), CU_EVENT_WAIT_DEFAULT));
}

Result<bool> NvidiaDriver::is_done(const char* call, CUresult code) const {
  if (code == CUDA_SUCCESS) return true;
  if (code == CUDA_ERROR_NOT_READY) return false;
  return call_.error(call, code);
}

Result<bool> NvidiaDriver::done(DriverEvent event) {
  SHEAF_TRY(make_any_current());
  return is_done("cuEventQuery", call_.cuEventQuery(native(event)));
}

Result<bool> NvidiaDriver::done(Stream stream) {
  SHEAF_TRY(make_current(stream));
  return is_done("cuStreamQuery", call_.cuStreamQuery(native(stream)));
}

Result<double> NvidiaDriver::elapsed(DriverEvent from, DriverEvent to) {
  SHEAF_TRY(make_any_current());
  float milliseconds = 0;
  SHEAF_TRY(result("cuEventElapsedTime", call_.cuEventElapsedTime(&milliseconds, native(from), native(to))));
  return double{milliseconds} * 1e-3;
}

Result<void> NvidiaDriver::copy(Stream stream, void* target, int target_device, const void* source, int source_device,
                                const CopyShape& shape) {
  if (shape.row_bytes == 0 || shape.rows == 0) return {};
  SHEAF_TRY(make_current(stream));
  if (shape.rows == 1) return copy_run(stream, target, target_device, source, source_device, shape.row_bytes);
  const bool pitched = shape.source_pitch >= shape.row_bytes && shape.target_pitch >= shape.row_bytes &&
                       shape.source_pitch <= kMostPitch && shape.target_pitch <= kMostPitch;
  if (pitched) return copy_rows(stream, target, target_device, source, source_device, shape);
  for (size_t row = 0; row < shape.rows; ++row) {
    auto ok = copy_run(stream, static_cast<char*>(target) + row * shape.target_pitch, target_device,
                       static_cast<const char*>(source) + row * shape.source_pitch, source_device, shape.row_bytes);
    if (!ok) return ok;
  }
  return {};
}

Result<void> NvidiaDriver::copy_run(Stream stream, void* target, int target_device, const void* source, int source_device,
                                    size_t bytes) {
  if (target_device == kHost) {
    return result("cuMemcpyDtoHAsync", call_.cuMemcpyDtoHAsync(target, address(source), bytes, native(stream)));
  }
  if (source_device == kHost) {
    return result("cuMemcpyHtoDAsync", call_.cuMemcpyHtoDAsync(address(target), source, bytes, native(stream)));
  }
  if (source_device == target_device) {
    return result("cuMemcpyDtoDAsync", call_.cuMemcpyDtoDAsync(address(target), address(source), bytes, native(stream)));
  }
  SHEAF_ASSIGN(auto to, context(target_device));
  SHEAF_ASSIGN(auto from, context(source_device));
  return result("cuMemcpyPeerAsync",
                call_.cuMemcpyPeerAsync(address(target), to, address(source), from, bytes, native(stream)));
}

Result<void> NvidiaDriver::copy_rows(Stream stream, void* target, int target_device, const void* source, int source_device,
                                     const CopyShape& shape) {
  if (target_device != kHost && source_device != kHost && target_device != source_device) {
    SHEAF_ASSIGN(auto to, context(target_device));
    SHEAF_ASSIGN(auto from, context(source_device));
    CUDA_MEMCPY3D_PEER copy = {};
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = address(source);
    copy.srcContext = from;
    copy.srcPitch = shape.source_pitch;
    copy.srcHeight = shape.rows;
    copy.dstDevice = address(target);
    copy.dstContext = to;
    copy.dstPitch = shape.target_pitch;
    copy.dstHeight = shape.rows;
    copy.WidthInBytes = shape.row_bytes;
    copy.Height = shape.rows;
    copy.Depth = 1;
    return result("cuMemcpy3DPeerAsync", call_.cuMemcpy3DPeerAsync(&copy, native(stream)));
  }
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = source_device == kHost ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  copy.srcHost = source_device == kHost ? source : nullptr;
  copy.srcDevice = source_device == kHost ? 0 : address(source);
  copy.srcPitch = shape.source_pitch;
  copy.dstMemoryType = target_device == kHost ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  copy.dstHost = target_device == kHost ? target : nullptr;
  copy.dstDevice = target_device == kHost ? 0 : address(target);
  copy.dstPitch = shape.target_pitch;
  copy.WidthInBytes = shape.row_bytes;
  copy.Height = shape.rows;
  return result("cuMemcpy2DAsync", call_.cuMemcpy2DAsync(&copy, native(stream)));
}

Result<void> NvidiaDriver::fill(Stream stream, void* memory, uint8_t value, size_t bytes) {
  SHEAF_TRY(make_current(stream));
  return result("cuMemsetD8Async", call_.cuMemsetD8Async(address(memory), value, bytes, native(stream)));
}

Result<void> NvidiaDriver::launch(Stream stream, const Launch& launch) {
  SHEAF_TRY(make_current(stream));
  if (launch.together)
    return result("cuLaunchCooperativeKernel",
                  call_.cuLaunchCooperativeKernel(reinterpret_cast<CUfunction>(launch.function), launch.grid[0], launch.grid[1],
                                                  launch.grid[2], launch.block, 1, 1, launch.shared_bytes, native(stream),
                                                  launch.arguments));
  return result("cuLaunchKernel", call_.cuLaunchKernel(reinterpret_cast<CUfunction>(launch.function), launch.grid[0],
                                                       launch.grid[1], launch.grid[2], launch.block, 1, 1, launch.shared_bytes,
                                                       native(stream), launch.arguments, nullptr));
}

Result<void> NvidiaDriver::begin_capture(Stream stream) {
  SHEAF_TRY(make_current(stream));
  return result("cuStreamBeginCapture", call_.cuStreamBeginCapture(native(stream), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
}

Result<Graph> NvidiaDriver::end_capture(Stream stream) {
  SHEAF_TRY(make_current(stream));
  CUgraph graph = nullptr;
  SHEAF_TRY(result("cuStreamEndCapture", call_.cuStreamEndCapture(native(stream), &graph)));
  if (!graph) return Error("cuStreamEndCapture: nothing was captured");
  CUgraphExec ready = nullptr;
  const CUresult code = call_.cuGraphInstantiate(&ready, graph, 0);
  call_.cuGraphDestroy(graph);
  if (code != CUDA_SUCCESS) return call_.error("cuGraphInstantiate", code);
  return reinterpret_cast<Graph>(ready);
}

Result<void> NvidiaDriver::launch(Stream stream, Graph graph) {
  SHEAF_TRY(make_current(stream));
  return result("cuGraphLaunch", call_.cuGraphLaunch(reinterpret_cast<CUgraphExec>(graph), native(stream)));
}

void NvidiaDriver::destroy(Graph graph) {
  if (graph && make_any_current()) call_.cuGraphExecDestroy(reinterpret_cast<CUgraphExec>(graph));
}

}  // namespace sheaf::cuda
