// What the files of the stand-in driver share.
#pragma once

#include "tests/cuda/stand_in/machine.h"

namespace stand_in {

bool on_host(const void* memory, size_t bytes);  ///< page-locked, all of it
int device_of(CUcontext context);
/// Captures are of the thread that began them: calls that may wait for the device end them there.
bool captures_here();
void spoil_captures_here();

/// `loaded`: the first launch of one that isn't would load it, under whatever runs then.
struct Kernel {
  int device = 0;
  bool loaded = false;
};
Handles<Kernel>& kernels();
/// How often PTX was compiled, since the last call.
int take_compilations();

}  // namespace stand_in

/// For a call that works in a context: the thread must have one.
#define NEEDS_CONTEXT \
  if (stand_in::current_device() < 0) return CUDA_ERROR_INVALID_CONTEXT
/// Of a call that a thread may not make during its capture (CU_STREAM_CAPTURE_MODE_THREAD_LOCAL).
#define NOT_IN_A_CAPTURE \
  if (stand_in::captures_here()) return stand_in::spoil_captures_here(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
/// Finds a handle or leaves the function.
#define FIND_IN(name, handles, handle)                \
  const stand_in::Lock lock(stand_in::machine());     \
  const auto name = (handles).find(handle, __func__); \
  if (!name) return CUDA_ERROR_INVALID_HANDLE
#define IN_ITS_CONTEXT(object) \
  if ((object)->device != stand_in::current_device()) return CUDA_ERROR_INVALID_CONTEXT
