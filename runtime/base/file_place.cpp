#include "runtime/base/file_place.h"

#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace sheaf {

Result<std::string> behind_links(const std::string& file) {
  constexpr int kMostLinks = 40;  // as many as Linux follows
  std::filesystem::path at = file;
  for (int followed = 0; followed <= kMostLinks; ++followed) {
    char target[PATH_MAX];
    const ssize_t length = ::readlink(at.c_str(), target, sizeof target);
    if (length < 0 && (errno == EINVAL || errno == ENOENT)) return at.string();  // no link, or nothing there yet
    if (length < 0) return Error({file, 0, 0}, std::string("can't be written: ") + std::strerror(errno));
    at = at.parent_path() / std::string(target, static_cast<size_t>(length));  // an absolute target replaces all of it
  }
  return Error({file, 0, 0}, std::string("can't be written: ") + std::strerror(ELOOP));
}

std::optional<FilePlace> place_of(const std::string& file) {
  struct stat info;
  if (::stat(file.c_str(), &info) == 0) {
    if (!S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) return std::nullopt;
    return FilePlace{info.st_dev, info.st_ino, ""};
  }
  auto target = behind_links(file);
  if (!target) return std::nullopt;
  std::filesystem::path path = *target;
  if (!path.has_filename()) path = path.parent_path();  // "folder/"
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  if (::stat(folder.c_str(), &info) != 0) return std::nullopt;
  return FilePlace{info.st_dev, info.st_ino, path.filename().string()};
}

}  // namespace sheaf
