#include "runtime/world/world.h"

#include <algorithm>

namespace sheaf {

Result<bool> World::any(bool mine) {
  SHEAF_ASSIGN(const auto answers, exchange(mine ? "1" : "0"));
  return std::find(answers.begin(), answers.end(), "1") != answers.end();
}

}  // namespace sheaf
