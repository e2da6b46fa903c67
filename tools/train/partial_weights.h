// `--weights FILE --weights-partial`: takes the tensors that fit from another model's weights, for fine-tuning.
#pragma once

#include "runtime/base/error.h"
#include "sheaf/model.h"

#include <string>

namespace sheaf {

/// Sets the parameters of `model`, which already have values, from the tensors of a safetensors file with the same name and
/// shape, and reports on stderr which parameters keep their values and which tensors are left over. Errors, located at the
/// file: it can't be read; nothing fits; a tensor of a type that can't become the parameter's.
Result<void> load_partial_weights(Model& model, const std::string& file);

}  // namespace sheaf
