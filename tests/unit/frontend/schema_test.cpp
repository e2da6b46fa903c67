// The checked-in JSON Schema and the tables in the documentation are what the parser's own tables say.
#include "frontend/model_schema.h"
#include "model_text.h"

#include <gtest/gtest.h>

namespace sheaf::frontend::test {
namespace {

TEST(Schema, TheFileIsCurrent) {
  EXPECT_TRUE(read_project_file("frontend/model.schema.json") == model_schema_text())
      << "run sheaf-model-schema > frontend/model.schema.json";
}

TEST(Schema, TheTablesInTheDocumentationAreCurrent) {
  std::string text = read_project_file("docs/model-format.md");
  const std::string begin = "<!-- printed by sheaf-model-schema --tables -->\n",
                    end = "<!-- end of the tables -->";
  size_t from = text.find(begin), to = text.find(end);
  ASSERT_TRUE(from != std::string::npos && to != std::string::npos);
  EXPECT_EQ(text.substr(from + begin.size(), to - from - begin.size()), format_tables());
}

}  // namespace
}  // namespace sheaf::frontend::test
