#include "runtime/cuda/generated_launch.h"

#include "runtime/cuda/generated_kernel.h"

namespace sheaf::cuda {

GeneratedLaunch::GeneratedLaunch(std::shared_ptr<const PtxKernels> kernels, const PtxKernels::Entry& entry,
                                 const Kernel& kernel, std::span<const int64_t> extents, int64_t work, size_t operands,
                                 int multiprocessors)
    : kernels_(std::move(kernels)),
      entry_(entry),
      buffers_(operands),
      work_(work),
      threads_(static_cast<unsigned>(kernel.gpu_block)),
      blocks_(blocks_for(work, kernel.gpu_items, kernel.gpu_block, multiprocessors)),
      items_(kernel.gpu_items) {
  values_.assign(operands, 0);
  values_.insert(values_.end(), extents.begin(), extents.end());
  values_.push_back(static_cast<uint64_t>(work));
  values_.push_back(0);
  for (uint64_t& value : values_) arguments_.push_back(&value);
}

std::optional<ManyLaunch> GeneratedLaunch::many() const {
  const size_t extents = values_.size() - buffers_ - 2;
  if (!entry_.many || extents != 0) return std::nullopt;
  return ManyLaunch{entry_.many, kernels_, buffers_, work_, items_, threads_};
}

Result<void> GeneratedLaunch::enqueue(const Enqueue& at) {
  if (work_ == 0) return {};
  for (size_t i = 0; i < buffers_; ++i) values_[i] = reinterpret_cast<uint64_t>(at.buffers[i]);
  values_.back() = reinterpret_cast<uint64_t>(at.guard);
  Launch launch;
  launch.function = entry_.function;
  launch.grid[0] = blocks_;
  launch.block = threads_;
  launch.arguments = arguments_.data();
  return driver().launch(at.stream, launch);
}

}  // namespace sheaf::cuda
