// Copies from and to the host's memory in a recording: through pinned memory of their own, which the host fills before each
// replay and copies out after it. A replay's work is done before the next run of its phase begins.
#include "runtime/cuda/queue.h"

#include <cstring>

namespace sheaf::cuda {
namespace {

constexpr size_t kTransferBytes = 8 * RecordsTransfers::kMostBytesOfAll;  // recordings of two phases; some are only tried
constexpr size_t kApart = 64;                                             // a cache line: two copies don't share one

}  // namespace

Result<void> CudaQueue::open_transfers() {
  if (transfers_) return {};
  SHEAF_ASSIGN(auto memory, driver_.allocate_pinned(kTransferBytes));
  transfers_ = static_cast<char*>(memory);
  return {};
}

Result<char*> CudaQueue::record_copy(size_t bytes, const std::function<Result<void>(char* pinned)>& copy) {
  if (!transfers_ || transfers_used_ + bytes > kTransferBytes) return Error("there is no pinned memory left for it");
  char* pinned = transfers_ + transfers_used_;
  transfers_used_ += (bytes + kApart - 1) / kApart * kApart;
  SHEAF_TRY(copy(pinned));
  last_recorded_ = "a copy from or to the host's memory";
  if (recorded_++ == 0) first_recorded_ = last_recorded_;
  return pinned;
}

Result<void> CudaQueue::record_fetch(void* target, const void* const* sources, std::span<const CopyPart> parts, size_t bytes) {
  SHEAF_ASSIGN(char* pinned, record_copy(bytes, [&](char* from) {
                 return driver_.copy(compute_, target, device_, from, kHost, {bytes, 1, bytes, bytes});
               }));
  recorded_fetches_.push_back({pinned, sources, parts});
  return {};
}

Result<void> CudaQueue::record_delivery(void* const* target, const void* source, size_t bytes) {
  SHEAF_ASSIGN(char* pinned, record_copy(bytes, [&](char* to) {
                 return driver_.copy(compute_, to, kHost, source, device_, {bytes, 1, bytes, bytes});
               }));
  recorded_deliveries_.push_back({pinned, target, bytes});
  return {};
}

void CudaQueue::deliver(void* const* target, const void* source, size_t bytes) {
  if (!recording_) return copy(*target, source, {bytes, 1, bytes, bytes}, false);
  if (recording_error_.diagnostics.empty()) keep(record_delivery(target, source, bytes), "a copy to the host's memory");
}

void CudaQueue::fill_in(const CudaRecordedWork& work) {
  for (const auto& [pinned, sources, parts] : work.fetched)
    for (size_t i = 0; i < parts.size(); ++i) std::memcpy(pinned + parts[i].offset, sources[i], parts[i].bytes);
  for (const auto& [pinned, target, bytes] : work.delivered) run().arriving.push_back({pinned, *target, bytes});
}

void CudaQueue::take_deliveries(int phase) {
  auto& arriving = runs_[static_cast<size_t>(phase)].arriving;
  for (const Delivery& delivery : arriving) std::memcpy(delivery.target, delivery.pinned, delivery.bytes);
  arriving.clear();
}

}  // namespace sheaf::cuda
