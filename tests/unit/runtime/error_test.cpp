#include "runtime/base/dtype.h"
#include "runtime/base/error.h"

#include <gtest/gtest.h>

namespace sheaf {
namespace {

TEST(Error, WithoutAFileIsSeverityAndMessage) {
  EXPECT_EQ(to_string(Error("no such device")), "error: no such device");
}

TEST(Error, ShowsFileLineColumnSourceAndCaret) {
  Diagnostic diagnostic{
      Severity::error, {"m.json", 3, 5}, "unknown layer", "    {\"x\": 1}", {"did you mean 'y'?"}};
  EXPECT_EQ(to_string(diagnostic),
            "m.json:3:5: error: unknown layer\n"
            "    {\"x\": 1}\n"
            "    ^\n"
            "note: did you mean 'y'?");
}

TEST(Error, LeavesOutUnknownLinesAndColumns) {
  EXPECT_EQ(to_string(Error({"w.npy", 0, 0}, "too short")), "w.npy: error: too short");
  EXPECT_EQ(to_string(Error({"w.npy", 4, 0}, "too short")), "w.npy:4: error: too short");
}

TEST(Error, CaretKeepsTabsAndCountsCharactersNotBytes) {
  Diagnostic diagnostic{Severity::warning, {"m", 1, 6}, "here", "\t\"é\"x", {}};
  EXPECT_EQ(to_string(diagnostic), "m:1:6: warning: here\n\t\"é\"x\n\t   ^");
}

TEST(Error, CaretBeyondTheLineStandsAtItsEnd) {
  Diagnostic diagnostic{Severity::error, {"m", 1, 1000000}, "here", "ab", {}};
  EXPECT_EQ(to_string(diagnostic), "m:1:1000000: error: here\nab\n  ^");
}

TEST(Error, DiagnosticsFollowOneAnother) {
  Error error("first");
  error.note("why").add("second", {"f", 1, 2});
  EXPECT_EQ(to_string(error), "error: first\nnote: why\nf:1:2: error: second");
  EXPECT_EQ(error.message(), "first");
}

TEST(DType, NamesAreReadBack) {
  for (const char* name : {"float32", "int64", "int32", "uint8", "float16", "bfloat16"}) {
    const auto dtype = dtype_from_name(name);
    ASSERT_TRUE(dtype) << name;
    EXPECT_EQ(name_of(*dtype), name);
  }
  EXPECT_FALSE(dtype_from_name("float64"));
  EXPECT_FALSE(dtype_from_name(""));
}

}  // namespace
}  // namespace sheaf
