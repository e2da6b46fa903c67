// The command line's options: parsing, messages about wrong ones, and help.
#include "tools/cli/options.h"

#include <gmock/gmock.h>

namespace sheaf {
namespace {

using testing::HasSubstr;

OptionParser parser() {
  OptionParser made("draw", "Draws a plan.");
  made.positional("PLAN", "what to draw")
      .optional_positional("SHAPE", "of what shape")
      .choices({"box", "circle"})
      .option("--format", "FORMAT", "how")
      .choices({"text", "svg"})
      .option("-o", "FILE", "where it goes")
      .required()
      .group("Colours")
      .option("--colour", "NAME", "one more colour")
      .repeatable()
      .flag("--grey", "none at all")
      .example("draw it", {"sheaf draw a.plan -o a.svg"});
  return made;
}

Result<Options> parse(std::vector<std::string> arguments) { return parser().parse(arguments); }

std::string refusal(std::vector<std::string> arguments) {
  auto parsed = parse(std::move(arguments));
  return parsed ? "accepted" : to_string(parsed.error());
}

TEST(Options, ValuesAndDefaults) {
  auto options = parse({"a.plan", "-o", "x", "--colour=red", "--colour", "-1", "--", "box"});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->value("PLAN"), "a.plan");
  EXPECT_EQ(options->value("SHAPE"), "box");
  EXPECT_EQ(options->value("--format"), "text");
  EXPECT_EQ(options->values("--colour"), (std::vector<std::string>{"red", "-1"}));
  EXPECT_FALSE(options->has("--grey"));
  auto without = parse({"a.plan", "-o", "x"});
  ASSERT_TRUE(without);
  EXPECT_FALSE(without->has("SHAPE"));
}

TEST(Options, WhatIsRefused) {
  EXPECT_EQ(refusal({"-o", "x"}), "error: argument PLAN is missing: what to draw");
  EXPECT_EQ(refusal({"a.plan"}), "error: option '-o' is required: where it goes");
  EXPECT_EQ(refusal({"a.plan", "-o", "x", "box", "b.plan"}), "error: unexpected argument 'b.plan'");
  EXPECT_EQ(refusal({"a.plan", "-o", "x", "-o", "y"}), "error: option '-o' is given twice");
  EXPECT_EQ(refusal({"a.plan", "-o"}), "error: option '-o' needs a value, FILE");
  EXPECT_EQ(refusal({"a.plan", "--grey=1", "-o", "x"}), "error: option '--grey' takes no value");
}

TEST(Options, DidYouMean) {
  EXPECT_EQ(refusal({"a.plan", "--color", "red"}), "error: unknown option '--color'; did you mean '--colour'?");
  EXPECT_EQ(refusal({"a.plan", "--hlep"}), "error: unknown option '--hlep'; did you mean '--help'?");
  EXPECT_EQ(refusal({"a.plan", "--frobnicate"}), "error: unknown option '--frobnicate'");
  EXPECT_EQ(refusal({"a.plan", "--format", "sgv"}), "error: option '--format' can't be 'sgv'; did you mean 'svg'?");
  EXPECT_EQ(refusal({"a.plan", "--format", "pdf"}), "error: option '--format' can't be 'pdf'; expected one of 'text', 'svg'");
  EXPECT_EQ(refusal({"a.plan", "bx", "-o", "x"}), "error: argument SHAPE can't be 'bx'; did you mean 'box'?");
}

TEST(Options, ASecondSpellingIsTheSameOption) {
  OptionParser made("draw", "Draws.");
  made.option("--batch", "N", "rows").also("--batch-size").flag("--grey", "no colours");
  for (const char* spelling : {"--batch", "--batch-size"}) {
    auto options = made.parse(std::vector<std::string>{spelling, "7"});
    ASSERT_TRUE(options);
    EXPECT_EQ(options->value("--batch"), "7");
  }
  auto twice = made.parse(std::vector<std::string>{"--batch", "7", "--batch-size=7"});
  ASSERT_FALSE(twice);
  EXPECT_THAT(to_string(twice.error()), HasSubstr("given twice"));
  auto near = made.parse(std::vector<std::string>{"--batchsize", "7"});
  ASSERT_FALSE(near);
  EXPECT_THAT(to_string(near.error()), HasSubstr("did you mean '--batch-size'?"));
  EXPECT_THAT(made.help(), HasSubstr("rows (also --batch-size)"));
}

TEST(Options, AnExtensionOfAnotherFormatIsRefused) {
  OptionParser made("draw", "Draws.");
  made.option("--plot", "FILE", "a picture").writes({".svg"});
  const auto refusal = [&](const char* file) {
    auto options = made.parse(std::vector<std::string>{"--plot", file});
    return options ? std::string() : to_string(options.error());
  };
  EXPECT_EQ(refusal("p.png"), "error: option '--plot' 'p.png': the output isn't .png; expected a name that ends in '.svg'");
  EXPECT_THAT(refusal("a/b.NPY"), HasSubstr("isn't .npy"));
  for (const char* file : {"p.svg", "P.SVG", "p", "p.out", "a.png/p", "/dev/stdout", ".png/x", "a.b.c"})
    EXPECT_EQ(refusal(file), "") << file;
}

TEST(Options, Help) {
  EXPECT_EQ(parser().help(),
            "usage: sheaf draw PLAN [SHAPE] -o FILE [options]\n"
            "\n"
            "Draws a plan.\n"
            "\n"
            "  PLAN                      what to draw\n"
            "  SHAPE                     of what shape: box, circle\n"
            "  --format FORMAT           how: text, svg (default text)\n"
            "  -o FILE                   where it goes\n"
            "\n"
            "Colours:\n"
            "  --colour NAME             one more colour (may be repeated)\n"
            "  --grey                    none at all\n"
            "\n"
            "example:\n"
            "  # draw it\n"
            "  sheaf draw a.plan -o a.svg\n");
}

TEST(Options, HelpIsFilledIntoLines) {
  OptionParser made("v", "One two three four five six seven eight nine ten eleven twelve thirteen.");
  made.option("--a-rather-long-option-name", "VALUE", "ä ö ü ä ö ü ä ö ü ä ö ü ä ö ü");
  EXPECT_EQ(made.help({}, 50),
            "usage: sheaf v [options]\n"
            "\n"
            "One two three four five six seven eight nine ten\n"
            "eleven twelve thirteen.\n"
            "\n"
            "  --a-rather-long-option-name VALUE\n"
            "                            ä ö ü ä ö ü ä ö ü ä ö\n"
            "                            ü ä ö ü\n");
}

TEST(Options, ColoursAreAllThatDiffers) {
  Palette palette{.heading = "<b>", .name = "<i>", .reset = "</>"};
  std::string text = parser().help(palette);
  EXPECT_THAT(text, HasSubstr("<b>usage:</> sheaf draw"));
  EXPECT_THAT(text, HasSubstr("  <i>--colour NAME</>             one more colour"));
  for (const char* mark : {"<b>", "<i>", "</>"})
    for (size_t at; (at = text.find(mark)) != std::string::npos;) text.erase(at, 3);
  EXPECT_EQ(text, parser().help());
}

TEST(Tables, HeadingsStandAboveARule) {
  const std::string table = "title\n\nname  value\n───────────\na     1\n── x\n";
  EXPECT_EQ(with_headings(table, {.heading = "<b>", .reset = "</>"}),
            "title\n\n<b>name  value</>\n───────────\na     1\n── x\n");
  EXPECT_EQ(with_headings(table, {}), table);
  for (const char* text : {"", "\n", "───", "\n───\n", "a\nb"}) EXPECT_EQ(with_headings(text, {.heading = "<b>"}), text);
  EXPECT_EQ(with_headings("a\n───", {.heading = "<b>"}), "<b>a\n───");
}

TEST(Diagnostics, Colours) {
  Palette palette{.error = "<e>", .warning = "<w>", .note = "<n>", .caret = "<c>", .reset = "</>"};
  Error error({"a.json", 2, 3}, "wrong");
  error.diagnostics[0].source_line = "  x";
  error.note("so it is");
  EXPECT_EQ(to_string(error, palette), "a.json:2:3: <e>error:</> wrong\n  x\n  <c>^</>\n<n>note:</> so it is");
  EXPECT_EQ(to_string(error), "a.json:2:3: error: wrong\n  x\n  ^\nnote: so it is");
}

}  // namespace
}  // namespace sheaf
