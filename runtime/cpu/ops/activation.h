// The attribute `activation` (docs/steps.md): as a oneDNN post-op, and for one value.
#pragma once

#include "runtime/cpu/ops/operation.h"

#include <optional>

namespace sheaf {

/// An activation as oneDNN's eltwise: kind and two constants.
struct Activation {
  dnnl::algorithm algorithm;
  float alpha = 0;
  float beta = 0;
};

/// The step's activation, if it has one; an unknown kind is an OperationError.
std::optional<Activation> activation_of(const Operation& operation);

/// The same in oneDNN's terms: if it cuts NaN there, the operation is marked so.
std::optional<Activation> library_activation(const Operation& operation);

/// y = activation(x), for loops too small to be worth a primitive.
float apply(const Activation& activation, float x);

/// Post-ops in the order that steps define: the residual is added (summed into the destination), then the
/// activation is applied.
dnnl::post_ops step_post_ops(const Operation& operation);

}  // namespace sheaf
