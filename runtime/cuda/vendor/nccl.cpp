#include "runtime/cuda/vendor/nccl.h"

#include "runtime/cuda/vendor/shared_library.h"

namespace sheaf::cuda {
namespace {

Result<NcclFunctions> open_functions() {
  auto library = SharedLibrary::open("NCCL", {"libnccl.so.2"});
  if (!library) return library.error();
  NcclFunctions f;
  auto found = Symbols(*library)("ncclGetVersion", f.get_version)("ncclGetErrorString", f.get_error_string)(
                   "ncclGetLastError", f.get_last_error)("ncclCommInitAll", f.init_all)("ncclCommDestroy", f.destroy)(
                   "ncclCommAbort", f.abort)("ncclCommGetAsyncError", f.get_async_error)("ncclGroupStart", f.group_start)(
                   "ncclGroupEnd", f.group_end)("ncclBroadcast", f.broadcast)("ncclReduce", f.reduce)("ncclSend", f.send)(
                   "ncclRecv", f.receive)
                   .result();
  if (!found) return found.error();
  return f;
}

}  // namespace

Result<const NcclFunctions*> NcclFunctions::open() {
  static const Result<NcclFunctions> opened = open_functions();
  if (!opened) return opened.error();
  return &*opened;
}

std::string NcclFunctions::version() const {
  int number = 0;
  if (get_version(&number) != ncclSuccess) return "of unknown version";
  return std::to_string(number / 10000) + "." + std::to_string(number / 100 % 100) + "." + std::to_string(number % 100);
}

Error NcclFunctions::failure(const char* call, ncclResult_t result, ncclComm_t comm) const {
  std::string text = std::string(call) + ": " + get_error_string(result);
  const char* last = get_last_error(comm);
  if (last && *last) text += std::string(": ") + last;
  return Error(std::move(text));
}

Result<std::shared_ptr<Communicator>> open_nccl(Driver& driver, std::span<const int> devices, std::string& why) {
  auto made = NcclCommunicator::make(driver, devices);
  if (!made) {
    why = made.error().message();
    return std::shared_ptr<Communicator>();
  }
  return std::shared_ptr<Communicator>(std::move(*made));
}

}  // namespace sheaf::cuda
