// NAME=SOURCE options of the command line (`--input`, `--data`, `--eval`), and the weights of `--weights`.
#pragma once

#include "sheaf/tensor.h"
#include "sheaf/model.h"

#include <map>
#include <string>
#include <vector>

namespace sheaf {

/// The help text of an option with NAME=SOURCE; `what` describes its rows: "rows of an input".
std::string source_help(const std::string& what);

/// The values of `option` ("--input"), SOURCE by NAME. Every error is the command line's fault: no NAME or SOURCE, an
/// impossible SOURCE, a repeated NAME.
Result<std::map<std::string, std::string>> named_sources(const std::string& option, const std::vector<std::string>& given);

/// Checks that each of `values` has a source, and that no source is superfluous; a single error lists all faults. `what`
/// describes the values: "inputs". `model`: the name of their model.
Result<void> check_names(const std::string& option, const std::string& what, const std::string& model,
                         const std::vector<ValueInfo>& values, const std::map<std::string, std::string>& sources);

/// Sets the parameters and buffers of `model` from a safetensors file; reports converted dtypes on stderr. Errors are located
/// at the file.
Result<void> load_weights(Model& model, const std::string& file);

}  // namespace sheaf
