// The functions of libcuda that the project calls, with their own types.
#pragma once

#include "runtime/cuda/vendor/shared_library.h"

#include <cuda.h>

namespace sheaf::cuda {

// cuda.h gives some functions' names as macros for their current version (cuMemAlloc: cuMemAlloc_v2). The members' names, their
// types and the symbols that are looked up go through the same macros.
// clang-format off
#define SHEAF_DRIVER_FUNCTIONS(X)                                                                                       \
  X(cuInit) X(cuDriverGetVersion) X(cuGetErrorName) X(cuGetErrorString)                                                 \
  X(cuDeviceGetCount) X(cuDeviceGet) X(cuDeviceGetName) X(cuDeviceGetAttribute) X(cuDeviceTotalMem)                     \
  X(cuDeviceGetPCIBusId) X(cuDeviceGetUuid) X(cuDeviceCanAccessPeer)                                                    \
  X(cuDevicePrimaryCtxRetain) X(cuCtxGetCurrent) X(cuCtxSetCurrent) X(cuCtxEnablePeerAccess)                            \
  X(cuMemGetInfo) X(cuMemAlloc) X(cuMemFree) X(cuMemHostAlloc) X(cuMemFreeHost) X(cuPointerGetAttribute)                \
  X(cuStreamCreate) X(cuStreamDestroy) X(cuStreamQuery) X(cuStreamWaitEvent)                                            \
  X(cuEventCreate) X(cuEventDestroy) X(cuEventRecord) X(cuEventQuery) X(cuEventElapsedTime)                                                   \
  X(cuLinkCreate) X(cuLinkAddData) X(cuLinkComplete) X(cuLinkDestroy)                                                   \
  X(cuModuleLoadDataEx) X(cuModuleUnload) X(cuModuleGetFunction) X(cuLaunchKernel) X(cuLaunchCooperativeKernel)         \
  X(cuMemcpyHtoDAsync) X(cuMemcpyDtoHAsync) X(cuMemcpyDtoDAsync) X(cuMemcpyPeerAsync) X(cuMemcpy2DAsync)                \
  X(cuMemcpy3DPeerAsync) X(cuMemsetD8Async)                                                                             \
  X(cuStreamBeginCapture) X(cuStreamEndCapture) X(cuGraphInstantiate) X(cuGraphDestroy) X(cuGraphExecDestroy)           \
  X(cuGraphLaunch)
// clang-format on

// Functions that only later drivers have: null under an older one.
#if CUDA_VERSION >= 12040
#define SHEAF_LATER_DRIVER_FUNCTIONS(X) X(cuFuncLoad)
#else
#define SHEAF_LATER_DRIVER_FUNCTIONS(X)
#endif

struct DriverFunctions {
#define SHEAF_MEMBER(name) decltype(&::name) name = nullptr;
  SHEAF_DRIVER_FUNCTIONS(SHEAF_MEMBER)
  SHEAF_LATER_DRIVER_FUNCTIONS(SHEAF_MEMBER)
#undef SHEAF_MEMBER

  /// Errors: libcuda.so.1 is missing, or lacks a function.
  static Result<DriverFunctions> open();
  /// "cuMemAlloc: out of memory (CUDA_ERROR_OUT_OF_MEMORY)".
  Error error(const char* call, CUresult result) const;
};

}  // namespace sheaf::cuda
