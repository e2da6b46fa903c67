// Each operation has one row, and cross-references between rows hold.
#include "runtime/ops/traits.h"
#include "runtime/plan/op_list.h"

#include <gtest/gtest.h>

#include <map>

namespace sheaf {
namespace {

TEST(OpTraits, EachOperationHasOneRow) {
  std::map<Op, int> rows;
  for (const auto family : {movements(), linear_ops(), convolutions(), normalizations(), poolings(), recurrent_ops(), counts()})
    for (const OpTraits& row : family) ++rows[row.op];
  for (size_t i = 0; i < kOps; ++i) {
    const Op op = static_cast<Op>(i);
    EXPECT_EQ(rows[op], 1) << to_string(op);
    EXPECT_EQ(traits(op).op, op);
    EXPECT_EQ(op_from_name(to_string(op)), op);
  }
  EXPECT_EQ(op_from_name("teleport"), std::nullopt);
}

TEST(OpTraits, LibraryOperationsSayTheirOperandsShapesAndCost) {
  for (size_t i = 0; i < kOps; ++i) {
    const OpTraits& row = traits(static_cast<Op>(i));
    EXPECT_EQ(row.source == Source::library, row.shapes != nullptr) << to_string(row.op);
    EXPECT_EQ(row.movement.route == Route::none, row.movement.carries == Carries::nothing) << to_string(row.op);
    if (row.source != Source::library) continue;
    EXPECT_FALSE(row.roles.empty()) << to_string(row.op);
    EXPECT_TRUE(row.flops) << to_string(row.op);
    EXPECT_FALSE(moves(row.op)) << to_string(row.op);
    if (!row.training) continue;
    EXPECT_EQ(traits(*row.training).pass, Pass::training) << to_string(row.op);
    EXPECT_EQ(traits(*row.training).shapes, row.shapes) << to_string(row.op);
  }
}

}  // namespace
}  // namespace sheaf
