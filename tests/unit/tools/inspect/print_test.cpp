// Text, JSON and dot of small plans against golden files; JSON against the contract's fields.
#include "tests/paths/source_folder.h"
#include "tools/inspect/dump.h"
#include "tools/inspect/format.h"
#include "tests/unit/tools/inspect/dumped.h"
#include "tests/unit/tools/inspect/sample_plans.h"

#include <gmock/gmock.h>

#include <fstream>
#include <set>
#include <sstream>

namespace sheaf {
namespace {

using ::testing::HasSubstr;

const std::string kFolder = source_file("tests/unit/tools/inspect/golden/");

/// SHEAF_WRITE_GOLDEN=1 in the environment writes the files anew; read their diff before committing them.
void expect_golden(const std::string& file, const std::string& text) {
  if (std::getenv("SHEAF_WRITE_GOLDEN")) std::ofstream(kFolder + file) << text;
  std::ifstream stream(kFolder + file);
  ASSERT_TRUE(stream) << kFolder + file;
  std::stringstream expected;
  expected << stream.rdbuf();
  EXPECT_EQ(text, expected.str()) << file;
}

TEST(Golden, tutorial_on_two_devices) {
  const DumpOptions two = on({"cpu:0", "cpu:1"}, 30);
  expect_golden("tutorial.2.txt", dumped(samples::tutorial(), DumpFormat::text, two));
  expect_golden("tutorial.2.json", dumped(samples::tutorial(), DumpFormat::json, two));
  expect_golden("tutorial.2.dot", dumped(samples::tutorial(), DumpFormat::dot, two));
}

TEST(Golden, symbolic) {
  expect_golden("tutorial.txt", dumped(samples::tutorial(), DumpFormat::text));
  expect_golden("distributed.txt", dumped(samples::distributed(), DumpFormat::text));
  expect_golden("distributed.json", dumped(samples::distributed(), DumpFormat::json));
  expect_golden("explicit.json", dumped(samples::explicit_devices(), DumpFormat::json));
}

TEST(Golden, training_step) {
  DumpOptions symbolic, two = on({"cpu:0", "cpu:1"}, 30), host = on({"cpu"}, 30);
  symbolic.program = two.program = host.program = "train";
  expect_golden("training.txt", dumped(samples::training(), DumpFormat::text, symbolic));
  expect_golden("training.2.txt", dumped(samples::training(), DumpFormat::text, two));
  expect_golden("training.2.json", dumped(samples::training(), DumpFormat::json, two));
  EXPECT_THAT(dumped(samples::training(), DumpFormat::text, host), ::testing::Not(HasSubstr("reduce")));
  for (const DumpFormat format : {DumpFormat::dot, DumpFormat::html})
    EXPECT_THAT(dumped(samples::training(), format, two), HasSubstr("reduce"));
}

TEST(Dump, refuses_programs_that_the_plan_does_not_hold) {
  DumpOptions train;
  train.program = "train";
  const auto none = dump(samples::tutorial(), DumpFormat::text, train);
  ASSERT_FALSE(none);
  EXPECT_THAT(to_string(none.error()), HasSubstr("holds no program 'train'; it holds 'infer'"));
  train.program = "eval";
  const auto other = dump(samples::training(), DumpFormat::text, train);
  ASSERT_FALSE(other);
  EXPECT_THAT(to_string(other.error()), HasSubstr("it holds 'infer', 'train'"));
  Plan plan = samples::training();
  plan.train_ir = "module {}";
  train.program = "train";
  EXPECT_EQ(dumped(plan, DumpFormat::mlir, train), "module {}\n");
}

TEST(Json, has_every_field_of_the_contract) {
  const std::set<std::string> moving = {"scatter", "replicate", "gather", "transfer"};
  const Json json = Json::parse(dumped(samples::resnet18(), DumpFormat::json, on({"cpu:0", "cpu:1", "cpu:2"}, 10)));
  ASSERT_EQ(json.size(), 2u);
  std::set<std::string> ids;
  for (const Json& node : json.at("nodes")) {
    EXPECT_TRUE(ids.insert(node.at("id").get<std::string>()).second) << node;
    EXPECT_TRUE(node.at("op").is_string() && node.at("layer").is_string() && node.at("device").is_string()) << node;
    const bool inserted = moving.contains(node["op"]);
    EXPECT_EQ(inserted, node.contains("bytes_moved")) << node;
    EXPECT_EQ(inserted, node.contains("chunks")) << node;
    if (inserted) EXPECT_FALSE(node.at("reason").get<std::string>().empty()) << node;
    const bool replica = node["layer"].get<std::string>().starts_with("net.module.");
    EXPECT_EQ(replica, node.contains("replica")) << node;
  }
  EXPECT_EQ(json["nodes"][1]["chunks"], (Json{4, 4, 2}));
  for (const Json& edge : json.at("edges")) {
    EXPECT_TRUE(ids.contains(edge.at("from")) && ids.contains(edge.at("to"))) << edge;
    int64_t bytes = 4;
    for (const Json& dim : edge.at("shape")) bytes *= dim.get<int64_t>();
    EXPECT_EQ(edge.at("bytes"), bytes) << edge;
    EXPECT_EQ(edge.at("dtype"), "float32");
  }
}

TEST(Text, stays_within_140_columns) {
  std::stringstream text(dumped(samples::resnet18(), DumpFormat::text, on({"cpu:0", "cpu:1"}, 256)) +
                         dumped(samples::explicit_devices(std::string(200, 'n')), DumpFormat::text));
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("model ") || line.starts_with("region ")) continue;  // the names in full
    const auto columns = std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; });
    EXPECT_LE(columns, 140) << line;
  }
}

TEST(Dot, draws_device_boxes_colours_reasons_and_sizes) {
  const std::string dot = dumped(samples::resnet18(), DumpFormat::dot, on({"cpu:0", "cpu:1"}, 512));
  for (const char* part :
       {"label=\"host\"", "label=\"cpu:0\"", "label=\"cpu:1\"", "256×64×28×28 f32, 51.4 MB",
        "DataParallel splits x along dimension 0", "#d6e8fa", "#fde3c8", "parameters, 44.7 MB", "net.module.resnet_block4.1"})
    EXPECT_THAT(dot, HasSubstr(part));
}

TEST(Bytes, are_written_with_decimal_units) {
  EXPECT_EQ(bytes_text(Extent(0)), "0 B");
  EXPECT_EQ(bytes_text(Extent(999)), "999 B");
  EXPECT_EQ(bytes_text(Extent(999'949)), "999.9 kB");
  EXPECT_EQ(bytes_text(Extent(999'960)), "1.0 MB");
  EXPECT_EQ(bytes_text(Extent(int64_t{256} * 64 * 28 * 28 * 4)), "51.4 MB");
  EXPECT_EQ(bytes_text(Extent::symbol("replicas", 4800) + Extent(-4800)), "4.8 kB*replicas - 4.8 kB");
  EXPECT_EQ(bytes_text(std::nullopt), "?");
}

TEST(Chunks, are_counted_when_there_are_many) {
  EXPECT_EQ(chunks_text({4, 4, 2}), "4,4,2");
  EXPECT_EQ(chunks_text({2, 2, 2, 2, 2, 2, 2, 2, 1}), "2 (8 times), 1");
}

TEST(Dump, says_what_it_cannot_do) {
  const auto message = [](const Plan& plan, DumpFormat format, const DumpOptions& options) {
    const Result<std::string> text = dump(plan, format, options);
    return text ? "no error" : to_string(text.error());
  };
  const Plan plan = samples::tutorial();
  EXPECT_THAT(message(plan, DumpFormat::json, {{}, 30, "infer"}), HasSubstr("together, or neither"));
  EXPECT_THAT(message(plan, DumpFormat::json, {{"cpu:0"}, {}, "infer"}), HasSubstr("together, or neither"));
  EXPECT_THAT(message(plan, DumpFormat::json, {{}, {}, "train"}), HasSubstr("holds no program 'train'"));
  EXPECT_THAT(message(plan, DumpFormat::mlir, {}), HasSubstr("without its IR"));
  EXPECT_THAT(message(Plan{}, DumpFormat::text, {}), HasSubstr("without its logical program"));
}

TEST(Dump, mlir_is_the_plan_s_ir) {
  Plan plan = samples::tutorial();
  plan.ir = "module {\n}";
  EXPECT_EQ(dumped(plan, DumpFormat::mlir), "module {\n}\n");
}

TEST(Dump, knows_its_formats_by_name) {
  for (const char* name : {"text", "mlir", "dot", "svg", "html", "json"}) EXPECT_TRUE(dump_format_from_name(name)) << name;
  EXPECT_FALSE(dump_format_from_name("png"));
}

}  // namespace
}  // namespace sheaf
