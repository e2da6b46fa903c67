// What batch norm and its gradient have in common: cuDNN's with channels last, where its vectors fit the channels; else the
// project's own kernels.
#pragma once

#include "runtime/cuda/channel_sums.h"
#include "runtime/cuda/format.h"
#include "runtime/cuda/vendor/cudnn_operation.h"

namespace sheaf::cuda {

/// A workspace: where ReLU let through. It remembers who made it and how x lay.
class NormWorkspace final : public Format {
 public:
  NormWorkspace(bool library, bool channels_last, size_t bytes)
      : library_(library), channels_last_(channels_last), bytes_(bytes) {}
  bool equals(const Format& other) const override {
    const auto* that = dynamic_cast<const NormWorkspace*>(&other);
    return that && library_ == that->library_ && channels_last_ == that->channels_last_ && bytes_ == that->bytes_;
  }
  std::string name() const override { return "workspace"; }
  bool library() const { return library_; }
  bool channels_last() const { return channels_last_; }

 private:
  bool library_, channels_last_;
  size_t bytes_;
};

struct BatchNorm {
  const TensorSpec* x = nullptr;
  Dims dims, channels;  ///< x's, with at least two spatial dims; [1, C, 1, …]
  float eps = 0;
  bool affine = false, relu = false;
  bool channels_last = false;  ///< as x lies

  int64_t count() const { return dims[1]; }
  TensorSpec placed(DType dtype) const {
    TensorSpec plain = plain_tensor(dtype, x->dims);
    return channels_last ? cuda::channels_last(std::move(plain)) : plain;
  }
};

/// Throws OperationError.
BatchNorm batch_norm_of(const StepOperands& operands);
void require_channels(const Dims& dims, int64_t count, const char* name);

/// A graph of cuDNN's and where its tensors lie.
struct Placed {
  CudnnGraph graph;
  std::vector<std::pair<CudnnGraph::Id, MemoryRef>> places;

  CudnnGraph::Id tensor(const BatchNorm& norm, DType dtype, MemoryRef where) {
    places.emplace_back(graph.tensor(dtype, norm.dims, channels_last_strides(norm.dims)), where);
    return places.back().first;
  }
  CudnnGraph::Id statistic(const BatchNorm& norm, MemoryRef where) {
    places.emplace_back(graph.tensor(DType::float32, norm.channels, channels_last_strides(norm.channels)), where);
    return places.back().first;
  }
};

/// Why cuDNN's batch norm isn't asked, or null.
const char* unfit(const BatchNorm& norm, DType dtype);

inline size_t channel_bytes(const BatchNorm& norm) { return size_t(norm.count()) * sizeof(float); }

/// The operand, or where the step has none scratch memory that is made `otherwise`.
MemoryRef affine(CudnnBuilder& builder, const BatchNorm& norm, const char* role, float otherwise);

/// What both directions give the project's own kernels.
BatchNormCall own_call(const CudnnBuilder& builder, const BatchNorm& norm);

}  // namespace sheaf::cuda
