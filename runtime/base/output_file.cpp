// Outputs: whole under their name, or not there.
#include "runtime/base/file.h"
#include "runtime/base/file_place.h"
#include "runtime/base/path_of_open_file.h"
#include "runtime/base/temporary_name.h"
#include "runtime/base/write_all.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <random>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace sheaf {

namespace {

Error not_written(const std::string& file, int code) {
  return Error({file, 0, 0}, std::string("can't be written: ") + std::strerror(code));
}

/// False if that fails, with the reason in errno.
bool write_each(int descriptor, std::span<const std::string_view> pieces) {
  return std::ranges::all_of(pieces, [&](std::string_view bytes) { return write_all(descriptor, bytes); });
}

/// Of a regular file, or of one that isn't there yet: `name` in `folder`.
class Replacement {
 public:
  Replacement(int folder, std::string name) : folder_(folder), name_(std::move(name)) {}

  /// 0, or errno of what failed; then everything is as it was.
  int write(std::span<const std::string_view> pieces) {
    struct stat info;
    const bool exists = ::fstatat(folder_, name_.c_str(), &info, 0) == 0;
    // Nobody may read what takes a private file's place before it has got that file's permissions.
    const mode_t mode = exists ? 0600 : 0666;
    Descriptor out(::openat(folder_, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, mode));
    const auto content = path_of_open_file(out.get());
    if (!out.open() || !content) return write_named(pieces, mode, exists ? &info : nullptr);
    if (const int code = fill(out, pieces, exists ? &info : nullptr); code != 0) return code;
    if (link_as(*content, name_)) return 0;
    if (errno == EEXIST) return link_and_rename(*content);
    return write_named(pieces, mode, exists ? &info : nullptr);  // some file systems make such files and link none
  }

 private:
  int fill(Descriptor& out, std::span<const std::string_view> pieces, const struct stat* old) {
    const bool done =
        write_each(out.get(), pieces) && (!old || ::fchmod(out.get(), old->st_mode & 07777) == 0) && ::fsync(out.get()) == 0;
    return done ? 0 : errno;
  }

  bool link_as(const std::string& content, const std::string& name) {
    return ::linkat(AT_FDCWD, content.c_str(), folder_, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
  }

  /// A link can't replace a file, a rename can. The name in between is always the same: a process that is killed while it
  /// exists leaves it to the next one, which removes it. Two at once do no harm, as each links a whole file: the one that finds
  /// the name gone begins again.
  int link_and_rename(const std::string& content) {
    const std::string between = temporary_name(name_, "new");
    const SignalGuard guard(folder_, between);
    for (int attempt = 0; attempt < 100; ++attempt) {
      if (!link_as(content, between)) {
        if (errno != EEXIST || (::unlinkat(folder_, between.c_str(), 0) != 0 && errno != ENOENT)) return errno;
        continue;
      }
      if (::renameat(folder_, between.c_str(), folder_, name_.c_str()) == 0) return 0;
      if (errno == ENOENT) continue;
      const int code = errno;
      ::unlinkat(folder_, between.c_str(), 0);
      return code;
    }
    return EBUSY;
  }

  /// Where there are no files without a name: one of its own for each write, since it is there before it is whole.
  int write_named(std::span<const std::string_view> pieces, mode_t mode, const struct stat* old) {
    for (int attempt = 0; attempt < 100; ++attempt) {
      const std::string name = temporary_name(name_, std::to_string(std::random_device()()));
      const SignalGuard guard(folder_, name);
      Descriptor out(::openat(folder_, name.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, mode));
      if (!out.open() && errno == EEXIST) continue;
      if (!out.open()) return errno;
      int code = fill(out, pieces, old);
      if (out.close() != 0 && code == 0) code = errno;
      if (code == 0 && ::renameat(folder_, name.c_str(), folder_, name_.c_str()) != 0) code = errno;
      if (code != 0) ::unlinkat(folder_, name.c_str(), 0);
      return code;
    }
    return EEXIST;
  }

  int folder_;
  std::string name_;
};

/// Replaces the file; then the folder is flushed, without which the name might not survive a power cut. Filesystems that
/// can't do that are fine.
Result<void> replace(int folder, const std::string& name, const std::string& shown, std::span<const std::string_view> pieces) {
  if (const int code = Replacement(folder, name).write(pieces); code != 0) return not_written(shown, code);
  const Descriptor flushed(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (flushed.open()) ::fsync(flushed.get());
  return {};
}

}  // namespace

Result<Descriptor> open_output(const std::string& file, int flags) {
  struct stat info;
  const bool pipe = ::stat(file.c_str(), &info) == 0 && S_ISFIFO(info.st_mode);
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::duration<double>(kPatienceSeconds);
  for (;;) {
    Descriptor out(::open(file.c_str(), O_WRONLY | O_CLOEXEC | flags | (pipe ? O_NONBLOCK : 0), 0666));
    if (out.open()) {
      if (pipe) ::fcntl(out.get(), F_SETFL, ::fcntl(out.get(), F_GETFL) & ~O_NONBLOCK);
      return out;
    }
    if (errno == EINTR) continue;
    if (errno != ENXIO || !pipe) return not_written(file, errno);
    if (std::chrono::steady_clock::now() > give_up) return Error({file, 0, 0}, "can't be written: nobody reads from this pipe");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

Result<void> write_file_atomically(const std::string& file, std::string_view bytes) {
  return write_file_atomically(file, std::span(&bytes, 1));
}

Result<void> write_file_atomically(const std::string& file, std::span<const std::string_view> pieces) {
  struct stat info;
  const bool exists = ::stat(file.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) return not_written(file, EISDIR);
  if (exists && !S_ISREG(info.st_mode)) {
    SHEAF_ASSIGN(auto out, open_output(file, 0));
    return write_each(out.get(), pieces) ? Result<void>() : Result<void>(not_written(file, errno));
  }
  SHEAF_ASSIGN(auto target, behind_links(file));
  const std::filesystem::path path = target, parent = path.parent_path();
  if (!path.has_filename()) return not_written(file, path.empty() ? ENOENT : EISDIR);
  const Descriptor folder(::open(parent.empty() ? "." : parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder.open()) return not_written(file, errno);
  return replace(folder.get(), path.filename().string(), file, pieces);
}

Result<void> write_file_atomically(const Folder& folder, const std::string& name, std::span<const std::string_view> pieces) {
  return replace(folder.descriptor(), name, folder.path_of(name), pieces);
}

Result<void> check_output(const std::string& file) {
  if (file.empty()) return {};
  struct stat info;
  if (::stat(file.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) return not_written(file, EISDIR);
    if (!S_ISREG(info.st_mode)) return {};
  }
  SHEAF_ASSIGN(auto target, behind_links(file));
  const std::filesystem::path folder = std::filesystem::path(target).parent_path();
  return ::access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) == 0 ? Result<void>()
                                                                           : Result<void>(not_written(file, errno));
}

}  // namespace sheaf
