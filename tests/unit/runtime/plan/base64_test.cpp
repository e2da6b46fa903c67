// The encoding of the code that plans carry.
#include "runtime/plan/base64.h"

#include <gtest/gtest.h>

namespace sheaf {
namespace {

TEST(Base64, FollowsTheStandardsExamplesAndIsStrict) {
  const std::pair<const char*, const char*> cases[] = {
      {"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : cases) {
    EXPECT_EQ(to_base64(bytes), text);
    ASSERT_TRUE(from_base64(text));
    EXPECT_EQ(*from_base64(text), bytes);
  }
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  EXPECT_EQ(*from_base64(to_base64(all)), all);
  for (const char* text : {"Zg", "Zg=", "=", "====", "Zh==", "Z===", "Zm9v\n", "Zm 9", "Zg==Zg==", "Z=9v", "Zm9\xff"})
    EXPECT_FALSE(from_base64(text)) << text;
}

}  // namespace
}  // namespace sheaf
