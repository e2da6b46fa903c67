// The library operations as plain loops in double precision, written from PyTorch's documentation.
#pragma once

#include "tests/unit/runtime/cpu/step_runner.h"

#include <map>

namespace sheaf::test {

/// A step's operand of this role; null if it has none.
const Tensor* find(const StepCase& c, const std::string& role);
int64_t integer(const StepCase& c, const char* name, int64_t otherwise);
/// Spatial attributes, padded in front to three dims like the tensors.
Dims spatial(const StepCase& c, const char* name, int64_t otherwise);
/// [N, C, s…] as [N, C, d, h, w].
Dims five(Dims dims);

/// The outputs of a step (docs/steps.md), shapes computed from the operands.
std::vector<Tensor> reference(const StepCase& step);

/// The outputs of an `lstm`, `gru` or `rnn` step.
std::vector<Tensor> reference_recurrent(const StepCase& step);

/// The same in double precision throughout, by role, for taking differences.
using RecurrentValues = std::map<std::string, std::vector<double>>;
RecurrentValues recurrent_values(const StepCase& step);
std::vector<std::vector<double>> reference_recurrent(const StepCase& step, const RecurrentValues& values);

/// An activation object of docs/steps.md applied to one value.
double reference_activation(const Json& activation, double x);

double sigmoid(double x);

/// torch's output size of a pooling window.
int64_t reference_pooled(int64_t size, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation, bool ceil);

}  // namespace sheaf::test
