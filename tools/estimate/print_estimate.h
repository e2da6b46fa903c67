// An estimate as text for people and JSON for programs. docs/estimate.md explains both.
#pragma once

#include "tools/estimate/estimate.h"

#include <string>

namespace sheaf {

/// `largest` may be null. The result ends in a newline.
std::string estimate_text(const Estimate& estimate, const LargestBatch* largest);
std::string estimate_json(const Estimate& estimate, const LargestBatch* largest);

}  // namespace sheaf
