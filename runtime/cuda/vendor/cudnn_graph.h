// A graph of cuDNN operations as data: tensors and the operations on them. Cudnn (vendor/cudnn.h) makes plans of it. No header
// of cuDNN is included here: its frontend takes long to compile.
#pragma once

#include "runtime/steps/step_operands.h"

#include <array>
#include <string>
#include <vector>

namespace sheaf::cuda {

/// A window that moves over the spatial dims; one list for each property, `dilation` counts from 1.
struct ConvWindow {
  Dims padding_begin, padding_end, stride, dilation;
};

/// An operation on each element. `a`, `b`: the operands; those with fewer dims are broadcast.
enum class Pointwise {
  identity,   ///< a, in another dtype
  add,        ///< a + b
  subtract,   ///< a - b
  multiply,   ///< a · b
  relu,       ///< a > 0 ? a : slope · a
  elu,        ///< a > 0 ? a : alpha · (eᵃ - 1)
  silu,       ///< a / (1 + e⁻ᵃ)
  gelu,       ///< with the error function
  gelu_tanh,  ///< approximated with tanh
  tanh,
  sigmoid,
  relu_backward,  ///< b > 0 ? a : 0
};

class CudnnGraph {
 public:
  using Id = int;  ///< of a tensor: its number, from 0; buffers are given by it

  struct Tensor {
    DType dtype = DType::float32;
    Dims dims = {}, strides = {};  ///< elements; empty strides: an intermediate's, which cuDNN chooses
    bool intermediate = false;     ///< in no buffer
  };
  struct Node {
    enum Kind { conv_forward, conv_backward_data, conv_backward_weight, pointwise, sums, norm_weight } kind;
    std::vector<Id> inputs = {}, outputs = {};
    ConvWindow window = {};
    Pointwise function = Pointwise::identity;
    float parameter = 0;  ///< relu: slope; elu: alpha
  };

  /// A tensor in a buffer.
  Id tensor(DType dtype, Dims dims, Dims strides);

  // Operations. Their results are intermediates until output() is called for them.

  Id conv_forward(Id x, Id weight, const ConvWindow& window, Dims y);
  Id conv_backward_data(Id dy, Id weight, const ConvWindow& window, Dims dx);
  Id conv_backward_weight(Id x, Id dy, const ConvWindow& window, Dims dweight);
  Id pointwise(Pointwise function, Id a, Id b = -1, float parameter = 0);
  /// Σ x and Σ x² of each channel, [1, C, 1, …].
  std::array<Id, 2> sums(Id x);
  /// Of a batch norm of x by `mean` and `inverse` (1 / sqrt(var + eps)), for its gradient dy: dweight, dbias, and the factors of dy and x and
  /// the constant whose sum is its gradient by x. All operands but dy and x, and all results, are [1, C, 1, …].
  std::array<Id, 5> norm_weight(Id dy, Id x, Id mean, Id inverse, Id weight);
  /// Puts the tensor in a buffer.
  void output(Id tensor, DType dtype, Dims strides);

  const std::vector<Tensor>& tensors() const { return tensors_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  /// A rough lower bound on a large GPU: only ratios between graphs mean something.
  double least_seconds() const;
  /// Equal only for equal graphs.
  std::string key() const;

 private:
  Id add(Node node, Dims dims);
  Dims channels_of(Id tensor) const;

  std::vector<Tensor> tensors_;
  std::vector<Node> nodes_;
};

}  // namespace sheaf::cuda
