// Rows with targets, as the command line names them.
#pragma once

#include "runtime/training/dataset.h"
#include "runtime/training/loss_section.h"
#include "sheaf/model.h"

#include <map>
#include <string>

namespace sheaf {

/// Opens the SOURCE of each input and target, by NAME, as `option` ("--data") gives them. Notes about a source are printed on
/// stderr. All targets are checked. `lengths`: a number for each of the plan's. Errors: those of Dataset::open and check_input.
Result<Dataset> open_rows(const Model& model, const LossSection& loss, const std::string& option,
                          const std::map<std::string, std::string>& sources, uint64_t seed, const LengthNumbers& lengths);

}  // namespace sheaf
