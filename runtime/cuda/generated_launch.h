// The launch of one generated kernel: K(buffers…, extents…, work, guard), docs/cuda.md.
#pragma once

#include "runtime/cuda/merged_launch.h"
#include "runtime/cuda/queue_kernels.h"

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sheaf::cuda {

class PtxKernels final : public Kernels {
 public:
  struct Entry {
    Function function = nullptr;
    Function many = nullptr;  ///< K_many; null: there is none
  };
  std::shared_ptr<LoadedModule> module;  ///< null: a plan without kernels
  std::map<std::string, Entry> entries;  ///< by kernel
};

class GeneratedLaunch : public Operation, public Mergeable {
 public:
  /// `operands`: how many buffers the step has. `work`: of the kernel's form for GPUs.
  GeneratedLaunch(std::shared_ptr<const PtxKernels> kernels, const PtxKernels::Entry& entry, const Kernel& kernel,
                  std::span<const int64_t> extents, int64_t work, size_t operands, int multiprocessors);
  GeneratedLaunch(GeneratedLaunch&&) = default;

  Result<void> enqueue(const Enqueue& at) override;
  bool guardable() const override { return true; }

  std::optional<ManyLaunch> many() const override;

 protected:
  Driver& driver() const { return kernels_->module->state().driver(); }

 private:
  std::shared_ptr<const PtxKernels> kernels_;
  PtxKernels::Entry entry_;
  size_t buffers_;
  int64_t work_;
  unsigned threads_, blocks_;
  int items_;
  std::vector<uint64_t> values_;  ///< the parameters; buffers and guard are put in at each launch
  std::vector<void*> arguments_;  ///< their addresses
};

}  // namespace sheaf::cuda
