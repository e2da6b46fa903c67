#include "runtime/base/file.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace sheaf {

namespace {

Error not_read(const std::string& file, int code) {
  return Error({file, 0, 0}, std::string("can't be read: ") + std::strerror(code));
}

/// O_NONBLOCK: opening a pipe that nobody writes to must not hang.
constexpr int kReading = O_RDONLY | O_CLOEXEC | O_NONBLOCK;

}  // namespace

uint64_t physical_memory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(page) : uint64_t{1} << 32;
}

Result<Folder> Folder::open(const std::string& path) {
  Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!descriptor.open()) return not_read(path, errno);
  return Folder(path, std::move(descriptor));
}

Result<InputFile> InputFile::open(const std::string& file) { return take(file, Descriptor(::open(file.c_str(), kReading))); }

Result<InputFile> InputFile::open(const Folder& folder, const std::string& name) {
  return take(folder.path_of(name), Descriptor(::openat(folder.descriptor(), name.c_str(), kReading)));
}

Result<InputFile> InputFile::take(std::string name, Descriptor descriptor) {
  struct stat info;
  if (!descriptor.open() || ::fstat(descriptor.get(), &info) != 0) return not_read(name, errno);
  if (!S_ISREG(info.st_mode)) return Error({name, 0, 0}, "can't be read: not a regular file");
  return InputFile(std::move(name), std::move(descriptor), static_cast<uint64_t>(info.st_size));
}

Result<void> InputFile::read_at(uint64_t offset, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t got = ::pread(descriptor_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return not_read(name_, errno);
    if (got == 0) return Error({name_, 0, 0}, "ends at byte " + std::to_string(offset) + ", before its content does");
    bytes = bytes.subspan(static_cast<size_t>(got));
    offset += static_cast<uint64_t>(got);
  }
  return {};
}

Result<std::string> read_file(const std::string& file, uint64_t limit) {
  SHEAF_ASSIGN(const auto in, InputFile::open(file));
  if (in.size() > limit)
    return Error({file, 0, 0}, "has " + std::to_string(in.size()) + " bytes; at most " + std::to_string(limit) + " are read");
  std::string bytes;
  try {
    bytes.resize(in.size());
  } catch (const std::exception&) {
    return Error({file, 0, 0}, "has " + std::to_string(in.size()) + " bytes; there is not enough memory for them");
  }
  SHEAF_TRY(in.read_at(0, std::as_writable_bytes(std::span(bytes))));
  return bytes;
}

Result<std::string> read_stream(const std::string& file, uint64_t limit) {
  const Descriptor in(::open(file.c_str(), kReading));
  struct stat info;
  if (!in.open() || ::fstat(in.get(), &info) != 0) return not_read(file, errno);
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::duration<double>(kPatienceSeconds);
  std::string bytes;
  while (bytes.size() <= limit) {
    constexpr uint64_t kAtOnce = 1 << 16;
    const size_t before = bytes.size();
    bytes.resize(before + static_cast<size_t>(std::min(kAtOnce, limit + 1 - before)));
    const ssize_t got = ::read(in.get(), bytes.data() + before, bytes.size() - before);
    const int code = errno;
    bytes.resize(before + static_cast<size_t>(std::max<ssize_t>(got, 0)));
    if (got > 0 || (got < 0 && code == EINTR)) continue;
    if (got < 0 && code == EAGAIN) {  // somebody has it open and hasn't written yet
      pollfd wanted{in.get(), POLLIN, 0};
      ::poll(&wanted, 1, -1);
      continue;
    }
    if (got < 0) return not_read(file, code);
    if (before > 0 || !S_ISFIFO(info.st_mode)) break;
    if (std::chrono::steady_clock::now() > give_up) return Error({file, 0, 0}, "can't be read: nobody writes to this pipe");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return bytes;
}

}  // namespace sheaf
