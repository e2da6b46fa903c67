// Ranges for NVIDIA's profilers: their names stand in what nsys and ncu show.
#pragma once

#if __has_include(<nvtx3/nvToolsExt.h>)
#define SHEAF_HAVE_NVTX_HEADER
#else
#include "runtime/cuda/vendor/shared_library.h"

#include <optional>
#endif

namespace sheaf::cuda {

/// Does nothing unless a profiler started the process. With the toolkit's header, the header finds the profiler; without it, the
/// library of older toolkits does, where there is one.
class Nvtx {
 public:
  Nvtx();
  void push(const char* name) const { push_ ? void(push_(name)) : void(); }
  void pop() const { pop_ ? void(pop_()) : void(); }

 private:
#ifndef SHEAF_HAVE_NVTX_HEADER
  std::optional<SharedLibrary> library_;
#endif
  int (*push_)(const char* name) = nullptr;
  int (*pop_)() = nullptr;
};

}  // namespace sheaf::cuda
