// How a training step's loss is scaled (docs/precision.md).
#pragma once

#include "runtime/plan/plan.h"

#include "frontend/model.h"

#include "mlir/IR/Builders.h"

#include <string>

namespace sheaf {

/// The model's setting: a number, or torch.amp.GradScaler's arguments, complete; without one, in f16 GradScaler's own. Null:
/// the loss isn't scaled.
Json loss_scale_of(const frontend::Training& training, const std::string& precision);

/// The same as `nn.loss_scale`; it isn't null.
mlir::DictionaryAttr loss_scale_attribute(mlir::Builder builder, const Json& scale);

}  // namespace sheaf
