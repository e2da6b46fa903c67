#include "tests/paths/source_folder.h"

namespace sheaf {

std::string source_file(const std::string& path) { return std::string(SHEAF_SOURCE_DIR) + "/" + path; }

}  // namespace sheaf
