// Rows with targets, as the command line names them.
#pragma once

#include "runtime/training/dataset.h"
#include "runtime/training/loss_section.h"
#include "sheaf/model.h"

#include <map>
#include <string>

namespace sheaf {

/// Opens the SOURCE of each of the inputs and targets, by NAME, as `option` ("--data") gives them. What is worth knowing of a source is
/// reported on stderr. Targets are checked, all of them. Errors: those of Dataset::open and check_input.
Result<Dataset> open_rows(const Model& model, const LossSection& loss, const std::string& option,
                          const std::map<std::string, std::string>& sources, uint64_t seed);

}  // namespace sheaf
