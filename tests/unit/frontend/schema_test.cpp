// The checked-in JSON Schema and the tables in the documentation agree with the parser's own tables.
#include "frontend/model_schema.h"
#include "model_text.h"

#include <gtest/gtest.h>

namespace sheaf::frontend::test {
namespace {

TEST(Schema, TheFileIsCurrent) {
  EXPECT_TRUE(read_project_file("frontend/model.schema.json") == model_schema_text())
      << "run sheaf-model-schema > frontend/model.schema.json";
}

}  // namespace
}  // namespace sheaf::frontend::test
