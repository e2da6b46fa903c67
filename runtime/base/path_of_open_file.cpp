#include "runtime/base/path_of_open_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace sheaf {

Result<std::string> path_of_open_file(int number) {
  std::string path = "/proc/self/fd/" + std::to_string(number);
  if (::access(path.c_str(), F_OK) == 0) return path;
  const int code = errno;
  Error error("'" + path + "', by which code that is held in memory has a path, can't be reached: " + std::strerror(code));
  return code == ENOENT ? error.note("mount -t proc proc /proc") : error;
}

}  // namespace sheaf
