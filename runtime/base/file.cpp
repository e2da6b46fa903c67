#include "runtime/base/file.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

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

bool write_all(int descriptor, std::span<const std::string_view> pieces) {
  for (std::string_view bytes : pieces) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
      if (written < 0 && errno != EINTR) return false;
      if (written > 0) bytes.remove_prefix(static_cast<size_t>(written));
    }
  }
  return true;
}

Result<void> write_in_place(const std::string& file, std::span<const std::string_view> pieces) {
  Descriptor out(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
  if (!out.open() || !write_all(out.get(), pieces)) return failure(file, "can't be written", errno);
  return {};
}

}  // namespace

uint64_t physical_memory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(page)
                               : uint64_t{1} << 32;
}

Result<InputFile> InputFile::open(const std::string& file) {
  // O_NONBLOCK: opening a pipe that nobody writes to must not hang; it is refused below.
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return failure(file, "can't be read", errno);
  InputFile opened(file, descriptor, 0);
  struct stat info;
  if (::fstat(descriptor, &info) != 0) return failure(file, "can't be read", errno);
  if (!S_ISREG(info.st_mode)) return Error({file, 0, 0}, "can't be read: not a regular file");
  opened.size_ = static_cast<uint64_t>(info.st_size);
  return opened;
}

InputFile::InputFile(InputFile&& other) noexcept
    : name_(std::move(other.name_)), descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_) {}

InputFile& InputFile::operator=(InputFile&& other) noexcept {
  std::swap(name_, other.name_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(size_, other.size_);
  return *this;
}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<void> InputFile::read_at(uint64_t offset, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t got = ::pread(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failure(name_, "can't be read", errno);
    if (got == 0)
      return Error({name_, 0, 0}, "ends at byte " + std::to_string(offset) + ", before its content does");
    bytes = bytes.subspan(static_cast<size_t>(got));
    offset += static_cast<uint64_t>(got);
  }
  return {};
}

Result<std::string> read_file(const std::string& file, uint64_t limit) {
  const Result<InputFile> in = InputFile::open(file);
  if (!in) return in.error();
  if (in->size() > limit)
    return Error({file, 0, 0}, "has " + std::to_string(in->size()) + " bytes; at most " +
                                   std::to_string(limit) + " are read");
  std::string bytes;
  try {
    bytes.resize(in->size());
  } catch (const std::exception&) {
    return Error({file, 0, 0},
                 "has " + std::to_string(in->size()) + " bytes; there is not enough memory for them");
  }
  if (auto done = in->read_at(0, std::as_writable_bytes(std::span(bytes))); !done) return done.error();
  return bytes;
}

Result<void> write_file_atomically(const std::string& file, std::string_view bytes) {
  return write_file_atomically(file, std::span(&bytes, 1));
}

Result<void> write_file_atomically(const std::string& file, std::span<const std::string_view> pieces) {
  struct stat info;
  const bool exists = ::stat(file.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) return failure(file, "can't be written", EISDIR);
  if (exists && !S_ISREG(info.st_mode)) return write_in_place(file, pieces);

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
  const bool written =
      write_all(out.get(), pieces) && ::fchmod(out.get(), mode) == 0 && ::fsync(out.get()) == 0;
  int code = written ? 0 : errno;
  if (out.release_and_close() != 0 && code == 0) code = errno;
  if (code == 0 && ::rename(temporary.c_str(), target.c_str()) != 0) code = errno;
  if (code != 0) {
    ::unlink(temporary.c_str());
    return failure(file, "can't be written", code);
  }
  // The name itself survives a power cut only once the folder is flushed; filesystems that can't do that are
  // fine.
  Descriptor parent(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (parent.open()) ::fsync(parent.get());
  return {};
}

Result<void> check_output(const std::string& file) {
  if (file.empty()) return {};
  const auto refuse = [&](int code) { return Error({file, 0, 0}, std::string("can't be written: ") + std::strerror(code)); };
  struct stat info;
  if (::stat(file.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) return refuse(EISDIR);
    if (!S_ISREG(info.st_mode)) return {};
  }
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  return ::access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) == 0 ? Result<void>() : Result<void>(refuse(errno));
}

}  // namespace sheaf
