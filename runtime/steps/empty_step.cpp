#include "runtime/steps/empty_step.h"

#include <algorithm>

namespace sheaf {

bool has_nothing_to_do(const PrepareRequest& request) {
  const auto empty = [](const TensorSpec& output) { return element_count(output) == 0; };
  return !request.outputs.empty() && std::all_of(request.outputs.begin(), request.outputs.end(), empty);
}

}  // namespace sheaf
