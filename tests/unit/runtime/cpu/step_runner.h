// Binds and runs one library step on the CPU, as binding would: reorders where the operation asks for a
// format.
#pragma once

#include "runtime/device/operation.h"

#include <string>
#include <vector>

namespace sheaf::test {

using Dims = std::vector<int64_t>;

struct Tensor {
  std::vector<int64_t> dims;
  std::vector<float> data;

  Tensor() = default;
  explicit Tensor(std::vector<int64_t> dims);  ///< zeros
  Tensor(std::vector<int64_t> dims, std::vector<float> data) : dims(std::move(dims)), data(std::move(data)) {}
  int64_t size() const { return int64_t(data.size()); }
};

struct Operand {
  std::string role;
  Tensor value;
  bool constant = false;
};

struct StepCase {
  Op op;
  std::vector<Operand> operands;
  Json attributes = Json::object();
  std::vector<std::vector<int64_t>> outputs;
  int threads = 1;
  bool fast = false;
  bool bf16 = false;            ///< operands are rounded to bf16, except a bias; so are results, except gradients of weights
  std::string candidate = {};   ///< to be chosen, if there are several and it is one of them
  bool alias_residual = false;  ///< put the residual where the output goes, if the operation allows it
};

struct StepRun {
  std::vector<Tensor> outputs;
  std::string implementation;
  std::vector<std::string> candidates;  ///< those that fit; empty: the operation has no list of them
  std::string candidate;                ///< the one chosen of them
};

/// Two runs from fresh buffers at other addresses; fails if their bits differ.
Result<StepRun> run_step(const StepCase& step);

/// Only binds: the error, or "" if there is none.
std::string refusal(const StepCase& step);

/// The operation, its attributes and its operands' sizes on one line.
std::string describe(const StepCase& step);

/// Each value rounded to bf16, as a float.
Tensor rounded_to_bf16(Tensor tensor);
inline constexpr double result_rounding = 0x1p-8;  ///< of a result to bf16, relative to the largest

/// Largest |a-b| over the largest |b| (or over 1e-30); infinite if sizes differ or a value is not finite.
double relative_error(const Tensor& actual, const Tensor& expected);

}  // namespace sheaf::test
