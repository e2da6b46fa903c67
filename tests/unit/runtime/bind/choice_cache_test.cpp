// The file of measurements: what is kept, and that no file does any harm.
#include "runtime/bind/choice_cache.h"

#include "runtime/base/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sheaf {
namespace {

using testing::HasSubstr;

class ChoiceCaches : public testing::Test {
 protected:
  void SetUp() override {
    cpu_.model = "a CPU";
    cpu_.library = "a library 1.0";
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = testing::TempDir() + "choices-" + test->name() + std::to_string(::getpid());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  ChoiceCache open() const { return ChoiceCache::open(cpu_, folder_); }
  /// `candidate` of the usual ones, unmeasured.
  static KnownChoice taken(const std::string& candidate) { return {candidate, {}, "", {"direct", "winograd"}}; }
  static Selection selection(const std::string& key, const std::vector<std::string>& candidates = {"winograd", "direct"}) {
    Selection selection{key, {}, 0};
    for (const std::string& name : candidates) selection.candidates.push_back({name, 1});
    return selection;
  }
  /// Keeps one choice, and returns its file.
  std::string kept(const std::string& key = "conv a") {
    ChoiceCache cache = open();
    cache.put(key, {"direct", {{"direct", 0.25}, {"winograd", 0.5}}, "winograd", {"direct", "winograd"}});
    EXPECT_TRUE(cache.save(false));
    return cache.file();
  }
  void write(const std::string& file, const std::string& text) { std::ofstream(file) << text; }

  DeviceInfo cpu_;
  std::string folder_;
};

TEST_F(ChoiceCaches, keep_what_was_put) {
  kept();
  const ChoiceCache again = open();
  EXPECT_EQ(again.problem(), "");
  EXPECT_EQ(again.candidate("conv a"), "direct");
  EXPECT_EQ(again.find(selection("conv a"))->seconds.at("winograd"), 0.5);
  EXPECT_EQ(again.find(selection("conv a"))->model, "winograd");
  EXPECT_EQ(again.candidate("conv b"), "");
  EXPECT_EQ(again.find(selection("conv b")), nullptr);
}

TEST_F(ChoiceCaches, another_process_keeps_what_it_wrote_first) {
  ChoiceCache late = open();
  kept();
  late.put("conv a", taken("winograd"));
  late.put("conv b", taken("winograd"));
  ASSERT_TRUE(late.save(false));
  EXPECT_EQ(open().candidate("conv a"), "direct");
  EXPECT_EQ(open().candidate("conv b"), "winograd");
  EXPECT_EQ(late.candidate("conv a"), "direct") << "and takes it";
  late.put("conv a", taken("winograd"));
  ASSERT_TRUE(late.save(true));
  EXPECT_EQ(open().candidate("conv a"), "winograd");
}

TEST_F(ChoiceCaches, a_choice_among_fewer_candidates_is_none) {
  kept();
  const ChoiceCache cache = open();
  EXPECT_NE(cache.find(selection("conv a", {"direct"})), nullptr) << "it was chosen";
  EXPECT_EQ(cache.find(selection("conv a", {"winograd"})), nullptr) << "what was chosen is gone";
  EXPECT_EQ(cache.find(selection("conv a", {"winograd", "direct", "pixels"})), nullptr) << "nobody looked at the third";
  // In another order they are the same, and whoever knows fewer has no reason to choose again.
  ChoiceCache same = open();
  same.put("conv a", {"winograd", {}, "", {"winograd", "direct"}});
  ASSERT_TRUE(same.save(false));
  EXPECT_EQ(open().candidate("conv a"), "direct");
  ChoiceCache fewer = open();
  fewer.put("conv a", {"direct", {}, "", {"direct"}});
  ASSERT_TRUE(fewer.save(false));
  EXPECT_NE(open().find(selection("conv a")), nullptr);
  // Whoever knows more replaces it.
  ChoiceCache newer = open();
  newer.put("conv a", {"pixels", {}, "", {"direct", "pixels", "winograd"}});
  ASSERT_TRUE(newer.save(false));
  ASSERT_NE(open().find(selection("conv a", {"winograd", "direct", "pixels"})), nullptr);
  EXPECT_EQ(open().candidate("conv a"), "pixels");
}

TEST_F(ChoiceCaches, what_was_only_read_overwrites_nothing) {
  kept();
  ChoiceCache reader = open(), renewing = open();
  renewing.put("conv a", taken("winograd"));
  ASSERT_TRUE(renewing.save(true));
  reader.put("conv b", taken("direct"));
  ASSERT_TRUE(reader.save(true));
  EXPECT_EQ(open().candidate("conv a"), "winograd");
  EXPECT_EQ(open().candidate("conv b"), "direct");
}

TEST_F(ChoiceCaches, processes_that_write_at_once_lose_nothing) {
  constexpr int kWriters = 4, kKeys = 5;
  std::vector<std::thread> writers;  // each with a cache of its own, as a process has
  for (int writer = 0; writer < kWriters; ++writer)
    writers.emplace_back([this, writer] {
      for (int key = 0; key < kKeys; ++key) {
        ChoiceCache cache = open();
        cache.put(std::to_string(writer) + " " + std::to_string(key), taken("direct"));
        EXPECT_TRUE(cache.save(false));
      }
    });
  for (std::thread& writer : writers) writer.join();
  const ChoiceCache all = open();
  for (int writer = 0; writer < kWriters; ++writer)
    for (int key = 0; key < kKeys; ++key)
      EXPECT_EQ(all.candidate(std::to_string(writer) + " " + std::to_string(key)), "direct") << writer << " " << key;
}

TEST_F(ChoiceCaches, a_lock_that_stays_is_an_error) {
  kept();
  ChoiceCache cache = open();
  const auto folder = Folder::open(folder_);
  ASSERT_TRUE(folder);
  ASSERT_EQ(::flock(folder->descriptor(), LOCK_EX), 0);
  cache.put("conv b", taken("direct"));
  const auto saved = cache.save(false);
  ASSERT_FALSE(saved);
  EXPECT_THAT(to_string(saved.error()), HasSubstr("another process"));
  EXPECT_EQ(cache.candidate("conv b"), "direct");
}

TEST_F(ChoiceCaches, another_machine_has_its_own) {
  const std::string file = kept();
  cpu_.library = "a library 2.0";
  EXPECT_EQ(open().problem(), "");
  EXPECT_EQ(open().candidate("conv a"), "");
  EXPECT_NE(open().file(), file);
  // The file holds measurements of another machine.
  std::filesystem::copy_file(file, open().file());
  EXPECT_THAT(open().problem(), HasSubstr("another machine"));
  EXPECT_EQ(open().candidate("conv a"), "");
}

TEST_F(ChoiceCaches, a_damaged_file_is_as_none_and_is_replaced) {
  const std::string file = kept(), sound = *read_file(file, 1 << 20);
  for (size_t size = 0; size + 2 < sound.size(); size += 5) {
    write(file, sound.substr(0, size));
    EXPECT_NE(open().problem(), "") << size;
    EXPECT_EQ(open().candidate("conv a"), "");
  }
  const Json json = Json::parse(sound);
  const std::vector<std::pair<const char*, Json>> changes = {{"/version", 1},
                                                             {"/version", "1"},
                                                             {"/machine", 5},
                                                             {"/operations", Json::array()},
                                                             {"/operations/conv a", "direct"},
                                                             {"/operations/conv a/take", 7},
                                                             {"/operations/conv a/model", 7},
                                                             {"/operations/conv a/candidates", "direct"},
                                                             {"/operations/conv a/candidates/0", 7},
                                                             {"/operations/conv a/candidates", {"winograd"}},
                                                             {"/operations/conv a/seconds", Json::array()},
                                                             {"/operations/conv a/seconds/direct", "fast"},
                                                             {"/operations/conv a/seconds/direct", -1}};
  for (const auto& [place, value] : changes) {
    Json changed = json;
    changed[Json::json_pointer(place)] = value;
    write(file, changed.dump());
    EXPECT_NE(open().problem(), "") << place << " = " << value;
    EXPECT_EQ(open().find(selection("conv a")), nullptr) << place << " = " << value;
  }
  kept("conv b");
  EXPECT_EQ(open().problem(), "");
  EXPECT_EQ(open().candidate("conv b"), "direct");
}

TEST_F(ChoiceCaches, a_place_that_cant_be_written_is_an_error_and_no_more) {
  write(folder_, "not a folder");
  ChoiceCache cache = open();
  cache.put("conv a", taken("direct"));
  EXPECT_FALSE(cache.save(false));
  EXPECT_EQ(cache.candidate("conv a"), "direct");
  std::filesystem::remove(folder_);
  std::filesystem::create_directories(cache.file());  // a folder with the file's name
  EXPECT_NE(open().problem(), "");
  EXPECT_FALSE(cache.save(false));
}

TEST_F(ChoiceCaches, without_a_folder_keep_nothing) {
  ChoiceCache cache = ChoiceCache::open(cpu_, "");
  EXPECT_THAT(cache.problem(), HasSubstr("SHEAF_CACHE"));
  cache.put("conv a", taken("direct"));
  EXPECT_TRUE(cache.save(false));
  EXPECT_EQ(cache.candidate("conv a"), "direct");
}

}  // namespace
}  // namespace sheaf
