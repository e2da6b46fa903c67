// A step in the form that a backend's library reads: operands by role, attributes with their bounds checked.
#pragma once

#include "runtime/device/operation.h"

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace sheaf {

/// Thrown within a backend's library operations only; its prepare() turns it into an Error.
struct OperationError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

void require(bool condition, const std::string& otherwise);

using Dims = std::vector<int64_t>;

/// Every call except find(), has() and constant() throws OperationError if the step is invalid.
class StepOperands {
 public:
  explicit StepOperands(const PrepareRequest& request);

  const PrepareRequest& request;

  /// Index among the step's inputs; -1 if the step has no such operand.
  int find(std::string_view role) const;
  bool has(std::string_view role) const { return find(role) >= 0; }
  /// The type that the step computes in: bfloat16 or float16 if its first operand has it, else float32. Sums are float32.
  DType dtype() const { return dtype_; }
  /// The operand, which must exist and have dtype().
  const TensorSpec& operand(std::string_view role) const { return operand(role, dtype_); }
  const TensorSpec& output(size_t index = 0) const { return output(index, dtype_); }
  /// The same, but float32 whatever the step computes in: biases, statistics, their gradients and those of weights.
  const TensorSpec& wide_operand(std::string_view role) const { return operand(role, DType::float32); }
  const TensorSpec& wide_output(size_t index = 0) const { return output(index, DType::float32); }
  bool constant(std::string_view role) const;

  int64_t integer(const char* name, int64_t otherwise) const;
  bool flag(const char* name, bool otherwise) const;
  /// A list of `count` integers, or one integer for all; absent: all `otherwise`.
  Dims integers(const char* name, size_t count, int64_t otherwise, int64_t least) const;

  /// All operands and outputs plain; change them if the operation wants something else.
  Prepared prepared() const;

 private:
  const TensorSpec& operand(std::string_view role, DType dtype) const;
  const TensorSpec& output(size_t index, DType dtype) const;

  DType dtype_ = DType::float32;
};

std::string to_string(const Dims& dims);
/// Of dims[begin] to dims[end - 1].
int64_t product(const Dims& dims, size_t begin, size_t end);

}  // namespace sheaf
