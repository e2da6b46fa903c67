// What the operations of this folder have in common: a step's operands and attributes, and their errors.
#pragma once

#include "runtime/steps/step_operands.h"
#include "runtime/cpu/dnnl/dnnl_call.h"

#include <string>

namespace sheaf {

/// Where oneDNN makes a number of NaN, as the processor's maximum of NaN and a number does, and keep_nan() sees to it.
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

  /// Noted by whoever gives oneDNN what cuts NaN.
  mutable NanCut nan_cut = NanCut::none;

  dnnl::memory::data_type data_type() const { return dnnl_type(dtype()); }
  BufferRef input_buffer(std::string_view role) const { return {find(role), 0}; }
  BufferRef output_buffer(size_t index = 0) const { return {int(request.inputs.size() + index), 0}; }
};

/// Dim letters of activations of this rank: "nc", "ncw", "nchw", "ncdhw".
std::string activation_letters(size_t rank);

/// A dilation as oneDNN counts it: elements left out between two.
inline DnnlDims gaps_of(DnnlDims dilation) {
  for (int64_t& d : dilation) d -= 1;
  return dilation;
}

}  // namespace sheaf
