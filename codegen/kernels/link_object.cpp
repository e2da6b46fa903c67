#include "codegen/kernels/native_object.h"

#include "runtime/base/memory_file.h"
#include "runtime/base/path_of_open_file.h"
#include "runtime/base/pipe.h"

#include "lld/Common/Driver.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <cstring>
#include <mutex>
#include <system_error>
#include <thread>

#include <unistd.h>

LLD_HAS_DRIVER(elf)

namespace sheaf::kernels {
namespace {

/// Collects everything written to a pipe until its writing end is closed. lld insists on a path for its output; it writes a
/// temporary file there and renames it, and a signal would leave that file behind. To anything but a regular file it writes
/// directly.
class PipeReader {
 public:
  PipeReader() {
    if (!pipe_.open()) return;
    try {
      thread_ = std::thread([this] { take_all(); });
    } catch (const std::system_error& none) {
      pipe_.to = Descriptor();
      errno = none.code().value();
    }
  }
  ~PipeReader() { stop(); }
  PipeReader(const PipeReader&) = delete;

  bool usable() const { return pipe_.to.open(); }
  Result<std::string> path() const { return path_of_open_file(pipe_.to.get()); }
  /// All that was written, or an error if it could not be read.
  Result<std::string> finish() {
    stop();
    if (problem_ != 0) return Error(std::string("the linker's output can't be read: ") + std::strerror(problem_));
    return std::move(bytes_);
  }

 private:
  void stop() {
    pipe_.to = Descriptor();
    if (thread_.joinable()) thread_.join();
  }
  void take_all() {
    char part[1 << 16];
    for (ssize_t n; (n = read(pipe_.from.get(), part, sizeof part)) != 0;) {
      if (n > 0) bytes_.append(part, static_cast<size_t>(n));
      // Data after a failure is still read, or the writer would block.
      if (n < 0 && errno != EINTR) problem_ = errno;
    }
  }

  Pipe pipe_;
  std::string bytes_;
  int problem_ = 0;  ///< errno
  std::thread thread_;
};

}  // namespace

Result<std::string> link_shared_object(const std::string& object) {
  static std::mutex turn;
  std::lock_guard lock(turn);
  static bool usable = true;  // if a failure has left lld in a bad state, it says so
  if (!usable) return Error("the linker failed before and cannot run again in this process");

  const auto input = memory_file(object);
  if (!input) return Error("the linker's input: " + input.error().message());
  PipeReader output;
  if (!output.usable()) return Error(std::string("no pipe for the linker's output: ") + std::strerror(errno));
  SHEAF_ASSIGN(const std::string output_path, output.path());
  SHEAF_ASSIGN(const std::string input_path, path_of_open_file(input->get()));
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
  // Without this, lld ends the process when it can't go on.
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
