#include "runtime/bind/chunk.h"
#include "runtime/plan/op_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace sheaf {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ChunkSizes, AreThoseOfTorchChunk) {
  EXPECT_THAT(chunk_sizes(30, 3), ElementsAre(10, 10, 10));
  EXPECT_THAT(chunk_sizes(10, 3), ElementsAre(4, 4, 2));
  EXPECT_THAT(chunk_sizes(30, 8), ElementsAre(4, 4, 4, 4, 4, 4, 4, 2));
  EXPECT_THAT(chunk_sizes(10, 8), ElementsAre(2, 2, 2, 2, 2));
  EXPECT_THAT(chunk_sizes(9, 4), ElementsAre(3, 3, 3));
  EXPECT_THAT(chunk_sizes(5, 4), ElementsAre(2, 2, 1));
  EXPECT_THAT(chunk_sizes(2, 4), ElementsAre(1, 1));
  EXPECT_THAT(chunk_sizes(17, 8), ElementsAre(3, 3, 3, 3, 3, 2));
  EXPECT_THAT(chunk_sizes(33, 8), ElementsAre(5, 5, 5, 5, 5, 5, 3));
  EXPECT_THAT(chunk_sizes(0, 4), ElementsAre(0));
  EXPECT_THAT(chunk_sizes(7, 1), ElementsAre(7));
}

// The definition: c = ceil(B/N), k = ceil(B/c), all of size c but the last.
TEST(Runs, AreEquallyLongButForTheLastOnes) {
  EXPECT_EQ(run_of(10, 3, 0), (sheaf::Run{0, 4}));
  EXPECT_EQ(run_of(10, 3, 1), (sheaf::Run{4, 4}));
  EXPECT_EQ(run_of(10, 3, 2), (sheaf::Run{8, 2}));
  EXPECT_EQ(run_of(5, 4, 2), (sheaf::Run{4, 1}));
  EXPECT_EQ(run_of(5, 4, 3), (sheaf::Run{5, 0}));
  EXPECT_EQ(run_of(1, 3, 0), (sheaf::Run{0, 1}));
  EXPECT_EQ(run_of(0, 2, 1), (sheaf::Run{0, 0}));
}

TEST(Runs, HaveEachElementOnce) {
  for (int64_t elements = 0; elements < 40; ++elements) {
    for (int64_t members = 1; members < 12; ++members) {
      int64_t next = 0;
      for (int64_t i = 0; i < members; ++i) {
        EXPECT_EQ(run_of(elements, members, i).begin, next) << elements << " over " << members;
        next += run_of(elements, members, i).count;
      }
      EXPECT_EQ(next, elements) << members;
    }
  }
}

TEST(ChunkSizes, FollowTheDefinitionForAllSmallSizes) {
  for (int64_t total = 1; total <= 100; ++total)
    for (int64_t devices = 1; devices <= 12; ++devices) {
      const auto sizes = chunk_sizes(total, devices);
      const int64_t size = (total + devices - 1) / devices;
      ASSERT_EQ(static_cast<int64_t>(sizes.size()), (total + size - 1) / size) << total << " on " << devices;
      for (size_t i = 0; i + 1 < sizes.size(); ++i) ASSERT_EQ(sizes[i], size);
      ASSERT_GT(sizes.back(), 0);
      ASSERT_EQ(std::accumulate(sizes.begin(), sizes.end(), int64_t{0}), total);
    }
}

TEST(ChunkSizes, NeedNoMoreChunksThanRowsForVeryManyDevices) {
  EXPECT_EQ(chunk_sizes(3, INT64_MAX).size(), 3u);
  EXPECT_THAT(chunk_sizes(INT64_MAX, 2), ElementsAre(INT64_MAX / 2 + 1, INT64_MAX / 2));
}

/// Two regions: 0 splits x (`of_x`) and y (`of_y`), 1 splits nothing.
struct Example {
  Example(Extent of_x, Extent of_y) {
    plan.regions = {{"net", {}, {}, 0, {"m.json", 7, 3}}, {"free", {}, {}, 0, {"m.json", 9, 3}}};
    program.symbols = {{"batch", Symbol::batch, -1, {}},
                       {"replicas_net", Symbol::replicas, 0, {}},
                       {"chunk_x", Symbol::chunk, 0, of_x},
                       {"chunk_y", Symbol::chunk, 0, of_y},
                       {"replicas_free", Symbol::replicas, 1, {}}};
    const Place in_net{Place::region, 0};
    program.values = {{"x", DType::float32, {of_x, 5}, {}, Value::input, "", {}},
                      {"y", DType::float32, {of_y, 5}, {}, Value::input, "", {}},
                      {"net.x", DType::float32, {Extent::symbol("chunk_x"), 5}, in_net, Value::temporary, "", {}},
                      {"net.y", DType::float32, {Extent::symbol("chunk_y"), 5}, in_net, Value::temporary, "", {}}};
    for (int i = 0; i < 2; ++i) {
      Step scatter;
      scatter.op = Op::scatter;
      scatter.inputs = {i};
      scatter.outputs = {i + 2};
      scatter.place = in_net;
      program.steps.push_back(scatter);
    }
  }
  Result<SymbolTable> build(int64_t batch, std::vector<int64_t> devices) const {
    return SymbolTable::build(plan, program, batch, devices);
  }
  Plan plan;
  Program program;
};

TEST(SymbolTable, GivesEachReplicaItsChunk) {
  const Example example(Extent::symbol("batch"), Extent::symbol("batch", 2));
  const auto table = example.build(10, {3, 4});
  ASSERT_TRUE(table);
  EXPECT_EQ(table->batch(), 10);
  EXPECT_EQ(table->replicas(0), 3);
  EXPECT_THAT(table->chunks("chunk_x"), ElementsAre(4, 4, 2));
  EXPECT_THAT(table->chunks("chunk_y"), ElementsAre(7, 7, 6));
  EXPECT_TRUE(table->chunks("batch").empty());
  EXPECT_THAT(*table->dims(example.program.values[2], 2), ElementsAre(2, 5));
  EXPECT_THAT(*table->dims(example.program.values[3], 0), ElementsAre(7, 5));
  EXPECT_THAT(*table->dims(example.program.values[0]), ElementsAre(10, 5));
}

TEST(SymbolTable, ARegionWithoutChunksHasAReplicaOnEachDevice) {
  const auto table = Example(Extent::symbol("batch"), Extent::symbol("batch")).build(2, {4, 4});
  ASSERT_TRUE(table);
  EXPECT_EQ(table->replicas(0), 2);
  EXPECT_EQ(table->replicas(1), 4);
  EXPECT_EQ(*table->evaluate(Extent::symbol("replicas_net", 3), {}), 6);
  EXPECT_EQ(*table->evaluate(Extent::symbol("replicas_free") + Extent(1), {}), 5);
}

TEST(SymbolTable, NoRowsAreOneEmptyReplica) {
  const Example example(Extent::symbol("batch"), Extent::symbol("batch"));
  const auto table = example.build(0, {4, 1});
  ASSERT_TRUE(table);
  EXPECT_EQ(table->replicas(0), 1);
  EXPECT_THAT(*table->dims(example.program.values[2], 0), ElementsAre(0, 5));
}

TEST(SymbolTable, RefusesInputsThatSplitIntoDifferentNumbersOfChunks) {
  const Example example(Extent::symbol("batch"), Extent(3));
  EXPECT_TRUE(example.build(5, {3, 1})) << "5 rows and 3 rows are three chunks each";
  const auto table = example.build(2, {3, 1});
  ASSERT_FALSE(table);
  const std::string text = to_string(table.error());
  EXPECT_THAT(text, testing::StartsWith("m.json:7:3: error: 'net'"));
  EXPECT_THAT(text, HasSubstr("'x' (2 rows)"));
  EXPECT_THAT(text, HasSubstr("'y' (3 rows)"));
  EXPECT_THAT(text, HasSubstr("2 and 3 chunks"));
}

TEST(SymbolTable, AChunkMayDependOnAnotherRegionsReplicas) {
  Example example(Extent::symbol("batch"), Extent::symbol("batch"));
  example.program.symbols.push_back({"chunk_free", Symbol::chunk, 1, Extent::symbol("replicas_net", 5)});
  const auto table = example.build(10, {3, 2});
  ASSERT_TRUE(table);
  EXPECT_THAT(table->chunks("chunk_free"), ElementsAre(8, 7));
  EXPECT_EQ(table->replicas(1), 2);
}

TEST(SymbolTable, AChunkHasNoValueElsewhere) {
  const auto table = Example(Extent::symbol("batch"), Extent::symbol("batch")).build(10, {3, 4});
  ASSERT_TRUE(table);
  const Extent chunk = Extent::symbol("chunk_x");
  EXPECT_TRUE(table->evaluate(chunk, {Place::region, 0}, 2));
  EXPECT_FALSE(table->evaluate(chunk, {Place::region, 0}, 3));
  EXPECT_FALSE(table->evaluate(chunk, {Place::region, 0}, -1));
  EXPECT_FALSE(table->evaluate(chunk, {Place::region, 1}, 0));
  EXPECT_FALSE(table->evaluate(chunk, {Place::device, 0}, 0));
  EXPECT_FALSE(table->evaluate(Extent::symbol("unknown"), {}, 0));
}

TEST(SymbolTable, RefusesSizesOutOfBounds) {
  const Example example(Extent::symbol("batch"), Extent::symbol("batch"));
  EXPECT_FALSE(example.build(-1, {3, 4}));
  EXPECT_FALSE(example.build(INT64_MAX, {3, 4}));
  EXPECT_FALSE(example.build(3, {3}));
  EXPECT_FALSE(example.build(3, {0, 1}));
  EXPECT_FALSE(Example(Extent::symbol("batch") + Extent(-5), Extent::symbol("batch")).build(3, {3, 4}));
  const auto table = example.build(1 << 30, {1, 1});
  ASSERT_TRUE(table);
  const Extent rows = Extent::symbol("batch");
  const auto dims = [&](std::vector<Extent> shape) {
    return table->dims({"v", DType::int64, shape, {}, Value::temporary, "", {}});
  };
  EXPECT_TRUE(dims({rows, 1 << 20}));
  EXPECT_FALSE(dims({rows, rows}));
  EXPECT_FALSE(dims({rows, rows, 0})) << "strides of an empty tensor must not overflow";
  EXPECT_FALSE(dims({rows * -1}));
  EXPECT_FALSE(dims({rows * 2048}));
}

}  // namespace
}  // namespace sheaf
