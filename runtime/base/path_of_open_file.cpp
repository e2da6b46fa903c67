#include "runtime/base/path_of_open_file.h"

#include <unistd.h>

namespace sheaf {

Result<std::string> path_of_open_file(int number) {
  std::string path = "/proc/self/fd/" + std::to_string(number);
  if (::access(path.c_str(), F_OK) == 0) return path;
  return Error("'" + path + "' isn't there, by which code that is held in memory gets a path").note("mount -t proc proc /proc");
}

}  // namespace sheaf
