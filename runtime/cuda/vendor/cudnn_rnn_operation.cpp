#include "runtime/cuda/vendor/cudnn_rnn_operation.h"

namespace sheaf::cuda {

Result<void> RnnOperation::enqueue(const Enqueue& at) {
  SHEAF_TRY(driver->make_current(device));
  SHEAF_TRY(copy(before, at));
  if (lengths) SHEAF_TRY(lengths->enqueue(*driver, at));
  if (descriptors) {
    if (!on || on->stream != at.stream) {
      SHEAF_ASSIGN(on, cudnn->on(at.stream));
    }
    SHEAF_TRY(backward ? gradients(at) : forward(at));
  }
  return copy(after, at);
}

Result<void> RnnOperation::copy(const std::vector<Copy>& copies, const Enqueue& at) {
  for (const auto& [from, to, bytes] : copies) {
    if (bytes == 0) continue;
    char *target = to.resolve(at), *source = from.resolve(at);
    auto done = source ? driver->copy(at.stream, target, device, source, device, {bytes, 1, bytes, bytes})
                       : driver->fill(at.stream, target, 0, bytes);
    if (!done) return done;
  }
  return {};
}

Result<void> RnnOperation::forward(const Enqueue& at) {
  const RnnDescriptors& d = *descriptors;
  const auto p = [&](MemoryRef where) { return static_cast<void*>(where.resolve(at)); };
  const auto status = d.functions->forward(on->handle, d.rnn, training ? CUDNN_FWD_MODE_TRAINING : CUDNN_FWD_MODE_INFERENCE,
                                           static_cast<const int32_t*>(p(length_list)), d.x, p(x), d.y, p(y), d.state, p(h0),
                                           p(h), lstm ? d.state : nullptr, p(c0), p(c), d.weight_bytes, p(weights),
                                           d.workspace_bytes, p(workspace), training ? d.reserve_bytes : 0, p(reserve));
  if (status != CUDNN_STATUS_SUCCESS) return d.functions->failure("cudnnRNNForward", status);
  return {};
}

Result<void> RnnOperation::gradients(const Enqueue& at) {
  const RnnDescriptors& d = *descriptors;
  const auto p = [&](MemoryRef where) { return static_cast<void*>(where.resolve(at)); };
  const auto* list = static_cast<const int32_t*>(p(length_list));
  // The first call leaves in the reserve space what the second one needs.
  auto status = d.functions->backward_data(on->handle, d.rnn, list, d.y, p(y), p(dy), d.x, p(dx), d.state, p(h0), p(dh), p(dh0),
                                           lstm ? d.state : nullptr, p(c0), p(dc), p(dc0), d.weight_bytes, p(weights),
                                           d.workspace_bytes, p(workspace), d.reserve_bytes, p(reserve));
  if (status != CUDNN_STATUS_SUCCESS) return d.functions->failure("cudnnRNNBackwardData_v8", status);
  status =
      d.functions->backward_weights(on->handle, d.rnn, CUDNN_WGRAD_MODE_ADD, list, d.x, p(x), d.state, p(h0), d.y, p(y),
                                    d.weight_bytes, p(dweights), d.workspace_bytes, p(workspace), d.reserve_bytes, p(reserve));
  if (status != CUDNN_STATUS_SUCCESS) return d.functions->failure("cudnnRNNBackwardWeights_v8", status);
  return {};
}

}  // namespace sheaf::cuda
