// A graph of cuDNN operations as data: tensors and what is done with them. Cudnn (vendor/cudnn.h) makes plans of it. No header
// of cuDNN is included here: its frontend takes long to compile.
#pragma once

#include "runtime/steps/step_operands.h"

#include <string>
#include <vector>

namespace sheaf::cuda {

/// A window that moves over the spatial dims; a list each, `dilation` counts from 1.
struct ConvWindow {
  Dims padding_begin, padding_end, stride, dilation;
};

/// What is done to each element. `a`, `b`: the operands; those of fewer dims are spread.
enum class Pointwise {
  identity,   ///< a, in another dtype
  add,        ///< a + b
  relu,       ///< a > 0 ? a : slope · a
  elu,        ///< a > 0 ? a : alpha · (eᵃ - 1)
  silu,       ///< a / (1 + e⁻ᵃ)
  gelu,       ///< with the error function
  gelu_tanh,  ///< approximated with tanh
  tanh,
  sigmoid,
};

class CudnnGraph {
 public:
  using Id = int;  ///< of a tensor: its number, from 0; buffers are given by it

  struct Tensor {
    DType dtype = DType::float32;
    Dims dims = {}, strides = {};  ///< elements; strides empty: an intermediate's, which are cuDNN's to choose
    bool intermediate = false;     ///< in no buffer
  };
  struct Node {
    enum Kind { conv_forward, conv_backward_data, conv_backward_weight, pointwise } kind;
    std::vector<Id> inputs = {}, outputs = {};
    ConvWindow window = {};
    Pointwise function = Pointwise::identity;
    float parameter = 0;  ///< relu: slope; elu: alpha
  };

  /// One in a buffer.
  Id tensor(DType dtype, Dims dims, Dims strides);

  // Operations. Their results are intermediates until output() is called for them.

  Id conv_forward(Id x, Id weight, const ConvWindow& window, Dims y);
  Id conv_backward_data(Id dy, Id weight, const ConvWindow& window, Dims dx);
  Id conv_backward_weight(Id x, Id dy, const ConvWindow& window, Dims dweight);
  Id pointwise(Pointwise function, Id a, Id b = -1, float parameter = 0);
  /// The tensor lies in a buffer.
  void output(Id tensor, DType dtype, Dims strides);

  const std::vector<Tensor>& tensors() const { return tensors_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  /// Equal for equal graphs alone.
  std::string key() const;

 private:
  Id add(Node node, Dims dims);

  std::vector<Tensor> tensors_;
  std::vector<Node> nodes_;
};

}  // namespace sheaf::cuda
