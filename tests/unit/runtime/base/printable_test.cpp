// What messages repeat of users' text.
#include "runtime/base/printable.h"

#include <gtest/gtest.h>

namespace sheaf {
namespace {

TEST(Printable, QuotesWholeCharactersOfLongText) {
  EXPECT_EQ(in_quotes("name"), "'name'");
  EXPECT_EQ(in_quotes(""), "''");
  const std::string most(80, 'a');
  EXPECT_EQ(in_quotes(most), "'" + most + "'");
  EXPECT_EQ(in_quotes(most + "b"), "'" + most + "…'");
  const std::string umlauts = std::string(79, 'a') + "ääää";
  EXPECT_EQ(in_quotes(umlauts), "'" + std::string(79, 'a') + "…'") << "no half of a character";
}

}  // namespace
}  // namespace sheaf
