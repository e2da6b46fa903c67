#include "runtime/cuda/pinned_ring.h"

#include "runtime/machine/thread_pool.h"

namespace sheaf::cuda {

Result<std::shared_ptr<PinnedRing>> PinnedRing::open(std::shared_ptr<BackendState> state, int device, size_t bytes,
                                                     size_t pieces, Seconds deadline) {
  std::shared_ptr<PinnedRing> ring(new PinnedRing(std::move(state), bytes, pieces, deadline));
  Driver& driver = ring->state_->driver();
  SHEAF_ASSIGN(auto memory, driver.allocate_pinned(bytes));
  ring->memory_ = static_cast<char*>(memory);
  for (Piece& piece : ring->pieces_) {
    SHEAF_ASSIGN(auto event, driver.make_event(device));
    piece.event = event;
  }
  return ring;
}

PinnedRing::~PinnedRing() {
  for (Piece& piece : pieces_) {
    if (piece.event) state_->driver().destroy(piece.event);
  }
  // Giving memory back waits for the device; one that is lost may also still write to it.
  if (memory_ && !state_->lost()) state_->driver().release_pinned(memory_);
}

void PinnedRing::finish_oldest() {
  const Piece& piece = pieces_[ring_.oldest()];
  if (piece.target) unpack(piece.target, piece.pinned, piece.shape, team_size());
  ring_.give_back();
}

void PinnedRing::deliver(Piece& piece, void* target, const CopyPiece& shape) {
  const std::lock_guard lock(mutex_);
  piece.target = target;
  piece.shape = shape;
}

void PinnedRing::finish(uint64_t number) {
  const std::lock_guard lock(mutex_);
  while (!ring_.empty() && pieces_[ring_.oldest()].number <= number) finish_oldest();
}

Result<void> PinnedRing::wait_for(const Piece& piece) {
  Driver& driver = state_->driver();
  return wait_until(*state_, deadline_, [&] { return piece.stream ? driver.done(piece.stream) : driver.done(piece.event); });
}

Result<PinnedRing::Piece*> PinnedRing::take(size_t bytes, uint64_t number) {
  for (;;) {
    Piece oldest;
    {
      const std::lock_guard lock(mutex_);
      if (const auto taken = ring_.take(bytes)) {
        Piece& piece = pieces_[taken->entry];
        piece = {piece.event, nullptr, number, 0, 0, memory_ + taken->offset, nullptr, {}};
        return &piece;
      }
      oldest = pieces_[ring_.oldest()];
    }
    SHEAF_TRY(wait_for(oldest));
    finish(oldest.number);
  }
}

Result<void> PinnedRing::settle(const Rows& memory) {
  const auto touches = [&](const Piece& piece) {
    const CopyShape& shape = piece.shape.shape;
    return piece.target && overlap(memory, {static_cast<char*>(piece.target) + piece.shape.target_offset, shape.row_bytes,
                                            shape.rows, shape.target_pitch});
  };
  uint64_t last = 0;
  // They are finished in order, but are in two streams: each has to be waited for.
  for (;;) {
    Piece oldest;
    {
      const std::lock_guard lock(mutex_);
      for (size_t i = ring_.count(); last == 0 && i-- > 0;) {
        if (touches(pieces_[ring_.entry(i)])) last = pieces_[ring_.entry(i)].number;
      }
      if (last == 0 || ring_.empty() || pieces_[ring_.oldest()].number > last) return {};
      oldest = pieces_[ring_.oldest()];
    }
    SHEAF_TRY(wait_for(oldest));
    finish(oldest.number);
  }
}

}  // namespace sheaf::cuda
