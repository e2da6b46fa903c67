#pragma once

#include <string>

namespace sheaf {

/// The version of the library that a program is linked with: MAJOR.MINOR.PATCH.
std::string version();

/// "sheaf VERSION", as files say who wrote them and `--version` prints it.
std::string name_and_version();

}  // namespace sheaf
