// Pinned host memory through which copies between a GPU and the caller's memory go, piece by piece.
#pragma once

#include "runtime/cuda/backend_state.h"
#include "runtime/cuda/staging.h"

#include <memory>
#include <mutex>
#include <vector>

namespace sheaf::cuda {

/// The pieces of one direction, of one queue. The queue's thread adds them; any thread may finish those that have reached the
/// host: they are then copied out to the caller's memory.
class PinnedRing {
 public:
  struct Piece {
    DriverEvent event = nullptr;   ///< recorded after the piece's copy, if `stream` is null
    Stream stream = nullptr;       ///< the copy is done when all of this stream is; only the queue's thread may ask
    uint64_t number = 0;           ///< of the queue's pieces of both directions
    uintptr_t begin = 0, end = 0;  ///< its range in the device's memory; empty: it is in the compute stream
    char* pinned = nullptr;
    void* target = nullptr;  ///< in the caller's memory, if it must be copied out to there
    CopyPiece shape;
  };

  /// `bytes` of pinned memory for at most `pieces` at a time. `deadline`: the queue's.
  static Result<std::shared_ptr<PinnedRing>> open(std::shared_ptr<BackendState> state, int device, size_t bytes, size_t pieces,
                                                  Seconds deadline);
  ~PinnedRing();

  /// The largest piece.
  size_t most() const { return bytes_ / 4; }
  /// Room for a piece; waits until there is some. `number`: greater than all before. 0 bytes: for memory that needs no
  /// staging. The queue may fill in the piece until it takes the next one. Errors: as wait_until().
  Result<Piece*> take(size_t bytes, uint64_t number);

  /// The piece, whose copy is in its stream, will be copied out to `target` with `shape`.
  void deliver(Piece& piece, void* target, const CopyPiece& shape);

  /// Finishes the pieces up to `number`, whose copies are done.
  void finish(uint64_t number);
  /// The queue's thread only: the number of the newest piece that `conflicts(piece)` is true of and that is newer than
  /// `after`; 0 if there is none.
  template <typename Conflicts>
  const Piece* newest(uint64_t after, Conflicts&& conflicts) {
    const std::lock_guard lock(mutex_);
    for (size_t i = ring_.count(); i-- > 0;) {
      const Piece& piece = pieces_[ring_.entry(i)];
      if (piece.number <= after) break;
      if (conflicts(piece)) return &piece;
    }
    return nullptr;
  }
  /// Waits for the pieces that are to be copied out to this memory, and finishes them.
  Result<void> settle(const Rows& memory);

 private:
  PinnedRing(std::shared_ptr<BackendState> state, size_t bytes, size_t pieces, Seconds deadline)
      : state_(std::move(state)), deadline_(deadline), bytes_(bytes), ring_(bytes, pieces), pieces_(pieces) {}
  void finish_oldest();  ///< mutex_ is held
  /// Waits for a piece's transfer. Pass a copy of the piece: others may reuse its entry meanwhile.
  Result<void> wait_for(const Piece& piece);

  std::shared_ptr<BackendState> state_;
  Seconds deadline_;
  size_t bytes_;
  char* memory_ = nullptr;
  std::mutex mutex_;
  Ring ring_;
  std::vector<Piece> pieces_;  ///< by entry of the ring
};

}  // namespace sheaf::cuda
