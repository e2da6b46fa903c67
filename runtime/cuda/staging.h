// The arithmetic of staging: the pieces of a copy, and the place of each in a ring of pinned memory.
#pragma once

#include "runtime/device/device.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace sheaf::cuda {

/// A copy's shape in canonical form: one row, if the rows touch on both sides.
CopyShape normal_shape(CopyShape shape);
/// Bytes from a copy's first to its last, at an end with this pitch.
size_t span_of(const CopyShape& shape, size_t pitch);

/// Rows of memory: one end of a copy.
struct Rows {
  const void* data = nullptr;
  size_t row_bytes = 0, rows = 1, pitch = 0;
};
/// Whether they share a byte. Adjacent columns of one matrix don't; if the pitches differ,
/// interleaved ones count as sharing.
bool overlap(const Rows& a, const Rows& b);

/// Part of a copy: offsets of its first byte, and its shape in the caller's pitches.
struct CopyPiece {
  size_t target_offset = 0, source_offset = 0;
  CopyShape shape;
  size_t bytes() const { return shape.row_bytes * shape.rows; }
};

/// Cuts a copy into pieces of at most `most` bytes: whole rows if one fits, else parts of a row.
class CopyPieces {
 public:
  CopyPieces(const CopyShape& shape, size_t most) : shape_(normal_shape(shape)), most_(most) {}
  bool next(CopyPiece& piece);

 private:
  CopyShape shape_;
  size_t most_;
  size_t row_ = 0, column_ = 0;
};

/// The rows of a piece, packed without gaps, from and to a caller's memory.
void pack(void* packed, const void* source, const CopyPiece& piece, int threads);
void unpack(void* target, const void* packed, const CopyPiece& piece, int threads);

/// A ring of bytes and of entries, each of which holds a piece of it. They are returned in the order in which they were taken.
class Ring {
 public:
  Ring(size_t bytes, size_t entries) : bytes_(bytes), used_by_(entries, 0) {}
  struct Taken {
    size_t entry = 0;   ///< less than the number of entries
    size_t offset = 0;  ///< a multiple of kAlignment
  };
  /// `bytes` in one piece, none if that is 0. Nothing if there is no room now; an empty ring has room for anything up to
  /// its size.
  std::optional<Taken> take(size_t bytes);
  /// The oldest entry and its bytes.
  void give_back();

  bool empty() const { return count_ == 0; }
  size_t count() const { return count_; }
  size_t oldest() const { return first_; }  ///< entry
  /// The entry that was taken `i` entries after the oldest.
  size_t entry(size_t i) const { return (first_ + i) % used_by_.size(); }

  static constexpr size_t kAlignment = 256;

 private:
  size_t bytes_;
  std::vector<size_t> used_by_;  ///< by entry: its bytes, with what was left over before it at the ring's end
  size_t head_ = 0, used_ = 0;   ///< the next byte; bytes in use
  size_t first_ = 0, count_ = 0;
};

}  // namespace sheaf::cuda
