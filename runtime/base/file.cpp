#include "runtime/base/file.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sheaf {

namespace {

/// A file descriptor that is closed on every way out.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int get() const { return number_; }
  bool open() const { return number_ >= 0; }
  int release_and_close() {
    const int number = number_;
    number_ = -1;
    return ::close(number);
  }

 private:
  int number_;
};

Error failure(const std::string& file, const std::string& what, int code) {
  return Error({file, 0, 0}, what + ": " + std::strerror(code));
}

bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return false;
    }
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

Result<void> write_in_place(const std::string& file, std::string_view bytes) {
  Descriptor out(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
  if (!out.open()) return failure(file, "can't be written", errno);
  if (!write_all(out.get(), bytes)) return failure(file, "can't be written", errno);
  return {};
}

}  // namespace

Result<std::string> read_file(const std::string& file, uint64_t limit) {
  // O_NONBLOCK: opening a pipe that nobody writes to must not hang; it is refused below.
  Descriptor in(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!in.open()) return failure(file, "can't be read", errno);
  struct stat info;
  if (::fstat(in.get(), &info) != 0) return failure(file, "can't be read", errno);
  if (!S_ISREG(info.st_mode)) return Error({file, 0, 0}, "can't be read: not a regular file");
  const auto size = static_cast<uint64_t>(info.st_size);
  if (size > limit)
    return Error({file, 0, 0}, "has " + std::to_string(size) + " bytes; at most " + std::to_string(limit) + " are read");
  std::string bytes(size, '\0');
  size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t got = ::read(in.get(), bytes.data() + filled, bytes.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failure(file, "can't be read", errno);
    if (got == 0) break;
    filled += static_cast<size_t>(got);
  }
  bytes.resize(filled);
  return bytes;
}

Result<void> write_file_atomically(const std::string& file, std::string_view bytes) {
  struct stat info;
  const bool exists = ::stat(file.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) return failure(file, "can't be written", EISDIR);
  if (exists && !S_ISREG(info.st_mode)) return write_in_place(file, bytes);

  std::string target = file;
  if (exists) {
    std::error_code status;
    const auto resolved = std::filesystem::canonical(file, status);
    if (status) return failure(file, "can't be written", status.value());
    target = resolved.string();
  }
  const size_t slash = target.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : target.substr(0, slash + 1);
  std::string temporary = target + ".XXXXXX";
  Descriptor out(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!out.open()) return failure(file, "can't be written", errno);

  // mkostemp makes the file private; give it what a plain open() would have given, or the old file's mode.
  const mode_t mask = ::umask(0);
  ::umask(mask);
  const mode_t mode = exists ? info.st_mode & 07777 : 0666 & ~mask;
  const bool written = write_all(out.get(), bytes) && ::fchmod(out.get(), mode) == 0 && ::fsync(out.get()) == 0;
  int code = written ? 0 : errno;
  if (out.release_and_close() != 0 && code == 0) code = errno;
  if (code == 0 && ::rename(temporary.c_str(), target.c_str()) != 0) code = errno;
  if (code != 0) {
    ::unlink(temporary.c_str());
    return failure(file, "can't be written", code);
  }
  // The name itself survives a power cut only once the folder is flushed; filesystems that can't do that are fine.
  Descriptor parent(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (parent.open()) ::fsync(parent.get());
  return {};
}

}  // namespace sheaf
