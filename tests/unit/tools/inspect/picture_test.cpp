// SVG and HTML: safe whatever the names of a model's layers. tests/browser looks at pages in a browser.
#include "tools/inspect/child_process.h"
#include "tools/inspect/dump.h"
#include "tools/inspect/format.h"
#include "tests/unit/tools/inspect/dumped.h"
#include "tests/unit/tools/inspect/sample_plans.h"

#include <gmock/gmock.h>

#include <cstdlib>

namespace sheaf {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const DumpOptions kTwo{{"cpu:0", "cpu:1", "cpu:2"}, 30, "infer"};
const char* const kHostile[] = {"\"]; x [label=\"",
                                "</script><script>alert(1)</script>",
                                "<!--<script>",
                                "a&amp;<b>\\N\\G\\",
                                "\x1b[31mred\x07",
                                "line\nbreak\ttab",
                                "not utf-8 \xff\xfe\xc3",
                                "\xE2\x80\xAEright to left",
                                "<!--SHEAF:DATA-->/*SHEAF:SCRIPT*/",
                                "]]>'`${x}",
                                ""};

std::string page_json(const std::string& html) {
  const std::string opening = "<script type=\"application/json\" id=\"data\">";
  const size_t start = html.find(opening) + opening.size();
  return html.substr(start, html.find("</script>", start) - start);
}

TEST(Svg, is_drawn_by_graphviz) {
  const std::string svg = dumped(samples::resnet18(), DumpFormat::svg, kTwo);
  for (const char* part : {"<svg", "</svg>", "cpu:2", "scatter", "net.module.resnet_block1.0", "MB"})
    EXPECT_THAT(svg, HasSubstr(part));
}

TEST(Svg, says_how_to_get_graphviz) {
  const char* const path = std::getenv("PATH");
  const std::string before = path ? path : "";
  setenv("PATH", "/nonexistent", 1);
  const Result<std::string> svg = dump(samples::tutorial(), DumpFormat::svg);
  setenv("PATH", before.c_str(), 1);
  ASSERT_FALSE(svg);
  EXPECT_THAT(to_string(svg.error()), HasSubstr("can't run the program 'dot'"));
  EXPECT_THAT(to_string(svg.error()), HasSubstr("apt-get install graphviz"));
}

TEST(Svg, holds_hostile_names_as_text) {
  for (const char* name : kHostile) {
    const std::string svg = dumped(samples::explicit_devices(name), DumpFormat::svg, kTwo);
    EXPECT_THAT(svg, HasSubstr("</svg>")) << name;
    EXPECT_THAT(svg, Not(HasSubstr("<script"))) << name;
    for (const char c : svg) ASSERT_TRUE(static_cast<unsigned char>(c) >= 0x20 || c == '\n') << name;
  }
}

TEST(ChildProcess, passes_much_text_both_ways) {
  const std::string input(3'000'000, 'x');
  const Result<ChildOutput> echoed = run_child({"cat"}, input);
  ASSERT_TRUE(echoed);
  EXPECT_EQ(echoed->status, 0);
  EXPECT_TRUE(echoed->output == input);
}

TEST(ChildProcess, survives_a_child_that_reads_nothing) {
  const Result<ChildOutput> failed = run_child({"false"}, std::string(3'000'000, 'x'));
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->status, 1);
  EXPECT_FALSE(run_child({"/nonexistent/program"}, "x"));
}

TEST(Json, holds_hostile_names) {
  for (const char* name : kHostile) {
    const Json json = Json::parse(dumped(samples::explicit_devices(name), DumpFormat::json, kTwo), nullptr, false);
    ASSERT_FALSE(json.is_discarded()) << name;
    const std::string layer = json["nodes"][1]["layer"];
    if (printable(name) == name) EXPECT_EQ(layer, name);
  }
}

TEST(Text, shows_no_control_characters) {
  for (const char* name : kHostile)
    for (const char c : dumped(samples::explicit_devices(name), DumpFormat::text, kTwo))
      ASSERT_TRUE(static_cast<unsigned char>(c) >= 0x20 || c == '\n') << name;
}

TEST(Printable, escapes_what_a_terminal_would_obey) {
  EXPECT_EQ(printable("a\nb\x1b[0m\x7f"), "a\\nb\\x1b[0m\\x7f");
  EXPECT_EQ(printable("ok \xff \xc3\xa9 \xe2\x82\xac"), "ok \xEF\xBF\xBD \xc3\xa9 \xe2\x82\xac");
  EXPECT_EQ(printable("\xC0\xAF\xED\xA0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(Html, is_one_file_that_asks_for_nothing) {
  const std::string html = dumped(samples::resnet18(), DumpFormat::html, kTwo);
  for (const char* part : {"http:", "https:", "src=", "href=", "@import", "url(http", "SHEAF:"})
    EXPECT_THAT(html, Not(HasSubstr(part)));
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
  EXPECT_EQ(Json::parse(page_json(html))["nodes"].size(),
            Json::parse(dumped(samples::resnet18(), DumpFormat::json, kTwo))["nodes"].size());
}

TEST(Html, holds_hostile_names_as_data) {
  for (const char* name : kHostile) {
    const std::string html = dumped(samples::explicit_devices(name), DumpFormat::html, kTwo);
    size_t scripts = 0;
    for (size_t at = html.find("<script"); at != std::string::npos; at = html.find("<script", at + 1)) ++scripts;
    EXPECT_EQ(scripts, 2u) << name;
    EXPECT_FALSE(Json::parse(page_json(html), nullptr, false).is_discarded()) << name;
    EXPECT_THAT(html, HasSubstr("class Tree")) << name;
  }
}

}  // namespace
}  // namespace sheaf
