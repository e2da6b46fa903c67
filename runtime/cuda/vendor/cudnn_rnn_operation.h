// A recurrent step's executable: copies into cuDNN's weight space, its calls, copies out of it.
#pragma once

#include "runtime/cuda/vendor/cudnn.h"
#include "runtime/cuda/vendor/cudnn_rnn.h"

#include <memory>
#include <optional>
#include <vector>

namespace sheaf::cuda {

class RnnOperation final : public Operation {
 public:
  struct Copy {
    MemoryRef from, to;  ///< from none: zeros
    size_t bytes;
  };

  Result<void> enqueue(const Enqueue& at) override;
  /// cuDNN runs layers and directions on streams of its own.
  bool recordable() const override { return !descriptors; }

  Driver* driver = nullptr;
  int device = 0;
  std::shared_ptr<Cudnn> cudnn;
  std::shared_ptr<const CudnnStream> on;        ///< of the last call
  std::unique_ptr<RnnDescriptors> descriptors;  ///< null: of an empty sequence
  std::shared_ptr<OwnKernels> kernels;
  std::optional<KernelCall> lengths;  ///< writes the sequences' lengths
  std::vector<Copy> before, after;
  bool lstm = false, training = false, backward = false;
  MemoryRef x, y, h0, c0, h, c, dy, dh, dc, dx, dh0, dc0, weights, dweights, workspace, reserve, length_list;

 private:
  Result<void> copy(const std::vector<Copy>& copies, const Enqueue& at);
  Result<void> forward(const Enqueue& at);
  Result<void> gradients(const Enqueue& at);
};

}  // namespace sheaf::cuda
