#include "runtime/cuda/queue_kernels.h"

#include "runtime/cuda/grid.h"

#include <algorithm>

namespace sheaf::cuda {
namespace {

constexpr unsigned kThreads = 256;

}  // namespace

Result<std::shared_ptr<LoadedModule>> LoadedModule::load(std::shared_ptr<BackendState> state, int device,
                                                         const std::string& ptx) {
  SHEAF_ASSIGN(auto module, state->driver().load(device, ptx));
  return std::shared_ptr<LoadedModule>(new LoadedModule(std::move(state), device, module));
}

LoadedModule::~LoadedModule() {
  if (!state_->lost()) state_->driver().unload(device_, module_);
}

Result<std::shared_ptr<const QueueKernels>> QueueKernels::load(std::shared_ptr<BackendState> state, int device) {
  auto kernels = std::make_shared<QueueKernels>();
  kernels->most_blocks_ = static_cast<unsigned>(std::max(1, state->driver().properties(device).multiprocessors)) * 8;
  SHEAF_ASSIGN(kernels->module_, LoadedModule::load(std::move(state), device, ptx()));
  size_t next = 0;
  for (const size_t unit : {size_t{16}, size_t{4}, size_t{1}}) {
    SHEAF_ASSIGN(auto function, kernels->module_->function("sheaf_copy_" + std::to_string(unit)));
    kernels->copies_[next++] = {function, unit};
  }
  SHEAF_ASSIGN(kernels->report_, kernels->module_->function("sheaf_report"));
  return std::shared_ptr<const QueueKernels>(kernels);
}

Result<void> QueueKernels::copy(Stream stream, void* target, const void* source, const CopyShape& shape,
                                const int32_t* guard) const {
  const auto fits = [&](size_t unit) {
    const uintptr_t all = reinterpret_cast<uintptr_t>(target) | reinterpret_cast<uintptr_t>(source) | shape.row_bytes |
                          (shape.rows > 1 ? shape.source_pitch | shape.target_pitch : 0);
    return all % unit == 0;
  };
  const Copy& copy = *std::find_if(copies_.begin(), copies_.end(), [&](const Copy& one) { return fits(one.unit); });
  uint64_t values[] = {reinterpret_cast<uint64_t>(target),
                       reinterpret_cast<uint64_t>(source),
                       shape.row_bytes / copy.unit,
                       shape.rows,
                       shape.source_pitch,
                       shape.target_pitch,
                       reinterpret_cast<uint64_t>(guard)};
  void* arguments[std::size(values)];
  for (size_t i = 0; i < std::size(values); ++i) arguments[i] = &values[i];
  Launch launch;
  launch.function = copy.function;
  launch.block = kThreads;
  launch.grid[1] = static_cast<unsigned>(std::min(shape.rows, kMostGridRows));
  const uint64_t across = std::max<uint64_t>(1, most_blocks_ / launch.grid[1]);
  launch.grid[0] = static_cast<unsigned>(std::clamp<uint64_t>((values[2] + kThreads - 1) / kThreads, 1, across));
  launch.arguments = arguments;
  return module_->state().driver().launch(stream, launch);
}

Result<void> QueueKernels::report(Stream stream, const int64_t* status, const void* indices, int64_t index_bytes,
                                  int64_t* report, int32_t* flag) const {
  uint64_t values[] = {reinterpret_cast<uint64_t>(status), reinterpret_cast<uint64_t>(indices),
                       static_cast<uint64_t>(index_bytes), reinterpret_cast<uint64_t>(report),
                       reinterpret_cast<uint64_t>(flag)};
  void* arguments[std::size(values)];
  for (size_t i = 0; i < std::size(values); ++i) arguments[i] = &values[i];
  Launch launch;
  launch.function = report_;
  launch.arguments = arguments;
  return module_->state().driver().launch(stream, launch);
}

}  // namespace sheaf::cuda
