#include "runtime/base/extent.h"
#include "runtime/base/extent_product.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace sheaf {
namespace {

Extent batches(int64_t coefficient = 1) { return Extent::symbol("batch", coefficient); }

TEST(Extent, PrintsAndParsesTheSameText) {
  const std::pair<Extent, const char*> cases[] = {
      {Extent(28), "28"},
      {Extent(0), "0"},
      {Extent(-3), "-3"},
      {batches(), "batch"},
      {batches(2) + Extent(1), "2*batch + 1"},
      {batches() + Extent(-1), "batch - 1"},
      {batches(-1), "-batch"},
      {batches(-2) + Extent::symbol("chunk.net:0", 3), "-2*batch + 3*chunk.net:0"},
      {multiplied(Extent::symbol("seq", 4), batches(8)), "32*batch*seq"},
      {multiplied(batches(), batches()) + batches() + Extent(1), "batch + batch*batch + 1"},
      {Extent::symbol("a") + Extent::symbol("b", -1) + Extent(int64_t{1} << 53), "a - b + 9007199254740992"},
  };
  for (const auto& [extent, text] : cases) {
    EXPECT_EQ(to_string(extent), text);
    const auto parsed = parse_extent(text);
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ(*parsed, extent) << text;
  }
}

TEST(Extent, RefusesOtherSpellings) {
  for (const char* text : {"",
                           " ",
                           "+1",
                           "01",
                           "-0",
                           "1*batch",
                           "0*batch",
                           "batch*2",
                           "2 * batch",
                           "batch+1",
                           "1 + batch",
                           "b + a",
                           "a + a",
                           "batch + 0",
                           "batch + -1",
                           "--1",
                           "9007199254740993",
                           "99999999999999999999",
                           "batch\n",
                           "2*",
                           "seq*batch",
                           "batch*",
                           "batch**seq",
                           "batch*2*seq",
                           "*a",
                           "1.5",
                           "a + ",
                           "é",
                           "-"})
    EXPECT_FALSE(parse_extent(text)) << text;
  EXPECT_FALSE(parse_extent(std::string("1\0", 2)));
  EXPECT_FALSE(parse_extent(std::string(1 << 20, 'a')));
}

TEST(Extent, ArithmeticDropsTermsThatVanish) {
  EXPECT_EQ(batches() + batches(-1), Extent(0));
  EXPECT_TRUE((batches() * 0).is_static());
  EXPECT_EQ((batches(2) + Extent(3)) * 4, batches(8) + Extent(12));
}

TEST(Extent, SaturatesInsteadOfWrapping) {
  const int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_EQ((Extent(most) + Extent(1)).constant, most);
  EXPECT_EQ((Extent(-most) + Extent(-most)).constant, -most);
  EXPECT_EQ((batches(most) * 3).terms.at("batch"), most);
  EXPECT_EQ((batches(most) * -3).terms.at("batch"), -most);
}

TEST(Extent, DividesWhereEveryCoefficientIsDivisible) {
  const auto half = (batches(4) + Extent(6)).divided_by(2);
  ASSERT_TRUE(half);
  EXPECT_EQ(*half, batches(2) + Extent(3));
  EXPECT_FALSE((batches(4) + Extent(5)).divided_by(2));
  EXPECT_FALSE(batches(3).divided_by(2));
  EXPECT_FALSE(batches().divided_by(0));
  EXPECT_FALSE(Extent(std::numeric_limits<int64_t>::min()).divided_by(-1));
}

TEST(Extent, MultipliesSums) {
  const Extent seq = Extent::symbol("seq");
  EXPECT_EQ(multiplied(batches(2) + Extent(3), seq + Extent(-1)),
            multiplied(batches(2), seq) + batches(-2) + seq * 3 + Extent(-3));
  EXPECT_EQ(multiplied(multiplied(seq, Extent::symbol("a")), batches()),
            multiplied(multiplied(batches(), seq), Extent::symbol("a")));
  EXPECT_EQ(multiplied(Extent(7), batches()), batches(7));
  EXPECT_EQ(multiplied(batches(), Extent(0)), Extent(0));
  EXPECT_EQ(symbols_in(multiplied(seq, batches()) + seq), (std::vector<std::string>{"batch", "seq"}));
}

TEST(Extent, DividesByOneTerm) {
  const Extent seq = Extent::symbol("seq");
  EXPECT_EQ(divided(multiplied(batches(12), seq), seq * 4), batches(3));
  EXPECT_EQ(divided(multiplied(seq, seq), seq), seq);
  EXPECT_EQ(divided(batches(12), Extent(4)), batches(3));
  EXPECT_FALSE(divided(batches(12), seq));
  EXPECT_FALSE(divided(multiplied(batches(), seq) + Extent(1), seq));
  EXPECT_FALSE(divided(multiplied(batches(3), seq), seq * 2));
  EXPECT_FALSE(divided(batches(), batches() + Extent(1)));
  EXPECT_FALSE(divided(batches(), Extent(0)));
}

TEST(Extent, TakesNumbersForSymbols) {
  const Extent size = multiplied(batches(2), Extent::symbol("seq")) + Extent::symbol("seq") + Extent(1);
  EXPECT_EQ(substituted(size, {{"seq", 7}}), batches(14) + Extent(8));
  EXPECT_EQ(substituted(size, {{"seq", 7}, {"batch", 3}}), Extent(50));
  EXPECT_EQ(substituted(size, {}), size);
}

TEST(Extent, PrintsTheSmallestInteger) {
  EXPECT_EQ(to_string(Extent(std::numeric_limits<int64_t>::min())), "-9223372036854775808");
}

TEST(Extent, EvaluatesWithSymbolValues) {
  const int64_t thirty = 30;
  const auto value_of = [&](const std::string& name) { return name == "batch" ? &thirty : nullptr; };
  const auto value = evaluate(batches(2) + Extent(1), value_of);
  ASSERT_TRUE(value);
  EXPECT_EQ(*value, 61);
  const auto square = evaluate(multiplied(batches(2), batches()), value_of);
  ASSERT_TRUE(square);
  EXPECT_EQ(*square, 1800);
  EXPECT_FALSE(evaluate(multiplied(batches(std::numeric_limits<int64_t>::max() / 100), batches()), value_of));
  const auto unknown = evaluate(Extent::symbol("chunk"), value_of);
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message().find("'chunk'"), std::string::npos);
  EXPECT_FALSE(evaluate(batches(std::numeric_limits<int64_t>::max()), value_of));
  EXPECT_FALSE(evaluate(batches() + Extent(std::numeric_limits<int64_t>::max()), value_of));
}

}  // namespace
}  // namespace sheaf
