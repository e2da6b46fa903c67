// Pieces of copies, and the ring that they pass through.
#include "runtime/cuda/staging.h"

#include <gtest/gtest.h>

#include <deque>
#include <numeric>
#include <random>

namespace sheaf::cuda {
namespace {

TEST(CopyShapes, RowsThatTouchAreOne) {
  const CopyShape one = normal_shape({8, 3, 8, 8});
  EXPECT_EQ(one.row_bytes, 24U);
  EXPECT_EQ(one.rows, 1U);
  const CopyShape apart = normal_shape({8, 3, 8, 16});
  EXPECT_EQ(apart.rows, 3U);
  EXPECT_EQ(span_of(apart, apart.target_pitch), 40U);
  EXPECT_EQ(span_of(apart, apart.source_pitch), 24U);
}

TEST(Rows, ColumnsSideBySideDontOverlap) {
  char memory[400];
  const Rows left{memory, 4, 10, 16}, right{memory + 4, 12, 10, 16}, middle{memory + 3, 2, 10, 16};
  EXPECT_FALSE(overlap(left, right));
  EXPECT_FALSE(overlap(right, left));
  EXPECT_TRUE(overlap(left, middle));
  EXPECT_TRUE(overlap(middle, right));
  EXPECT_TRUE(overlap(left, {memory + 32, 1, 1, 1}));
  EXPECT_FALSE(overlap(left, {memory + 37, 11, 1, 11}));
  EXPECT_TRUE(overlap({memory + 37, 12, 1, 12}, left));
  EXPECT_FALSE(overlap(left, {memory + 148, 1, 1, 1})) << "behind the last";
  EXPECT_FALSE(overlap(left, {memory, 0, 5, 16}));
}

/// The copy's effect on a target full of -1, directly and through packed pieces.
void check_pieces(const CopyShape& shape, size_t most) {
  const size_t source_bytes = span_of(shape, shape.source_pitch), target_bytes = span_of(shape, shape.target_pitch);
  std::vector<unsigned char> source(source_bytes), straight(target_bytes, 255), through(target_bytes, 255);
  for (size_t i = 0; i < source_bytes; ++i) source[i] = static_cast<unsigned char>(i % 251);
  for (size_t row = 0; row < shape.rows; ++row) {
    for (size_t i = 0; i < shape.row_bytes; ++i) straight[row * shape.target_pitch + i] = source[row * shape.source_pitch + i];
  }
  size_t bytes = 0;
  CopyPieces pieces(shape, most);
  for (CopyPiece piece; pieces.next(piece);) {
    ASSERT_LE(piece.bytes(), most);
    ASSERT_GT(piece.bytes(), 0U);
    bytes += piece.bytes();
    std::vector<unsigned char> packed(piece.bytes());
    pack(packed.data(), source.data(), piece, 2);
    unpack(through.data(), packed.data(), piece, 2);
  }
  EXPECT_EQ(bytes, shape.row_bytes * shape.rows);
  EXPECT_EQ(through, straight) << shape.row_bytes << " x " << shape.rows << " in pieces of " << most;
}

TEST(CopyPieces, CoverTheCopyOnce) {
  for (size_t most : {size_t{1}, size_t{7}, size_t{64}, size_t{1000}}) {
    check_pieces({100, 1, 100, 100}, most);
    check_pieces({10, 10, 10, 10}, most);
    check_pieces({10, 10, 17, 10}, most);
    check_pieces({10, 10, 10, 23}, most);
    check_pieces({65, 4, 70, 80}, most);
    check_pieces({0, 4, 70, 80}, most);
    check_pieces({5, 0, 70, 80}, most);
  }
}

TEST(Ring, PiecesDontOverlapAndComeBackInOrder) {
  constexpr size_t kBytes = 64 * Ring::kAlignment, kEntries = 16;
  Ring ring(kBytes, kEntries);
  struct Held {
    size_t entry, begin, end;
  };
  std::deque<Held> held;
  std::mt19937 random(1);
  size_t refused = 0, taken_in_all = 0;
  for (int i = 0; i < 20000; ++i) {
    const size_t bytes = random() % 3 == 0 ? random() % 600 : random() % (kBytes / 4 + 1);
    const auto taken = ring.take(bytes);
    if (!taken) {
      ++refused;
      ASSERT_FALSE(held.empty()) << "an empty ring must have room for a quarter of it";
    } else {
      ++taken_in_all;
      ASSERT_EQ(taken->offset % Ring::kAlignment, 0U);
      ASSERT_LE(taken->offset + bytes, kBytes);
      for (const Held& other : held) {
        ASSERT_NE(other.entry, taken->entry);
        ASSERT_TRUE(bytes == 0 || other.begin == other.end || taken->offset >= other.end ||
                    taken->offset + bytes <= other.begin);
      }
      held.push_back({taken->entry, taken->offset, taken->offset + bytes});
    }
    ASSERT_EQ(ring.count(), held.size());
    if (!taken || random() % 2) {
      if (held.empty()) continue;
      ASSERT_EQ(ring.oldest(), held.front().entry);
      ring.give_back();
      held.pop_front();
    }
  }
  EXPECT_GT(refused, 100U);
  EXPECT_GT(taken_in_all, 5000U);
}

TEST(Ring, ItsEntriesAreLimited) {
  Ring ring(1024, 2);
  EXPECT_TRUE(ring.take(0));
  EXPECT_TRUE(ring.take(0));
  EXPECT_FALSE(ring.take(0));
  ring.give_back();
  EXPECT_TRUE(ring.take(1024));
  EXPECT_FALSE(ring.take(0));
}

}  // namespace
}  // namespace sheaf::cuda
