// Copies of a queue, and the order between its two streams.
#include "runtime/machine/thread_pool.h"
#include "runtime/cuda/queue.h"

#include <algorithm>
#include <cstring>

namespace sheaf::cuda {

Result<void> CudaQueue::join_until(const PinnedRing::Piece* fetch, const PinnedRing::Piece* result) {
  // The copy stream is in order: the newer of the two stands for both.
  const PinnedRing::Piece* newest = !fetch || (result && result->number > fetch->number) ? result : fetch;
  if (!newest || newest->number <= joined_) return {};
  compute_ahead_ = pending_ = true;
  SHEAF_TRY(driver_.wait(compute_, newest->event));
  joined_ = newest->number;
  return {};
}

Result<void> CudaQueue::join(const Range& range) {
  if (joined_ == pieces_ || range.begin == range.end) return {};
  const auto touches = [&](const PinnedRing::Piece& piece) { return piece.begin < range.end && range.begin < piece.end; };
  // What goes to the host may be read here too, but not written.
  return join_until(fetches_->newest(joined_, touches), range.writes ? results_->newest(joined_, touches) : nullptr);
}

Result<void> CudaQueue::join_all() {
  if (joined_ == pieces_) return {};
  const auto any = [](const PinnedRing::Piece& piece) { return piece.begin != piece.end; };  // of the copy stream
  SHEAF_TRY(join_until(fetches_->newest(joined_, any), results_->newest(joined_, any)));
  joined_ = pieces_;  // those that are in no ring any more are done
  return {};
}

Result<void> CudaQueue::follow_compute() {
  if (!compute_ahead_) return {};
  SHEAF_TRY(driver_.record(computed_, compute_));
  SHEAF_TRY(driver_.wait(copies_, computed_));
  compute_ahead_ = false;
  return {};
}

void CudaQueue::copy(void* target, const void* source, const CopyShape& given, bool guarded) {
  if (failure_ || !recording_error_.diagnostics.empty() || given.row_bytes == 0 || given.rows == 0) return;
  const CopyShape shape = normal_shape(given);
  const int to = state_->memory.device_of(target), from = state_->memory.device_of(source);
  if (to != kHost && from != kHost) {
    const char* what = to == from ? "a copy within the device" : "a copy between devices";
    keep(copy_on_devices(target, to, source, from, shape, guarded), what);
    return;
  }
  if (guarded || recording_) {
    fail(Error(guarded ? "it cannot be left out once it is in the queue" : "it cannot be recorded"),
         "a copy from or to the host's memory");
  } else if (to != kHost) {
    keep(copy_from_host(target, source, shape), "a copy from the host's memory");
  } else if (from != kHost) {
    keep(copy_to_host(target, source, shape), "a copy to the host's memory");
  } else {
    keep(copy_on_host(target, source, shape), "a copy within the host's memory");
  }
}

Result<void> CudaQueue::copy_on_devices(void* target, int target_device, const void* source, int source_device,
                                        const CopyShape& shape, bool guarded) {
  const auto at = reinterpret_cast<uintptr_t>(source), to = reinterpret_cast<uintptr_t>(target);
  const Range ranges[] = {{at, at + span_of(shape, shape.source_pitch), false},
                          {to, to + span_of(shape, shape.target_pitch), true}};
  for (const Range& range : ranges) {
    SHEAF_TRY(join(range));
  }
  bool reached = true;
  for (int other : {target_device, source_device}) {
    if (other == device_) continue;
    auto there = state_->reaches(device_, other);
    auto back = state_->reaches(other, device_);
    if (!there) return there.error();
    if (!back) return back.error();
    reached &= *there;
  }
  if (guarded && !reached) return Error("a copy that may be left out needs devices that reach each other's memory");
  const char* what = target_device == source_device ? "a copy within the device" : "a copy between devices";
  if (guarded && driver_.watches()) {
    accesses_.clear();
    for (const Range& range : ranges) {
      accesses_.push_back({reinterpret_cast<const void*>(range.begin), range.end - range.begin, range.writes});
    }
    accesses_.push_back({flag_, sizeof(int32_t), false});
    driver_.watch(compute_, accesses_, what);
  }
  pending_ = compute_ahead_ = true;
  auto done = guarded ? kernels_->copy(compute_, target, source, shape, flag_)
                      : driver_.copy(compute_, target, target_device, source, source_device, shape);
  if (!done) return done;
  if (!recording_) {
    progress_.enqueued(what, compute_);
    return {};
  }
  if (recorded_++ == 0) first_recorded_ = what;
  last_recorded_ = what;
  return {};
}

Result<Stream> CudaQueue::stream_for_copies(size_t bytes, const Range& range) {
  // A stream of their own is worth its events only to copies that take longer than those. Small ones are put among the work.
  constexpr size_t kSmall = size_t{64} << 10;
  if (bytes <= kSmall) {
    SHEAF_TRY(join(range));
    return compute_;
  }
  SHEAF_TRY(follow_compute());
  return copies_;
}

Result<void> CudaQueue::put(Stream stream, PinnedRing::Piece& piece, void* target, int target_device, const void* source,
                            int source_device, const CopyShape& shape) {
  const bool to_host = target_device == kHost;
  pending_ = true;
  if (stream == compute_) {
    if (joined_ == pieces_) joined_ = piece.number;
    pieces_ = piece.number;
    compute_ahead_ = true;
    SHEAF_TRY(driver_.copy(compute_, target, target_device, source, source_device, shape));
    // Others may wait for what goes to the host, also while this queue records: the stream itself cannot be asked then.
    if (to_host) return driver_.record(piece.event, compute_);
    piece.stream = compute_;
    return {};
  }
  piece.begin = reinterpret_cast<uintptr_t>(to_host ? source : target);
  piece.end = piece.begin + span_of(shape, to_host ? shape.source_pitch : shape.target_pitch);
  pieces_ = piece.number;
  copying_ = true;
  SHEAF_TRY(timer_.move(copies_));
  SHEAF_TRY(driver_.copy(copies_, target, target_device, source, source_device, shape));
  return driver_.record(piece.event, copies_);
}

bool CudaQueue::pinned(const void* memory, size_t bytes) {
  return driver_.is_pinned(memory) && driver_.is_pinned(static_cast<const char*>(memory) + bytes - 1);
}

void CudaQueue::copy_ahead(void* target, const void* source, const CopyShape& given) {
  if (failure_ || given.row_bytes == 0 || given.rows == 0) return;
  keep(copy_from_host(target, source, normal_shape(given), true), "a copy of the next run's data");
}

Result<void> CudaQueue::copy_from_host(void* target, const void* source, const CopyShape& shape, bool ahead) {
  // Another queue's results may still be on their way to what is read here.
  SHEAF_TRY(state_->settle({source, shape.row_bytes, shape.rows, shape.source_pitch}));
  const auto begin = reinterpret_cast<uintptr_t>(target);
  Stream stream = copies_;
  if (ahead) {
    SHEAF_TRY(follow_last_run());
  } else {
    SHEAF_ASSIGN(stream,
                 stream_for_copies(shape.row_bytes * shape.rows, {begin, begin + span_of(shape, shape.target_pitch), true}));
  }
  const int device = state_->memory.device_of(target);
  const bool direct = pinned(source, span_of(shape, shape.source_pitch));
  const TeamSize team(copy_threads_);  // the lane's own operations need none
  CopyPieces pieces(shape, direct ? SIZE_MAX : fetches_->most());
  for (CopyPiece part; pieces.next(part);) {
    SHEAF_ASSIGN(auto taken, fetches_->take(direct ? 0 : part.bytes(), pieces_ + 1));
    const void* from = static_cast<const char*>(source) + part.source_offset;
    CopyShape as = part.shape;
    if (!direct) {
      pack(taken->pinned, source, part, copy_threads_);
      from = taken->pinned;
      as.source_pitch = as.row_bytes;
    }
    void* to = static_cast<char*>(target) + part.target_offset;
    SHEAF_TRY(put(stream, *taken, to, device, from, kHost, as));
  }
  return {};
}

Result<void> CudaQueue::copy_to_host(void* target, const void* source, const CopyShape& shape) {
  // The queue's own results come to the host in order; another's must not come after.
  SHEAF_TRY(state_->settle({target, shape.row_bytes, shape.rows, shape.target_pitch}, results_.get()));
  const auto begin = reinterpret_cast<uintptr_t>(source);
  SHEAF_ASSIGN(auto stream,
               stream_for_copies(shape.row_bytes * shape.rows, {begin, begin + span_of(shape, shape.source_pitch), false}));
  const int device = state_->memory.device_of(source);
  const bool direct = pinned(target, span_of(shape, shape.target_pitch));
  CopyPieces pieces(shape, direct ? SIZE_MAX : results_->most());
  for (CopyPiece part; pieces.next(part);) {
    SHEAF_ASSIGN(auto taken, results_->take(direct ? 0 : part.bytes(), pieces_ + 1));
    void* to = static_cast<char*>(target) + part.target_offset;
    CopyShape as = part.shape;
    if (!direct) {
      to = taken->pinned;
      as.target_pitch = as.row_bytes;
    }
    const void* from = static_cast<const char*>(source) + part.source_offset;
    SHEAF_TRY(put(stream, *taken, to, kHost, from, device, as));
    if (!direct) results_->deliver(*taken, target, part);
  }
  return {};
}

void CudaQueue::fetch(void* target, const void* const* sources, std::span<const CopyPart> parts) {
  size_t bytes = 0;
  bool staged = state_->memory.device_of(target) != kHost;
  for (size_t i = 0; i < parts.size(); ++i) {
    bytes = std::max(bytes, parts[i].offset + parts[i].bytes);
    staged &= state_->memory.device_of(sources[i]) == kHost;
  }
  if (bytes == 0) return;
  if (staged && recording_) return keep(record_fetch(target, sources, parts, bytes), "copies from the host's memory");
  if (!staged || recording_ || bytes > fetches_->most()) return Queue::fetch(target, sources, parts);
  if (!failure_) keep(fetch_staged(target, sources, parts, bytes), "copies from the host's memory");
}

Result<void> CudaQueue::fetch_staged(void* target, const void* const* sources, std::span<const CopyPart> parts, size_t bytes) {
  for (size_t i = 0; i < parts.size(); ++i) {
    SHEAF_TRY(state_->settle({sources[i], parts[i].bytes, 1, parts[i].bytes}));
  }
  const auto begin = reinterpret_cast<uintptr_t>(target);
  SHEAF_ASSIGN(auto stream, stream_for_copies(bytes, {begin, begin + bytes, true}));
  SHEAF_ASSIGN(auto taken, fetches_->take(bytes, pieces_ + 1));
  char* pinned = taken->pinned;
  for (size_t i = 0; i < parts.size(); ++i) std::memcpy(pinned + parts[i].offset, sources[i], parts[i].bytes);
  return put(stream, *taken, target, state_->memory.device_of(target), pinned, kHost, {bytes, 1, bytes, bytes});
}

Result<void> CudaQueue::copy_on_host(void* target, const void* source, const CopyShape& shape) {
  SHEAF_TRY(state_->settle({source, shape.row_bytes, shape.rows, shape.source_pitch}));
  SHEAF_TRY(state_->settle({target, shape.row_bytes, shape.rows, shape.target_pitch}));
  for (size_t row = 0; row < shape.rows; ++row) {
    std::memcpy(static_cast<char*>(target) + row * shape.target_pitch,
                static_cast<const char*>(source) + row * shape.source_pitch, shape.row_bytes);
  }
  return {};
}

}  // namespace sheaf::cuda
