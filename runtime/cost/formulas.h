// Arithmetic of each operation, by its definition; cost.h says what is counted.
#pragma once

#include "runtime/device/operation.h"

#include <span>
#include <string_view>

namespace sheaf {

/// A step with the sizes of its operands.
struct SizedStep {
  const Step& step;
  std::span<const TensorSpec> inputs;
  std::span<const TensorSpec> outputs;

  /// The operand of a role; null where the step hasn't one.
  const TensorSpec* input(std::string_view role) const;
  /// Elements of an operand, 0 where it is null or not there.
  static double elements(const TensorSpec* tensor);
  double output_elements(size_t index) const;
};

double operation_flops(const Plan& plan, const SizedStep& step);

/// Of the operations in formulas_recurrent.cpp: lstm, gru and their training and backward forms.
double recurrent_flops(const SizedStep& step);

}  // namespace sheaf
