#include "codegen/kernels/native_object.h"

#include "runtime/base/descriptor.h"
#include "runtime/base/path_of_open_file.h"

#include "lld/Common/Driver.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <cstring>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

LLD_HAS_DRIVER(elf)

namespace sheaf::kernels {
namespace {

/// Takes what is written to a pipe until its writing end is closed. lld insists on a path for its output, puts a file there
/// under a temporary name and renames it, which a signal would leave behind; to what isn't a regular file it writes
/// directly.
class PipeReader {
 public:
  PipeReader() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    from_ = ends[0];
    to_ = ends[1];
    try {
      thread_ = std::thread([this] { take_all(); });
    } catch (const std::system_error& none) {
      close(std::exchange(to_, -1));
      errno = none.code().value();
    }
  }
  ~PipeReader() {
    stop();
    if (from_ >= 0) close(from_);
  }
  PipeReader(const PipeReader&) = delete;

  bool usable() const { return to_ >= 0; }
  Result<std::string> path() const { return path_of_open_file(to_); }
  /// All that was written. Error: it could not be read.
  Result<std::string> finish() {
    stop();
    if (problem_ != 0) return Error(std::string("the linker's output can't be read: ") + std::strerror(problem_));
    return std::move(bytes_);
  }

 private:
  void stop() {
    if (to_ >= 0) close(std::exchange(to_, -1));
    if (thread_.joinable()) thread_.join();
  }
  void take_all() {
    char part[1 << 16];
    for (ssize_t n; (n = read(from_, part, sizeof part)) != 0;) {
      if (n > 0) bytes_.append(part, static_cast<size_t>(n));
      // What comes after a failure is taken all the same, or the writer would wait.
      if (n < 0 && errno != EINTR) problem_ = errno;
    }
  }

  int from_ = -1, to_ = -1;
  std::string bytes_;
  int problem_ = 0;  ///< errno
  std::thread thread_;
};

bool write_all(int fd, const std::string& bytes) {
  for (size_t done = 0; done < bytes.size();) {
    ssize_t n = write(fd, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

}  // namespace

Result<std::string> link_shared_object(const std::string& object) {
  static std::mutex turn;
  std::lock_guard lock(turn);
  static bool usable = true;  // lld says so if a failure has left it in a bad state
  if (!usable) return Error("the linker failed before and cannot run again in this process");

  Descriptor input(memfd_create("kernels.o", MFD_CLOEXEC));
  if (!input.open() || !write_all(input.get(), object))
    return Error(std::string("no memory for the linker's input: ") + std::strerror(errno));
  PipeReader output;
  if (!output.usable()) return Error(std::string("no pipe for the linker's output: ") + std::strerror(errno));
  SHEAF_ASSIGN(const std::string output_path, output.path());
  SHEAF_ASSIGN(const std::string input_path, path_of_open_file(input.get()));
  const char* arguments[] = {"ld.lld",
                             "-shared",
                             "--no-undefined",
                             "--strip-all",
                             "--build-id=none",
                             "--threads=1",
                             "--hash-style=gnu",
                             "-z",
                             "noseparate-code",
                             "-z",
                             "max-page-size=4096",
                             "-z",
                             "norelro",
                             input_path.c_str(),
                             "-o",
                             output_path.c_str()};
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  // Without it lld ends the process where it can't go on.
  llvm::CrashRecoveryContext::Enable();
  lld::Result result = lld::lldMain(arguments, stream, stream, {{lld::Gnu, &lld::elf::link}});
  llvm::CrashRecoveryContext::Disable();
  usable = result.canRunAgain;
  if (result.retCode != 0) return Error("linking the generated kernels failed: " + llvm::StringRef(messages).rtrim().str());
  SHEAF_ASSIGN(std::string bytes, output.finish());
  if (bytes.empty()) return Error("linking the generated kernels failed: the linker wrote nothing");
  return bytes;
}

}  // namespace sheaf::kernels
