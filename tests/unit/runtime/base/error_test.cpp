#include "runtime/base/dtype.h"
#include "runtime/base/error.h"
#include "runtime/base/exception.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

namespace sheaf {
namespace {

TEST(Error, WithoutAFileIsSeverityAndMessage) { EXPECT_EQ(to_string(Error("no such device")), "error: no such device"); }

TEST(Error, ShowsFileLineColumnSourceAndCaret) {
  Diagnostic diagnostic{Severity::error, {"m.json", 3, 5}, "unknown layer", "    {\"x\": 1}", {"did you mean 'y'?"}};
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

TEST(Error, ShowsNothingThatATerminalObeys) {
  const std::string nul("a\0b", 3);
  EXPECT_EQ(to_string(Error({"m\x1b.json", 1, 1}, "type '\x1b]0;x\x07\n" + nul + "'").note("\x1b[2J")),
            "m\\x1b.json:1:1: error: type '\\x1b]0;x\\x07\\na\\x00b'\nnote: \\x1b[2J");
  Diagnostic diagnostic{Severity::error, {"m", 1, 3}, "here", "\x1b\t!", {}};
  EXPECT_EQ(to_string(diagnostic), "m:1:3: error: here\n\\x1b\t!\n    \t^");
}

TEST(Error, LeavesOutTheMiddleOfWhatIsVeryLong) {
  const std::string shown = to_string(Error("no field '" + std::string(2'000'000, 'k') + "' here"));
  EXPECT_LT(shown.size(), 300u);
  EXPECT_NE(shown.find("(2000002 bytes)"), std::string::npos) << shown;
  EXPECT_TRUE(shown.ends_with("k' here")) << shown;
  std::string words = "no type '";
  for (int i = 0; i < 100'000; ++i) words += "word ";
  EXPECT_LT(to_string(Error(words)).size(), 4200u);
  EXPECT_EQ(to_string(Error(std::string(200, 'k'))), "error: " + std::string(200, 'k'));
}

TEST(Error, OfAnExceptionAlsoWithoutMemory) {
  const auto of = [](auto thrown) {
    try {
      throw thrown;
    } catch (...) {
      return error_of_exception();
    }
  };
  EXPECT_EQ(of(std::bad_alloc()).message(), "not enough memory");
  EXPECT_EQ(of(std::runtime_error("odd")).message(), "internal error: odd");
  EXPECT_EQ(of(3).message(), "internal error: an unknown exception");
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
