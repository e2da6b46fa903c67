#include "runtime/cuda/staging.h"

#include "runtime/machine/thread_pool.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace sheaf::cuda {
namespace {

constexpr int64_t kParallelCopyBytes = 1 << 18;  ///< least bytes that a copying thread gets

void copy_rows(char* target, size_t target_pitch, const char* source, size_t source_pitch, const CopyPiece& piece,
               int threads) {
  if (piece.shape.rows == 1) {
    parallel_for(static_cast<int64_t>(piece.shape.row_bytes), kParallelCopyBytes, threads, [=](int64_t begin, int64_t end) {
      std::memcpy(target + begin, source + begin, static_cast<size_t>(end - begin));
    });
    return;
  }
  const auto grain = static_cast<int64_t>(kParallelCopyBytes / piece.shape.row_bytes + 1);
  parallel_for(static_cast<int64_t>(piece.shape.rows), grain, threads, [&](int64_t begin, int64_t end) {
    for (auto row = static_cast<size_t>(begin); row < static_cast<size_t>(end); ++row) {
      std::memcpy(target + row * target_pitch, source + row * source_pitch, piece.shape.row_bytes);
    }
  });
}

}  // namespace

CopyShape normal_shape(CopyShape shape) {
  if (shape.rows > 1 && shape.source_pitch == shape.row_bytes && shape.target_pitch == shape.row_bytes) {
    shape.row_bytes *= shape.rows;
    shape.rows = 1;
  }
  if (shape.rows == 1) shape.source_pitch = shape.target_pitch = shape.row_bytes;
  return shape;
}

size_t span_of(const CopyShape& shape, size_t pitch) {
  return shape.rows == 0 ? 0 : (shape.rows - 1) * pitch + shape.row_bytes;
}

bool overlap(const Rows& a, const Rows& b) {
  if (a.row_bytes == 0 || b.row_bytes == 0 || a.rows == 0 || b.rows == 0) return false;
  const auto at = reinterpret_cast<uintptr_t>(a.data), bt = reinterpret_cast<uintptr_t>(b.data);
  if (at >= bt + (b.rows - 1) * b.pitch + b.row_bytes || bt >= at + (a.rows - 1) * a.pitch + a.row_bytes) return false;
  const size_t pitch = a.rows > 1 ? a.pitch : b.pitch;
  if ((a.rows == 1 && b.rows == 1) || pitch == 0 || (b.rows > 1 && b.pitch != pitch)) return true;
  const size_t column = bt >= at ? (bt - at) % pitch : (pitch - (at - bt) % pitch) % pitch;  // of b, where a's is 0
  return column < a.row_bytes || column + b.row_bytes > pitch;
}

bool CopyPieces::next(CopyPiece& piece) {
  if (row_ >= shape_.rows || shape_.row_bytes == 0) return false;
  piece.source_offset = row_ * shape_.source_pitch + column_;
  piece.target_offset = row_ * shape_.target_pitch + column_;
  if (shape_.row_bytes > most_) {
    const size_t bytes = std::min(most_, shape_.row_bytes - column_);
    piece.shape = {bytes, 1, bytes, bytes};
    column_ += bytes;
    if (column_ == shape_.row_bytes) column_ = 0, ++row_;
    return true;
  }
  const size_t rows = std::min(shape_.rows - row_, most_ / shape_.row_bytes);
  piece.shape = {shape_.row_bytes, rows, shape_.source_pitch, shape_.target_pitch};
  if (rows == 1) piece.shape.source_pitch = piece.shape.target_pitch = shape_.row_bytes;
  row_ += rows;
  return true;
}

void pack(void* packed, const void* source, const CopyPiece& piece, int threads) {
  copy_rows(static_cast<char*>(packed), piece.shape.row_bytes, static_cast<const char*>(source) + piece.source_offset,
            piece.shape.source_pitch, piece, threads);
}

void unpack(void* target, const void* packed, const CopyPiece& piece, int threads) {
  copy_rows(static_cast<char*>(target) + piece.target_offset, piece.shape.target_pitch, static_cast<const char*>(packed),
            piece.shape.row_bytes, piece, threads);
}

std::optional<Ring::Taken> Ring::take(size_t bytes) {
  if (count_ == used_by_.size()) return std::nullopt;
  if (used_ == 0) head_ = 0;
  size_t need = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  size_t offset = head_;
  if (offset + need > bytes_) {  // the piece goes to the ring's start; what is left at its end counts to it
    need += bytes_ - head_;
    offset = 0;
  }
  if (used_ + need > bytes_) return std::nullopt;
  const size_t entry = (first_ + count_++) % used_by_.size();
  used_by_[entry] = need;
  used_ += need;
  head_ = (head_ + need) % bytes_;
  return Taken{entry, offset};
}

void Ring::give_back() {
  used_ -= used_by_[first_];
  first_ = (first_ + 1) % used_by_.size();
  --count_;
}

}  // namespace sheaf::cuda
