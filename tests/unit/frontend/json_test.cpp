// Syntax: every fault of the JSON text is found with its line and column.
#include "frontend/located_json.h"
#include "model_text.h"
#include "tests/paths/source_folder.h"

#include <gmock/gmock.h>

namespace sheaf::frontend::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

TEST(LocatedJson, EveryKeyAndValueHasItsPlace) {
  std::string text = "{\n  \"a\": [1, -2.5e1,\n\t\"é\", true],\n  \"b\" : {}\n}";
  Problems problems("f", text);
  auto root = parse_located_json(text, problems);
  ASSERT_TRUE(root);
  const LocatedMember& a = root->members.at(0);
  EXPECT_EQ(std::pair(a.place.line, a.place.column), std::pair(2, 3));
  const auto& items = a.value.items;
  ASSERT_EQ(items.size(), 4u);
  EXPECT_EQ(std::pair(items[0].place.line, items[0].place.column), std::pair(2, 9));
  EXPECT_EQ(std::pair(items[1].place.line, items[1].place.column), std::pair(2, 12));
  EXPECT_EQ(items[1].number, -25.0);
  EXPECT_EQ(std::pair(items[2].place.line, items[2].place.column), std::pair(3, 2));
  // "é" is one column, two bytes.
  EXPECT_EQ(std::pair(items[3].place.line, items[3].place.column), std::pair(3, 7));
  EXPECT_EQ(std::pair(root->members[1].value.place.line, root->members[1].value.place.column), std::pair(4, 9));
}

TEST(LocatedJson, StringsWithBracketsCommasAndEscapesDoNotMovePlaces) {
  std::string text = R"(["a\"],{", "\\", 7])";
  Problems problems("f", text);
  auto root = parse_located_json(text, problems);
  ASSERT_TRUE(root);
  EXPECT_EQ(root->items.at(0).string, "a\"],{");
  EXPECT_EQ(root->items.at(2).place.column, 18);
}

TEST(LocatedJson, AByteOrderMarkIsSkipped) {
  std::string text = "\xEF\xBB\xBF[7]";
  Problems problems("f", text);
  auto root = parse_located_json(text, problems);
  ASSERT_TRUE(root);
  EXPECT_EQ(root->items.at(0).place.column, 2);
}

TEST(Syntax, FaultsAreLocated) {
  EXPECT_THAT(problems_in(""), ElementsAre(StartsWith("1:1: not valid JSON: syntax error")));
  EXPECT_THAT(problems_in("{\n  \"a\": 1,\n}"), ElementsAre(StartsWith("3:1: not valid JSON")));
  EXPECT_THAT(problems_in("{\"a\": 1} 2"), ElementsAre(StartsWith("1:10: not valid JSON")));
  EXPECT_THAT(problems_in("{\"a\": nul}"), ElementsAre(HasSubstr("not valid JSON")));
  EXPECT_THAT(problems_in("{\"a\": 1e999}"), ElementsAre(HasSubstr("number overflow")));
  EXPECT_THAT(problems_in("{\"a\":\n\"\xff\"}"), ElementsAre(AllOf(StartsWith("2:"), HasSubstr("ill-formed UTF-8"))));
  EXPECT_THAT(problems_in(std::string("{\"a\": \0}", 8)), ElementsAre(StartsWith("1:7: not valid JSON")));
}

TEST(Syntax, ADuplicateKeyIsRefusedAndTheRestIsStillChecked) {
  std::string text = model_with({R"(    {"type": "ReLU", "type": "Tanh", "inputs": ["y"]})"});
  EXPECT_THAT(problems_in(text),
              ElementsAre("5:22: the key 'type' appears twice in this object", "5:49: there is no value 'y'; expected 'x'"));
}

TEST(Syntax, NestingAndSizeAreBounded) {
  std::string deep(100'000, '[');
  EXPECT_THAT(problems_in(deep), ElementsAre("1:201: nested more than 200 levels deep"));
  std::string many = "[0";
  for (int i = 0; i < 1'000'000; ++i) many += ",0";
  EXPECT_THAT(problems_in(many + "]"), ElementsAre(HasSubstr("more than 1000000 values")));
  EXPECT_THAT(problems_in(std::string((size_t{16} << 20) + 1, ' ')), ElementsAre(HasSubstr("larger than")));
}

TEST(Diagnostics, ShowTheLineWithACaret) {
  auto model = parse_model("dir/m.json", model_with({R"(    {"type": "Linaer"})"}));
  ASSERT_FALSE(model);
  EXPECT_EQ(to_string(model.error()),
            "dir/m.json:5:14: error: unknown layer type 'Linaer'; did you mean 'Linear'?\n"
            "    {\"type\": \"Linaer\"}\n"
            "             ^");
}

TEST(Diagnostics, AreCappedAndTheRestIsCounted) {
  std::vector<std::string> layers(60, R"({"type": "Linaer"})");
  auto model = parse_model("m.json", model_with(layers));
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().diagnostics.size(), 50u);
  EXPECT_THAT(model.error().diagnostics.back().notes, ElementsAre("and 10 more problems, not shown"));
}

TEST(Diagnostics, AModulesMistakeIsReportedOnceHoweverOftenItIsUsed) {
  std::string use = R"({"type": "M"})";
  std::string text = model_with({use, use, use}, R"("modules": {"M": {"layers": [{"type": "Dropout", "p": 2}]}})");
  EXPECT_THAT(problems_in(text), ElementsAre("9:55: 'p' of Dropout '0' must be a number from 0 to 1, found 2"));
}

TEST(LoadModel, SaysWhyAFileCannotBeRead) {
  auto missing = load_model("/nonexistent/m.json");
  ASSERT_FALSE(missing);
  EXPECT_EQ(to_string(missing.error()), "/nonexistent/m.json: error: can't be read: No such file or directory");
  auto folder = load_model(source_file(""));
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().message(), "can't be read: Is a directory");
}

}  // namespace
}  // namespace sheaf::frontend::test
