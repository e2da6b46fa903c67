// NAME=SOURCE options of the command line (`--input`, `--data`, `--eval`), and the weights of `--weights`.
#pragma once

#include "sheaf/tensor.h"
#include "sheaf/model.h"

#include <map>
#include <string>
#include <vector>

namespace sheaf {

/// What the help of an option with NAME=SOURCE says; `what` its rows are: "rows of an input".
std::string source_help(const std::string& what);

/// The values of `option` ("--input"), SOURCE by NAME. Every error is the command line's: no NAME or SOURCE, a SOURCE
/// that can't be one, a NAME twice.
Result<std::map<std::string, std::string>> named_sources(const std::string& option, const std::vector<std::string>& given);

/// Each of `values` has a source, and no source is superfluous; one error lists all that is wrong. `what` is what the
/// values are: "inputs". `model`: whose.
Result<void> check_names(const std::string& option, const std::string& what, const std::string& model,
                         const std::vector<ValueInfo>& values, const std::map<std::string, std::string>& sources);

/// Gives `model` the parameters and buffers of a safetensors file; says on stderr which dtypes were converted. Errors are
/// located at the file.
Result<void> load_weights(Model& model, const std::string& file);

}  // namespace sheaf
