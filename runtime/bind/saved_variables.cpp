#include "runtime/bind/saved_variables.h"

#include <set>

namespace sheaf {

Result<void> SavedVariables::add(NodeId variable) {
  Device& device = store_->device(variable);
  const size_t bytes = store_->spec(variable).bytes;
  if (bytes == 0 || elsewhere(device)) return {};
  SHEAF_ASSIGN(auto copy, DeviceBuffer::make(device, bytes));
  SHEAF_ASSIGN(auto queue, store_->queue(device));
  saved_.push_back({store_->data({variable, 0}), std::move(copy), bytes, queue});
  return {};
}

Result<void> SavedVariables::keep() {
  for (const Saved& saved : saved_) saved.queue->copy(saved.copy.get(), saved.home, {saved.bytes, 1, saved.bytes, saved.bytes});
  return finish();
}

Result<void> SavedVariables::restore() {
  for (const Saved& saved : saved_) saved.queue->copy(saved.home, saved.copy.get(), {saved.bytes, 1, saved.bytes, saved.bytes});
  store_->changed();
  return finish();
}

Result<void> SavedVariables::finish() {
  std::set<Queue*> queues;
  for (const Saved& saved : saved_) {
    if (!queues.insert(saved.queue).second) continue;
    if (auto done = saved.queue->synchronize(); !done) return done;
  }
  return {};
}

}  // namespace sheaf
