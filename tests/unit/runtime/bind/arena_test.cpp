// Arena planning: randomly drawn problems, each solution verified apart from the planner.
#include "runtime/bind/arena.h"

#include <gtest/gtest.h>

#include <random>

namespace sheaf {
namespace {

ArenaProblem draw(std::mt19937& random, int most_buffers) {
  ArenaProblem problem;
  const int buffers = static_cast<int>(random() % static_cast<unsigned>(most_buffers + 1));
  for (int i = 0; i < buffers; ++i) {
    const auto begin = static_cast<int64_t>(random() % 60);
    const auto length = static_cast<int64_t>(random() % (random() % 4 == 0 ? 60 : 6));
    const size_t bytes = random() % 10 == 0 ? 0 : random() % (random() % 3 == 0 ? 100000 : 1000);
    problem.buffers.push_back({bytes, begin, begin + length});
  }
  return problem;
}

TEST(Arena, AThousandRandomProblemsAreSolved) {
  std::mt19937 random(7);
  double worst = 1, sum = 0;
  for (int i = 0; i < 1000; ++i) {
    const ArenaProblem problem = draw(random, 60);
    ASSERT_TRUE(problem.check());
    const ArenaSolution solution = plan_arena(problem);
    const auto ok = verify(problem, solution);
    ASSERT_TRUE(ok) << to_string(ok.error());
    const size_t bound = problem.lower_bound();
    ASSERT_GE(solution.bytes, bound);
    const double ratio = bound == 0 ? 1 : static_cast<double>(solution.bytes) / static_cast<double>(bound);
    worst = std::max(worst, ratio);
    sum += ratio;
  }
  EXPECT_LE(sum / 1000, 1.02);  // of random problems; the bound itself is not always reachable
  EXPECT_LE(worst, 1.25);
}

TEST(Arena, AChainNeedsTwoBuffers) {
  ArenaProblem problem;
  for (int i = 0; i < 50; ++i) problem.buffers.push_back({1 << 20, 2 * i + 1, 2 * i + 4});
  const ArenaSolution solution = plan_arena(problem);
  EXPECT_TRUE(verify(problem, solution));
  EXPECT_EQ(solution.bytes, size_t{2} << 20);
}

TEST(Arena, NothingAndEmptyBuffers) {
  EXPECT_EQ(plan_arena({}).bytes, 0U);
  const ArenaProblem problem{{{0, 1, 5}, {64, 3, 3}}};
  const ArenaSolution solution = plan_arena(problem);
  EXPECT_TRUE(verify(problem, solution));
  EXPECT_EQ(solution.bytes, 0U);
}

TEST(Arena, WrongProblemsAndSolutionsAreFound) {
  EXPECT_FALSE((ArenaProblem{{{8, 3, 2}}}.check()));
  EXPECT_FALSE((ArenaProblem{{{SIZE_MAX / 2, 0, 1}, {SIZE_MAX / 2, 0, 1}}}.check()));
  const ArenaProblem problem{{{64, 0, 2}, {64, 1, 3}, {64, 2, 3}}};
  EXPECT_TRUE(verify(problem, {{0, 64, 0}, 128}));
  EXPECT_FALSE(verify(problem, {{0, 0, 64}, 128})) << "overlap";
  EXPECT_FALSE(verify(problem, {{0, 32, 0}, 128})) << "alignment";
  EXPECT_FALSE(verify(problem, {{0, 64, 0}, 64})) << "beyond the end";
  EXPECT_FALSE(verify(problem, {{0, 64}, 128})) << "a buffer without place";
}

}  // namespace
}  // namespace sheaf
