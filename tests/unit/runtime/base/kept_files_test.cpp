// Files of what is made again otherwise: whole or as none, no more than fit, and no folder does any harm.
#include "runtime/base/kept_files.h"

#include "runtime/base/file.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace sheaf {
namespace {

class KeptFile : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "kept-" + ::testing::UnitTest::GetInstance()->current_test_info()->name() +
              std::to_string(::getpid());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& file, const std::string& text) { std::ofstream(file, std::ios::binary) << text; }

  std::string folder_;
  const std::string code_ = std::string("machine\0code\n", 13);
};

TEST_F(KeptFile, HoldsTheTextOfItsKey) {
  const KeptFiles files(folder_);
  EXPECT_FALSE(files.find("a"));
  EXPECT_TRUE(files.keep("a", code_));
  EXPECT_TRUE(files.keep("b", ""));
  EXPECT_EQ(KeptFiles(folder_).find("a"), code_);
  EXPECT_EQ(files.find("b"), "");
  EXPECT_FALSE(files.find("c"));
  EXPECT_TRUE(files.keep("a", "another"));
  EXPECT_EQ(files.find("a"), "another");
}

TEST_F(KeptFile, IsWholeOrAsNone) {
  const KeptFiles files(folder_);
  EXPECT_TRUE(files.keep("a", code_));
  const std::string whole = *read_file(files.file_of("a"), 1 << 20);
  for (size_t length = 0; length < whole.size(); ++length) {
    write(files.file_of("a"), whole.substr(0, length));
    EXPECT_FALSE(files.find("a")) << length;
  }
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string bent = whole;
    bent[at] = static_cast<char>(bent[at] ^ 1);
    write(files.file_of("a"), bent);
    EXPECT_FALSE(files.find("a")) << at;
  }
  write(files.file_of("b"), whole);
  EXPECT_FALSE(files.find("b")) << "of another key";
  EXPECT_TRUE(files.keep("a", code_));
  EXPECT_EQ(files.find("a"), code_);
}

TEST_F(KeptFile, NeedsNoFolder) {
  const KeptFiles none("");
  EXPECT_TRUE(none.keep("a", code_));
  EXPECT_FALSE(none.find("a"));
  write(folder_, "a file");
  const KeptFiles files(folder_);
  EXPECT_FALSE(files.keep("a", code_));
  EXPECT_FALSE(files.find("a"));
  std::filesystem::remove(folder_);
  std::filesystem::create_directories(files.file_of("a"));  // a folder where the file should be
  EXPECT_FALSE(files.keep("a", code_));
  EXPECT_FALSE(files.find("a"));
}

TEST_F(KeptFile, GoesIfItWasUnusedForLongest) {
  const KeptFiles files(folder_, 4000);
  const std::string text(500, 'x');
  const auto minutes_ago = [&](const std::string& key, int minutes) {
    std::filesystem::last_write_time(files.file_of(key),
                                     std::filesystem::file_time_type::clock::now() - std::chrono::minutes(minutes));
  };
  for (const char* key : {"a", "b", "c", "d", "e"}) ASSERT_TRUE(files.keep(key, text));
  int minutes = 60;
  for (const char* key : {"a", "b", "c", "d", "e"}) minutes_ago(key, minutes--);
  EXPECT_EQ(files.find("a"), text) << "used just now";
  ASSERT_TRUE(files.keep("f", text));  // 6 · 650 bytes
  for (const char* key : {"a", "b", "f"}) EXPECT_TRUE(files.find(key)) << key;
  minutes = 60;
  for (const char* key : {"b", "c", "d", "e", "f", "a"}) minutes_ago(key, minutes--);
  ASSERT_TRUE(files.keep("g", text));
  for (const char* key : {"b", "c", "d"}) EXPECT_FALSE(files.find(key)) << key;
  for (const char* key : {"e", "f", "a", "g"}) EXPECT_TRUE(files.find(key)) << key;
  EXPECT_TRUE(files.keep("h", std::string(2000, 'x')));
  EXPECT_FALSE(files.find("h")) << "too large";
}

}  // namespace
}  // namespace sheaf
