#include "codegen/kernels/native_object.h"

#include "lld/Common/Driver.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <mutex>

#include <sys/mman.h>
#include <unistd.h>

LLD_HAS_DRIVER(elf)

namespace sheaf::kernels {
namespace {

/// A file descriptor that is closed in the end.
struct Descriptor {
  int fd;
  explicit Descriptor(int fd) : fd(fd) {}
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
  Descriptor(const Descriptor&) = delete;
};

/// A file in TMPDIR that is gone in the end. lld insists on a path it can rename a file to.
struct TemporaryFile {
  std::string path;
  int fd;
  TemporaryFile() {
    const char* folder = std::getenv("TMPDIR");
    path = std::string(folder && *folder ? folder : "/tmp") + "/sheaf-kernels-XXXXXX";
    fd = mkstemp(path.data());
    if (fd >= 0) close(fd);
  }
  ~TemporaryFile() {
    if (fd >= 0) unlink(path.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
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
  if (input.fd < 0 || !write_all(input.fd, object))
    return Error(std::string("no memory for the linker's input: ") + std::strerror(errno));
  TemporaryFile output;
  if (output.fd < 0)
    return Error("cannot make the linker's temporary file " + output.path + ": " + std::strerror(errno));

  std::string input_path = "/proc/self/fd/" + std::to_string(input.fd);
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
                             output.path.c_str()};
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  lld::Result result = lld::lldMain(arguments, stream, stream, {{lld::Gnu, &lld::elf::link}});
  usable = result.canRunAgain;
  if (result.retCode != 0) return Error("linking the generated kernels failed: " + messages);

  std::ifstream file(output.path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  if (!file || bytes.empty()) return Error("cannot read the linker's output " + output.path);
  return bytes;
}

}  // namespace sheaf::kernels
