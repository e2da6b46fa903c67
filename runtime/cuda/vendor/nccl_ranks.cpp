#include "runtime/cuda/vendor/nccl_ranks.h"

#include <charconv>
#include <cstring>
#include <utility>

namespace sheaf::cuda {
namespace {

std::string digits(const ncclUniqueId& id) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char byte : id.internal) {
    text += kDigits[static_cast<unsigned char>(byte) >> 4];
    text += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return text;
}

Result<ncclUniqueId> from_digits(const std::string& text) {
  ncclUniqueId id;
  if (text.size() != 2 * sizeof id.internal) return Error("NCCL: a communicator's name has another length");
  for (size_t i = 0; i < sizeof id.internal; ++i) {
    unsigned char byte = 0;
    const char* const begin = text.data() + 2 * i;
    if (std::from_chars(begin, begin + 2, byte, 16).ptr != begin + 2)
      return Error("NCCL: a communicator's name isn't of hexadecimal digits");
    std::memcpy(id.internal + i, &byte, 1);
  }
  return id;
}

/// It is done, or NCCL's own threads go on with it.
bool taken(ncclResult_t result) { return result == ncclSuccess || result == ncclInProgress; }

}  // namespace

Result<std::string> NcclRankCommunicator::new_name() {
  SHEAF_ASSIGN(auto functions, NcclFunctions::open());
  ncclUniqueId id;
  if (const auto result = functions->get_unique_id(&id); result != ncclSuccess)
    return functions->failure("ncclGetUniqueId", result);
  return digits(id);
}

Result<std::unique_ptr<NcclRankCommunicator>> NcclRankCommunicator::join(Driver& driver, int device, const std::string& name,
                                                                         int rank, int ranks) {
  SHEAF_ASSIGN(auto functions, NcclFunctions::open());
  SHEAF_ASSIGN(const auto id, from_digits(name));
  SHEAF_TRY(driver.make_current(device));
  std::unique_ptr<NcclRankCommunicator> made(new NcclRankCommunicator(driver, *functions, device));
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  const auto result = functions->init_rank_config(&made->comm_, ranks, id, rank, &config);
  if (!taken(result)) return functions->failure("ncclCommInitRankConfig", result);
  return made;
}

NcclRankCommunicator::~NcclRankCommunicator() {
  if (comm_ && driver_.make_current(device_)) nccl_.destroy(comm_);
}

Result<bool> NcclRankCommunicator::ready() {
  ncclResult_t state = ncclSuccess;
  if (const auto asked = nccl_.get_async_error(comm_, &state); asked != ncclSuccess)
    return nccl_.failure("ncclCommGetAsyncError", asked, comm_);
  if (!taken(state)) return nccl_.failure("NCCL between processes", state, comm_);
  return state == ncclSuccess;
}

Result<void> NcclRankCommunicator::exchange(std::span<const RankMessage> messages, void* const* buffers, Stream stream) {
  SHEAF_TRY(driver_.make_current(device_));
  auto* const to = reinterpret_cast<cudaStream_t>(stream);
  if (const auto result = nccl_.group_start(); result != ncclSuccess) return nccl_.failure("ncclGroupStart", result);
  const char* call = "";
  auto result = ncclSuccess;
  for (size_t i = 0; i < messages.size() && taken(result); ++i) {
    const RankMessage& message = messages[i];
    call = message.sends ? "ncclSend" : "ncclRecv";
    result = message.sends ? nccl_.send(buffers[i], message.bytes, ncclInt8, message.peer, comm_, to)
                           : nccl_.receive(buffers[i], message.bytes, ncclInt8, message.peer, comm_, to);
  }
  const auto ended = nccl_.group_end();
  if (!taken(result)) return nccl_.failure(call, result, comm_);
  if (!taken(ended)) return nccl_.failure("ncclGroupEnd", ended, comm_);
  return {};
}

Result<void> NcclRankCommunicator::finish() {
  SHEAF_TRY(driver_.make_current(device_));
  if (const auto result = nccl_.finalize(comm_); !taken(result)) return nccl_.failure("ncclCommFinalize", result, comm_);
  return {};
}

void NcclRankCommunicator::abort() {
  if (!comm_) return;
  (void)driver_.make_current(device_);  // what can't be made current is lost, and NCCL frees what it can
  nccl_.abort(std::exchange(comm_, nullptr));
}

}  // namespace sheaf::cuda
