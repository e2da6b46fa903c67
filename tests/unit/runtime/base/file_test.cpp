#include "runtime/base/file.h"
#include "runtime/base/file_place.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

namespace sheaf {
namespace {

namespace fs = std::filesystem;

/// A folder of its own for each test.
class File : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "sheaf-file-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path(const char* name) const { return (folder_ / name).string(); }
  size_t count() const { return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), {})); }
  fs::path folder_;
};

TEST_F(File, WritesAndReadsBack) {
  const std::string bytes("a\0b\xff", 4);
  ASSERT_TRUE(write_file_atomically(path("x"), bytes));
  const auto read = read_file(path("x"), 100);
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, bytes);
  EXPECT_EQ(count(), 1u);
}

TEST_F(File, WritesPiecesOneAfterAnother) {
  const std::string_view pieces[] = {"ab", "", "c"};
  ASSERT_TRUE(write_file_atomically(path("x"), pieces));
  EXPECT_EQ(*read_file(path("x"), 3), "abc");
}

TEST_F(File, KeepsPermissionsAndFollowsLinks) {
  ASSERT_TRUE(write_file_atomically(path("target"), "old"));
  ASSERT_EQ(chmod(path("target").c_str(), 0640), 0);
  fs::create_symlink("target", path("link"));
  ASSERT_TRUE(write_file_atomically(path("link"), "new"));
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(*read_file(path("target"), 10), "new");
  struct stat info;
  ASSERT_EQ(stat(path("target").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0640u);
}

TEST_F(File, ANewFileHasTheUsualPermissions) {
  const mode_t mask = umask(022);
  ASSERT_TRUE(write_file_atomically(path("x"), ""));
  umask(mask);
  struct stat info;
  ASSERT_EQ(stat(path("x").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0644u);
}

TEST_F(File, AFailureLeavesNothingBehind) {
  const auto missing = write_file_atomically(path("no/such/folder"), "x");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().diagnostics[0].location.file, path("no/such/folder"));
  fs::create_directory(path("folder"));
  EXPECT_FALSE(write_file_atomically(path("folder"), "x"));
  EXPECT_EQ(count(), 1u);
  EXPECT_FALSE(write_file_atomically("", "x"));
}

TEST_F(File, WritesToWhatIsNoRegularFile) { EXPECT_TRUE(write_file_atomically("/dev/null", "x")); }

TEST_F(File, WritesThroughADanglingLinkAndRefusesARing) {
  fs::create_symlink("target", path("link"));
  ASSERT_TRUE(write_file_atomically(path("link"), "new"));
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(*read_file(path("target"), 10), "new");
  fs::create_symlink("b", path("a"));
  fs::create_symlink("a", path("b"));
  EXPECT_FALSE(write_file_atomically(path("a"), "x"));
  EXPECT_FALSE(check_output(path("a")));
  EXPECT_TRUE(fs::is_symlink(path("a")) && fs::is_symlink(path("b")));
}

TEST_F(File, ANameInBetweenThatAKilledWriterLeftGoesAway) {
  ASSERT_TRUE(write_file_atomically(path("x"), "old"));
  std::ofstream(path("x.sheaf-new")) << "whole, but never renamed";
  ASSERT_TRUE(write_file_atomically(path("x"), "new"));
  EXPECT_EQ(*read_file(path("x"), 10), "new");
  EXPECT_EQ(count(), 1u);
}

TEST_F(File, NamesAsLongAsCanBe) {
  const std::string name(255, 'n');
  for (const char* content : {"one", "two"}) ASSERT_TRUE(write_file_atomically(path(name.c_str()), content));
  EXPECT_EQ(*read_file(path(name.c_str()), 10), "two");
  EXPECT_EQ(count(), 1u);
  EXPECT_FALSE(write_file_atomically(path((name + "n").c_str()), "x"));
}

TEST_F(File, AFolderHeldOpenStaysTheOne) {
  fs::create_directory(path("a"));
  const auto folder = Folder::open(path("a"));
  ASSERT_TRUE(folder);
  fs::rename(path("a"), path("b"));
  fs::create_directory(path("a"));
  const std::string_view pieces[] = {"x"};
  ASSERT_TRUE(write_file_atomically(*folder, "f", pieces));
  EXPECT_EQ(*read_file(path("b/f"), 10), "x");
  EXPECT_TRUE(InputFile::open(*folder, "f"));
  EXPECT_FALSE(fs::exists(path("a/f")));
}

TEST_F(File, PlacesAreToldApartByWhatTheyAreNotByName) {
  fs::create_directory(path("d"));
  std::ofstream(path("x")) << "";
  fs::create_symlink("x", path("l"));
  fs::create_hard_link(path("x"), path("h"));
  for (const char* name : {"l", "h", "./x", "d/../x"}) EXPECT_EQ(place_of(path(name)), place_of(path("x"))) << name;
  EXPECT_NE(place_of(path("d")), place_of(path("x")));
  fs::create_symlink("d/new", path("dangling"));
  EXPECT_EQ(place_of(path("dangling")), place_of(path("d/../d/new")));
  EXPECT_NE(place_of(path("d/new")), place_of(path("new")));
  EXPECT_FALSE(place_of("/dev/null"));
  EXPECT_FALSE(place_of(path("no/folder")));
}

TEST_F(File, StreamsAreReadUpToTheLimit) {
  std::ofstream(path("x")) << std::string(200'000, 'x');
  EXPECT_EQ(read_stream(path("x"), 1 << 20)->size(), 200'000u);
  EXPECT_EQ(read_stream("/dev/zero", 100)->size(), 101u) << "one more says that there is more";
  EXPECT_EQ(read_stream("/dev/null", 100)->size(), 0u);
  EXPECT_FALSE(read_stream(folder_.string(), 100));
}

TEST_F(File, ReadingRefusesFoldersPipesAndExcess) {
  EXPECT_FALSE(read_file(path("missing"), 10));
  EXPECT_FALSE(read_file(folder_.string(), 10));
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_FALSE(read_file(path("pipe"), 10));
  ASSERT_TRUE(write_file_atomically(path("x"), "abcdef"));
  EXPECT_TRUE(read_file(path("x"), 6));
  const auto excess = read_file(path("x"), 5);
  ASSERT_FALSE(excess);
  EXPECT_EQ(to_string(excess.error()), path("x") + ": error: has 6 bytes; at most 5 are read");
}

TEST_F(File, ReadsRangesAndSaysWhereTheFileEnds) {
  ASSERT_TRUE(write_file_atomically(path("x"), "abcdef"));
  const auto file = InputFile::open(path("x"));
  ASSERT_TRUE(file);
  EXPECT_EQ(file->size(), 6u);
  std::array<std::byte, 3> bytes;
  ASSERT_TRUE(file->read_at(2, bytes));
  EXPECT_EQ(static_cast<char>(bytes[0]), 'c');
  EXPECT_FALSE(file->read_at(4, bytes));
}

}  // namespace
}  // namespace sheaf
