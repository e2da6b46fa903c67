#include "runtime/base/cache_folder.h"

#include <cstdlib>

namespace sheaf {

std::string cache_folder() {
  const auto set = [](const char* name) -> std::string {
    const char* value = std::getenv(name);
    return value ? value : "";
  };
  if (const std::string folder = set("SHEAF_CACHE"); !folder.empty()) return folder;
  if (const std::string folder = set("XDG_CACHE_HOME"); !folder.empty()) return folder + "/sheaf";
  if (const std::string folder = set("HOME"); !folder.empty()) return folder + "/.cache/sheaf";
  return "";
}

}  // namespace sheaf
