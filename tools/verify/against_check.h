// Results of another framework.
#pragma once

#include "tools/verify/verify.h"

namespace sheaf {

/// Runs the plan, partitioned, and compares it with tensors that another program computed from the same weights and data. Their
/// names say what they are: an output or a layer's result in inference; in training, of one step, `loss`, `NAME.grad`, the
/// gradient of parameter NAME, and `NAME` itself after the step. Tensors named as inputs or targets are data (data_in() takes
/// them out of the file) and are not compared. Names of parameters, gradients and layers are read as weights' names are
/// (runtime/base/parameter_names.h). Errors: a name that is none of these, or is given twice; another shape; as verify().
Result<Verification> verify_against(const Plan& plan, const NamedTensors& weights, const NamedTensors& data,
                                    const NamedTensors& theirs, const VerifyOptions& options);

/// The tensors of `theirs` that are the plan's inputs and targets.
NamedTensors data_in(const Plan& plan, const NamedTensors& theirs);
/// The number of their rows; 0: they don't tell.
int64_t rows_of(const Plan& plan, const NamedTensors& data);

}  // namespace sheaf
