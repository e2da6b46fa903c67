// The corpus: good files are accepted, bad ones rejected with a place. schema_test.py holds the JSON Schema to the same files;
// bad-semantic has faults that a schema cannot express.
#include "model_text.h"
#include "tests/paths/source_folder.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace sheaf::frontend::test {
namespace {

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(source_file(folder))) {
    if (entry.path().extension() == ".json") files.push_back(entry.path().string());
  }
  return files;
}

const std::string corpus = "tests/unit/frontend/corpus/";

TEST(Corpus, GoodFilesAreAccepted) {
  auto files = files_in(corpus + "good");
  EXPECT_GT(files.size(), 50u);
  for (const std::string& file : files) {
    auto model = load_model(file);
    EXPECT_TRUE(model) << to_string(model.error());
  }
}

TEST(Corpus, BadFilesAreRefusedWithAPlace) {
  for (const char* kind : {"bad", "bad-semantic"}) {
    auto files = files_in(corpus + kind);
    EXPECT_GT(files.size(), 50u);
    for (const std::string& file : files) {
      auto model = load_model(file);
      ASSERT_FALSE(model) << file;
      for (const Diagnostic& diagnostic : model.error().diagnostics) {
        EXPECT_GE(diagnostic.location.line, 1) << file << ": " << diagnostic.message;
        EXPECT_GE(diagnostic.location.column, 1) << file << ": " << diagnostic.message;
        EXPECT_FALSE(diagnostic.source_line.empty()) << file << ": " << diagnostic.message;
      }
    }
  }
}

TEST(Corpus, TheProjectsModelsAreAccepted) {
  auto files = files_in("models");
  EXPECT_GE(files.size(), 11u);
  for (const std::string& file : files) {
    auto model = load_model(file);
    EXPECT_TRUE(model) << to_string(model.error());
  }
}

}  // namespace
}  // namespace sheaf::frontend::test
