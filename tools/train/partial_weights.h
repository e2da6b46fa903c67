// `--weights FILE --weights-partial`: what fits of another model's weights, for fine-tuning.
#pragma once

#include "runtime/base/error.h"
#include "sheaf/model.h"

#include <string>

namespace sheaf {

/// Gives `model`, whose parameters are set already, those tensors of a safetensors file that have the name and shape of a parameter, and
/// says on stderr which parameters keep their values and which tensors are left over. Errors, located at the file: it can't be read;
/// nothing fits; a tensor of a type that can't become the parameter's.
Result<void> load_partial_weights(Model& model, const std::string& file);

}  // namespace sheaf
