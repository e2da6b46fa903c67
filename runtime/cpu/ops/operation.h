// Shared by the operations of this folder: a step's operands and attributes, and their errors.
#pragma once

#include "runtime/steps/step_operands.h"
#include "runtime/cpu/dnnl/dnnl_call.h"

#include <string>

namespace sheaf {

/// Where oneDNN turns NaN into a number, as the processor's maximum of NaN and a number does, so that keep_nan() is needed.
enum class NanCut {
  none,
  product,    ///< a product whose activation is a maximum
  maximum,    ///< over windows
  norm,       ///< batch norm with ReLU
  recurrent,  ///< an RNN with ReLU
};

/// A step in oneDNN's terms.
class Operation : public StepOperands {
 public:
  using StepOperands::StepOperands;

  /// Set by code that gives oneDNN an operation that cuts NaN.
  mutable NanCut nan_cut = NanCut::none;

  dnnl::memory::data_type data_type() const { return dnnl_type(dtype()); }
  BufferRef input_buffer(std::string_view role) const { return {find(role), 0}; }
  BufferRef output_buffer(size_t index = 0) const { return {int(request.inputs.size() + index), 0}; }
};

/// Dim letters of activations of this rank: "nc", "ncw", "nchw", "ncdhw".
std::string activation_letters(size_t rank);

/// The spec of activations that lie as `desc` says.
TensorSpec activation_tensor(const DnnlDims& dims, const DnnlDesc& desc);

/// A dilation as oneDNN counts it: the number of skipped elements.
inline DnnlDims gaps_of(DnnlDims dilation) {
  for (int64_t& d : dilation) d -= 1;
  return dilation;
}

}  // namespace sheaf
