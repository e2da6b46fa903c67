// What the operations of this folder have in common: a step's operands and attributes, and their errors.
#pragma once

#include "runtime/bind/op.h"
#include "runtime/cpu/dnnl_call.h"

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace sheaf {

/// Thrown inside this folder only; prepare_cpu_library_op turns it, and dnnl::error, into an Error.
struct OperationError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

void require(bool condition, const std::string& otherwise);

/// A step with its operands found by role and its attributes read with their bounds checked.
class Operation {
 public:
  explicit Operation(const PrepareRequest& request);

  const PrepareRequest& request;

  /// Index among the step's inputs; -1 where the step has no such operand.
  int find(std::string_view role) const;
  bool has(std::string_view role) const { return find(role) >= 0; }
  /// What the step computes in: bfloat16 where its first operand is, else float32. Sums are float32 in either case.
  DType dtype() const { return dtype_; }
  dnnl::memory::data_type data_type() const { return dnnl_type(dtype_); }
  /// The operand, which must be there and of dtype().
  const TensorSpec& operand(std::string_view role) const { return operand(role, dtype_); }
  const TensorSpec& output(size_t index = 0) const { return output(index, dtype_); }
  /// The same, float32 whatever the step computes in: biases, statistics, their gradients and those of weights.
  const TensorSpec& wide_operand(std::string_view role) const { return operand(role, DType::float32); }
  const TensorSpec& wide_output(size_t index = 0) const { return output(index, DType::float32); }
  bool constant(std::string_view role) const;

  BufferRef input_buffer(std::string_view role) const { return {find(role), 0}; }
  BufferRef output_buffer(size_t index = 0) const { return {int(request.inputs.size() + index), 0}; }

  int64_t integer(const char* name, int64_t otherwise) const;
  bool flag(const char* name, bool otherwise) const;
  /// A list of `count` integers, or one integer for all; absent: all `otherwise`.
  std::vector<int64_t> integers(const char* name, size_t count, int64_t otherwise, int64_t least) const;

  /// All operands and outputs plain, to be changed where the operation wants something else.
  Prepared prepared() const;

 private:
  const TensorSpec& operand(std::string_view role, DType dtype) const;
  const TensorSpec& output(size_t index, DType dtype) const;

  DType dtype_ = DType::float32;
};

std::string to_string(const std::vector<int64_t>& dims);
int64_t product(const std::vector<int64_t>& dims, size_t begin, size_t end);

/// Dim letters of activations of this rank: "nc", "ncw", "nchw", "ncdhw".
std::string activation_letters(size_t rank);

Prepared prepare_linear(const Operation& operation);
Prepared prepare_conv(const Operation& operation);
Prepared prepare_conv_transpose(const Operation& operation);
Prepared prepare_matmul(const Operation& operation);
Prepared prepare_max_pool(const Operation& operation);
Prepared prepare_avg_pool(const Operation& operation);
Prepared prepare_adaptive_avg_pool(const Operation& operation);
Prepared prepare_lstm(const Operation& operation);
Prepared prepare_gru(const Operation& operation);

// Of a training step (docs/training.md).
Prepared prepare_conv_backward_data(const Operation& operation);
Prepared prepare_conv_backward_weight(const Operation& operation);
Prepared prepare_linear_backward_data(const Operation& operation);
Prepared prepare_linear_backward_weight(const Operation& operation);
Prepared prepare_batch_norm_train(const Operation& operation);
Prepared prepare_batch_norm_backward(const Operation& operation);
Prepared prepare_max_pool_train(const Operation& operation);
Prepared prepare_max_pool_backward(const Operation& operation);
Prepared prepare_avg_pool_backward(const Operation& operation);
Prepared prepare_adaptive_avg_pool_backward(const Operation& operation);
Prepared prepare_lstm_train(const Operation& operation);
Prepared prepare_lstm_backward(const Operation& operation);
Prepared prepare_gru_train(const Operation& operation);
Prepared prepare_gru_backward(const Operation& operation);
Prepared prepare_reduce(const Operation& operation);
Prepared prepare_check_finite(const Operation& operation);

}  // namespace sheaf
