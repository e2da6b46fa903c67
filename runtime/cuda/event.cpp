#include "runtime/cuda/event.h"

namespace sheaf::cuda {

Result<std::unique_ptr<CudaEvent>> CudaEvent::make(std::shared_ptr<BackendState> state, int device) {
  std::unique_ptr<CudaEvent> event(new CudaEvent(std::move(state)));
  for (DriverEvent* one : {&event->computed, &event->copied}) {
    SHEAF_ASSIGN(auto made, event->state_->driver().make_event(device));
    *one = made;
  }
  return event;
}

CudaEvent::~CudaEvent() {
  for (DriverEvent event : {computed, copied}) {
    if (event) state_->driver().destroy(event);
  }
}

Result<void> CudaEvent::synchronize() {
  if (failure) return *failure;
  Driver& driver = state_->driver();
  const auto is_done = [&]() -> Result<bool> {
    auto done = driver.done(computed);
    if (!done || !*done || !copies) return done;
    return driver.done(copied);
  };
  SHEAF_TRY(wait_until(*state_, deadline, is_done));
  if (results) results->finish(results_until);
  return {};
}

}  // namespace sheaf::cuda
