#pragma once

#include "runtime/base/error.h"

#include <string>

namespace sheaf {

/// A path of the file that descriptor `number` is open on, which need not have a name: a pipe, memory. Error: /proc isn't mounted.
Result<std::string> path_of_open_file(int number);

}  // namespace sheaf
