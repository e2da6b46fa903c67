// Files of what is compiled for GPUs: whole or as none, and no folder does any harm.
#include "runtime/cuda/kept_files.h"

#include "runtime/base/file.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace sheaf::cuda {
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
  files.keep("a", code_);
  files.keep("b", "");
  EXPECT_EQ(KeptFiles(folder_).find("a"), code_);
  EXPECT_EQ(files.find("b"), "");
  EXPECT_FALSE(files.find("c"));
  files.keep("a", "another");
  EXPECT_EQ(files.find("a"), "another");
}

TEST_F(KeptFile, IsWholeOrAsNone) {
  const KeptFiles files(folder_);
  files.keep("a", code_);
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
  files.keep("a", code_);
  EXPECT_EQ(files.find("a"), code_);
}

TEST_F(KeptFile, NeedsNoFolder) {
  const KeptFiles none("");
  none.keep("a", code_);
  EXPECT_FALSE(none.find("a"));
  write(folder_, "a file");
  const KeptFiles files(folder_);
  files.keep("a", code_);
  EXPECT_FALSE(files.find("a"));
  std::filesystem::remove(folder_);
  std::filesystem::create_directories(files.file_of("a"));  // a folder where the file should be
  files.keep("a", code_);
  EXPECT_FALSE(files.find("a"));
}

}  // namespace
}  // namespace sheaf::cuda
