// A model bound to devices and a batch size, ready to run.
#pragma once

#include "runtime/base/error.h"
#include "sheaf/options.h"
#include "sheaf/tensor.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sheaf {

class Binding;
struct ValueInfo;  // sheaf/model.h

/// An entry of the device list, or the host: its memory and its work.
struct LaneReport {
  std::string lane;            ///< "host", "cpu:1"
  size_t arena_bytes = 0;      ///< of tensors within a run
  size_t parameter_bytes = 0;  ///< BindingReport's bytes in this lane's memory, unless an earlier lane has the same memory
  size_t derived_bytes = 0;
  size_t operations = 0;
};

/// One operation, in order: a step of the plan on one replica, or an operation inserted by binding.
struct OperationReport {
  std::string op;     ///< "conv", "kernel", …; "reorder", "copy", "update" for what binding inserted
  std::string layer;  ///< the model's dotted name; empty for operations without a layer
  std::string lane;
  int replica = -1;            ///< -1 outside parallel regions
  std::string implementation;  ///< "jit:avx512_core", "generated", …
  std::string reason;          ///< why that one
};

struct BindingReport {
  std::vector<LaneReport> lanes;
  std::vector<OperationReport> operations;
  size_t parameter_bytes =
      0;  ///< parameters, buffers and optimiser state, wherever they live: shared by everything bound to the model
  size_t derived_bytes = 0;  ///< folded and reordered copies of them, shared likewise
  std::string choices;       ///< a digest of the implementations chosen by BindOptions::tune; empty: Tune::off
};

/// Bound to the rows of a whole batch, and to BindOptions::lengths; accepts smaller batches and other lengths too. Keeps alive
/// what it needs of its Model. One run at a time, on any thread.
class Session {
 public:
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  /// Rows of a whole batch.
  int64_t batch() const;
  /// The model's inputs, in the order that run() takes them: as the Model has them, but uint8 where they are given as bytes
  /// (BindOptions::bytes).
  const std::vector<ValueInfo>& inputs() const;
  /// Sizes of input and output `index` (in the Model's order) for a whole batch. `index` must be below their number.
  const std::vector<int64_t>& input_shape(size_t index) const;
  const std::vector<int64_t>& output_shape(size_t index) const;
  /// Sizes of all outputs for as many rows as `inputs` have (the inputs of run()). Binds that size as prepare() does. Errors:
  /// an input that is missing, superfluous or unknown; those of prepare().
  Result<std::vector<std::vector<int64_t>>> output_shapes(std::span<const TensorView> inputs);
  /// Binds the session to `rows` rows too, from 0 to batch(), so that no run has to. `lengths`: numbers for the model's lengths;
  /// those that aren't among them are as the session was bound. Errors: a number that the model has no room for; bind()'s.
  /// Shares the memory within a run with that of a whole batch. Keeps at most kMostSizes sizes and drops those used longest ago; they can be bound again.
  Result<void> prepare(int64_t rows, const LengthNumbers& lengths = {});
  static constexpr size_t kMostSizes = 8;

  /// Runs the model on tensors whose sizes are checked. A view with a name is the input or output of that name; views without
  /// names come in the model's order. All have the same number of rows, from 0 to batch(), and give each length one
  /// number; new numbers are bound as by prepare(). The caller owns the memory; outputs overlap neither each other nor inputs.
  /// Errors: a tensor that is missing, superfluous, or of another dtype or shape than inputs() and the model's outputs have (a short buffer has
  /// another shape); two inputs that give a length two numbers; those of prepare() and of the other run().
  Result<void> run(std::span<const TensorView> inputs, std::span<const MutableTensorView> outputs,
                   const RunOptions& options = {});

  /// The fast path, for a whole batch: an address for each input and output, in the model's order. It doesn't check that they
  /// have as many elements as input_shape() and output_shape() say. Buffers are in host memory, aligned to their element size.
  /// They are used in place, nothing is allocated, and the same addresses as before are cheapest.
  /// Errors: weights not set; a number of buffers other than the model's; a null or misaligned buffer; a failure on
  /// a device ("replica 1 on device cpu:1: …", the lowest replica's), after which outputs are unspecified.
  Result<void> run(std::span<const void* const> inputs, std::span<void* const> outputs, const RunOptions& options = {});

  /// For a whole batch: memory, and the implementations chosen.
  BindingReport report() const;
  const Binding& binding() const;  // sheaf's own

 private:
  friend class Model;
  struct State;
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace sheaf
