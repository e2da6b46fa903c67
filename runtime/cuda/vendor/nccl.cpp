#include "runtime/cuda/vendor/nccl.h"

#include "runtime/cuda/vendor/shared_library.h"

namespace sheaf::cuda {
namespace {

Result<NcclFunctions> open_nccl_functions() {
  SHEAF_ASSIGN(auto library, SharedLibrary::open("NCCL", {"libnccl.so.2"}));
  NcclFunctions f;
  SHEAF_TRY(Symbols(library)
                .require("ncclGetVersion", f.get_version)
                .require("ncclGetErrorString", f.get_error_string)
                .require("ncclGetLastError", f.get_last_error)
                .require("ncclCommInitAll", f.init_all)
                .require("ncclGetUniqueId", f.get_unique_id)
                .require("ncclCommInitRankConfig", f.init_rank_config)
                .require("ncclCommFinalize", f.finalize)
                .require("ncclCommDestroy", f.destroy)
                .require("ncclCommAbort", f.abort)
                .require("ncclCommGetAsyncError", f.get_async_error)
                .require("ncclGroupStart", f.group_start)
                .require("ncclGroupEnd", f.group_end)
                .require("ncclBroadcast", f.broadcast)
                .require("ncclReduce", f.reduce)
                .require("ncclSend", f.send)
                .require("ncclRecv", f.receive)
                .result());
  return f;
}

}  // namespace

Result<const NcclFunctions*> NcclFunctions::open() {
  static const Result<NcclFunctions> opened = open_nccl_functions();
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
