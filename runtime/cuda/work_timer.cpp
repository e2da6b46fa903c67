#include "runtime/cuda/work_timer.h"

#include <limits>

namespace sheaf::cuda {

WorkTimer::~WorkTimer() {
  Driver& driver = state_.driver();
  for (const Piece& piece : pieces_) {
    if (piece.begin) driver.destroy(piece.begin);
    if (piece.done) driver.destroy(piece.done);
    if (piece.moved) driver.destroy(piece.moved);
  }
  for (DriverEvent event : tries_) {
    if (event) driver.destroy(event);
  }
}

Result<void> WorkTimer::begin(Stream stream) {
  if (count_ == pieces_.size()) {
    Piece& piece = pieces_.emplace_back();
    SHEAF_ASSIGN(piece.begin, state_.driver().make_event(device_, true));
    SHEAF_ASSIGN(piece.done, state_.driver().make_event(device_, true));
  }
  Piece& piece = pieces_[count_++];
  piece.beside = false;
  stream_ = stream;
  return state_.driver().record(piece.begin, stream);
}

Result<void> WorkTimer::move(Stream stream) {
  if (!stream_ || stream_ == stream) return {};
  Piece& piece = pieces_[count_ - 1];
  if (!piece.moved) {
    SHEAF_ASSIGN(piece.moved, state_.driver().make_event(device_, true));
  }
  piece.beside = true;
  stream_ = stream;
  return state_.driver().record(piece.moved, stream);
}

Result<void> WorkTimer::end() {
  if (!stream_) return {};
  const Stream stream = std::exchange(stream_, nullptr);
  return state_.driver().record(pieces_[count_ - 1].done, stream);
}

Result<WorkTimer::Now> WorkTimer::now(Stream idle, Seconds deadline, const TickScale::Fixed& scale) {
  // The device reaches the event at some moment in between: the shorter that is, the better it is known. A thread that was held
  // up in each of the first tries goes on to the others.
  constexpr double kShort = 100e-6;
  constexpr size_t kAtLeast = 4;
  Now best;
  int64_t shortest = std::numeric_limits<int64_t>::max();
  for (size_t i = 0; i < tries_.size() && (i < kAtLeast || scale.seconds(shortest) > kShort); ++i) {
    DriverEvent& event = tries_[i];
    if (!event) {
      SHEAF_ASSIGN(event, state_.driver().make_event(device_, true));
    }
    const int64_t before = ticks();
    SHEAF_TRY(state_.driver().record(event, idle));
    SHEAF_TRY(wait_until(state_, deadline, [&] { return state_.driver().done(event); }));
    const int64_t took = ticks() - before;
    if (took >= shortest) continue;
    shortest = took;
    best = {event, before + took / 2};
  }
  return best;
}

Result<void> WorkTimer::read(Stream idle, Seconds deadline, std::span<WorkTimes> times) {
  const TickScale::Fixed scale = scale_.fix();
  SHEAF_ASSIGN(const Now reference, now(idle, deadline, scale));
  for (size_t i = 0; i < std::min(count_, times.size()); ++i) {
    const Piece& piece = pieces_[i];
    const DriverEvent first = piece.beside ? piece.moved : piece.begin;
    SHEAF_ASSIGN(const double begun, state_.driver().elapsed(first, reference.event));
    SHEAF_ASSIGN(const double took, state_.driver().elapsed(first, piece.done));
    const int64_t begin = reference.ticks - scale.ticks(begun);
    times[i] = {begin, begin + scale.ticks(took), piece.beside};
  }
  return {};
}

}  // namespace sheaf::cuda
