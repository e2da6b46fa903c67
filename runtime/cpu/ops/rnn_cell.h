// One layer and direction of a recurrent step, in oneDNN's form.
//
// Gates: PyTorch's LSTM has (i, f, g, o), as oneDNN. PyTorch's GRU has (r, z, n), oneDNN's (z, r, n), and
// PyTorch's applies the reset gate after the product, which oneDNN calls linear-before-reset; its fourth bias
// is then b_hn.
#pragma once

#include "runtime/steps/rnn_shape.h"
#include "runtime/cpu/ops/operation.h"

namespace sheaf {

/// Everything one layer and direction needs to be described to oneDNN.
struct RnnCell {
  dnnl::algorithm activation;  ///< of an RNN
  dnnl::rnn_direction direction;
  DnnlDesc x, state_in, weight_ih, weight_hh, bias, y, state_out;
};

/// x and y, [steps, rows, width] as oneDNN sees them, in the step's layout.
DnnlDesc sequence_desc(const RnnShape& shape, int64_t width);

/// Sequences between layers are dense [steps, rows, directions · hidden]; y is this direction's columns.
/// `with_state`: the step has an initial state (else state_in is empty).
RnnCell rnn_cell(const RnnShape& shape, int64_t layer, int64_t direction, bool with_state);

/// The same for a training step and its gradient. oneDNN 2.6's gradients are wrong, silently, in two cases,
/// which are therefore avoided: an LSTM without an initial state (it always has one here, zero if
/// necessary), and an x whose steps aren't contiguous while those of y are (x is copied then: copies_x).
RnnCell rnn_training_cell(const RnnShape& shape, int64_t layer, int64_t direction);
bool copies_x(const RnnShape& shape);

/// Moves x or dx between the step's layout and one with contiguous steps.
DnnlCall sequence_copy(const RnnShape& shape, bool to_dense, BufferRef from, BufferRef to);

/// Fills with zeros: a missing initial state, sums that oneDNN adds to.
struct Zero {
  BufferRef where;
  size_t bytes;
  void run(void* const* buffers, void* scratch) const;
};

dnnl::lstm_forward::primitive_desc describe_lstm(const RnnCell& cell, dnnl::prop_kind kind);
dnnl::lbr_gru_forward::primitive_desc describe_gru(const RnnCell& cell, dnnl::prop_kind kind);
dnnl::vanilla_rnn_forward::primitive_desc describe_rnn(const RnnCell& cell, dnnl::prop_kind kind);

/// Calls `take` with the description of a cell of `gates` gates.
template <typename Take>
auto describe_cell(int64_t gates, const RnnCell& cell, dnnl::prop_kind kind, Take take) {
  if (gates == 4) return take(describe_lstm(cell, kind));
  return gates == 3 ? take(describe_gru(cell, kind)) : take(describe_rnn(cell, kind));
}

/// How many biases oneDNN has for each hidden unit: linear-before-reset has a fourth.
inline int64_t rnn_biases(int64_t gates) { return gates == 1 ? 1 : 4; }

/// PyTorch's weight [gates · H, width], of shape `dims`, laid out as `wanted`: oneDNN's [1, 1, width, gates, H].
TensorSpec rnn_weight(const RnnShape& shape, const std::vector<int64_t>& dims, const DnnlDesc& wanted);

/// PyTorch has two biases, oneDNN one: their sum, made in scratch on each run since a bias may change between
/// runs. Without biases it is 0 (oneDNN 2 has no recurrent primitive without one).
struct BiasSum {
  BufferRef ih, hh, sum;
  int64_t hidden, gates;
  bool present;

  void run(void* const* buffers, void* scratch) const;
};

/// The layout of a training step's workspace: the sequences between layers, then what oneDNN keeps for
/// each layer and direction, in the order of take().
class RnnWorkspace {
 public:
  RnnWorkspace(const RnnShape& shape, BufferRef where);
  /// The result of layer `layer`, which isn't the last.
  BufferRef between(int64_t layer) const;
  BufferRef take(size_t bytes);
  size_t bytes() const { return bytes_; }

 private:
  BufferRef where_;
  size_t sequence_bytes_, bytes_;
};

}  // namespace sheaf
