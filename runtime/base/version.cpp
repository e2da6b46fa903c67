#include "runtime/base/version.h"

namespace sheaf {

std::string version() { return SHEAF_VERSION; }

std::string name_and_version() { return "sheaf " + version(); }

}  // namespace sheaf
