// The cost of an operation, whatever runs it: arithmetic and memory traffic by its definition and sizes. estimate, bench,
// trace and explain all take costs from here.
#pragma once

#include "runtime/device/operation.h"
#include "runtime/plan/plan.h"

#include <span>

namespace sheaf {

/// For one execution on one replica. A multiplication and an addition count as one operation each, as does any other
/// scalar function (exp, sqrt, max, a comparison); a convolution counts its padding as if it were data. So a
/// library that saves arithmetic (Winograd) is measured by its task. Bytes: each operand once, at its
/// full size, padding of its format included; what a cache saves isn't known here.
struct Cost {
  double flops = 0;
  double read_bytes = 0;
  double written_bytes = 0;
  double instructions = 0;  ///< of a generated kernel, in place of its flops: what its arithmetic takes, in additions

  double bytes() const { return read_bytes + written_bytes; }
  Cost& operator+=(const Cost& other) {
    flops += other.flops;
    instructions += other.instructions;
    read_bytes += other.read_bytes;
    written_bytes += other.written_bytes;
    return *this;
  }
};

/// The cost of a step of `plan`, or of an operation that binding adds ("reduce" over more inputs, "check_finite").
/// `inputs` and `outputs` have concrete sizes, as in Executable::run. Views and prints cost nothing; data movement
/// and reorders have only bytes. Formulas: docs/estimate.md.
Cost operation_cost(const Plan& plan, const Step& step, std::span<const TensorSpec> inputs,
                    std::span<const TensorSpec> outputs);

/// The type whose products an operation adds up: bfloat16 or float16 if it multiplies such operands, else float32
/// (generated kernels, and everything that isn't a matrix product, compute in f32: docs/precision.md).
DType multiplied(Op op, std::span<const TensorSpec> inputs);

/// The channels of a convolution that lie side by side in a vector: of a group's result; for a gradient of a weight the fewer of x's and y's.
/// 1 where each channel is a group of its own. 0 for other operations.
int64_t channels_of(Op op, std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs);

}  // namespace sheaf
