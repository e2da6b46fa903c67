#include "runtime/bind/transfer.h"

namespace sheaf {
namespace {

bool on_host(const Device& device) { return device.info().shares_host_memory; }

/// Copies the bytes unchanged. A CPU's queue reaches only host memory, any other queue also the host's.
Result<void> copy_bytes(const TensorPlace& from, const TensorPlace& to) {
  Queue& queue = on_host(to.device) ? from.queue : to.queue;
  queue.copy(to.data, from.data, {to.spec.bytes, 1, to.spec.bytes, to.spec.bytes});
  return queue.synchronize();
}

/// Within a memory.
Result<void> reorder(const TensorPlace& from, const TensorPlace& to) {
  SHEAF_ASSIGN(auto prepared, to.device.prepare_reorder(from.spec, to.spec, to.device.info().cores));
  SHEAF_ASSIGN(auto scratch, DeviceBuffer::make(to.device, prepared.scratch_bytes));
  void* buffers[] = {from.data, to.data};
  to.queue.launch(*prepared.executable, buffers, scratch.get());
  return to.queue.synchronize();
}

}  // namespace

Result<DeviceBuffer> DeviceBuffer::make(Device& device, size_t bytes) {
  SHEAF_ASSIGN(auto memory, device.allocate(bytes));
  return DeviceBuffer(device, memory);
}

bool share_formats(const Device& a, const Device& b) { return a.info().kind == b.info().kind; }

Result<void> transfer(const TensorPlace& from, const TensorPlace& to) {
  if (to.spec.bytes == 0) return {};
  const bool same_memory = from.device.memory_space() == to.device.memory_space();
  if (same_format(from.spec, to.spec) && (from.spec.plain() || share_formats(from.device, to.device)))
    return copy_bytes(from, to);
  if (same_memory) return reorder(from, to);
  // Formats belong to a backend: each side converts its own.
  const TensorPlace& side = from.spec.plain() ? to : from;
  const TensorSpec plain = plain_tensor(from.spec.dtype, from.spec.dims);
  SHEAF_ASSIGN(auto buffer, DeviceBuffer::make(side.device, plain.bytes));
  const TensorPlace between{side.device, side.queue, plain, buffer.get()};
  if (auto ok = transfer(from, between); !ok) return ok;
  return transfer(between, to);
}

}  // namespace sheaf
