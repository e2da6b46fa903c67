// The .plan format: what is written is read back, and damage of any kind is refused with its place.
#include "runtime/base/file.h"
#include "runtime/bind/chunk.h"
#include "runtime/plan/base64.h"
#include "runtime/plan/check.h"
#include "runtime/plan/reader.h"
#include "runtime/plan/serialize.h"
#include "runtime/plan/sha256.h"
#include "tests/unit/runtime/plan_samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace sheaf {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

/// The text of a document with the digest that fits it.
std::string sign(Json document) {
  if (!document.is_object()) return document.dump();
  document.erase("sha256");
  const std::string digest = sha256(document.dump());
  document["sha256"] = digest;
  return document.dump();
}

Json sample_document() { return Json::parse(serialize(samples::sample_plan())); }

std::string error_of(const std::string& text) {
  const auto plan = parse_plan("m.plan", text);
  return plan ? "no error" : to_string(plan.error());
}

TEST(Sha256, FollowsTheStandardsExamples) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_EQ(sha256(std::string(64, 'a')), "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
}

TEST(Base64, FollowsTheStandardsExamplesAndIsStrict) {
  const std::pair<const char*, const char*> cases[] = {
      {"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : cases) {
    EXPECT_EQ(to_base64(bytes), text);
    ASSERT_TRUE(from_base64(text));
    EXPECT_EQ(*from_base64(text), bytes);
  }
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  EXPECT_EQ(*from_base64(to_base64(all)), all);
  for (const char* text :
       {"Zg", "Zg=", "=", "====", "Zh==", "Z===", "Zm9v\n", "Zm 9", "Zg==Zg==", "Z=9v", "Zm9\xff"})
    EXPECT_FALSE(from_base64(text)) << text;
}

TEST(PlanFile, IsReadBackAsItWasWritten) {
  const Plan plan = samples::sample_plan();
  const std::string text = serialize(plan);
  const auto read = parse_plan("m.plan", text);
  ASSERT_TRUE(read) << to_string(read.error());
  EXPECT_EQ(serialize(*read), text);
  // What serialize() might lose on both sides alike:
  EXPECT_EQ(read->objects, plan.objects);
  EXPECT_EQ(read->regions[0].device_ids, plan.regions[0].device_ids);
  EXPECT_EQ(read->regions[0].output_device, plan.regions[0].output_device);
  EXPECT_EQ(read->regions[0].location.line, 7);
  EXPECT_EQ(read->infer.steps[1].location.column, 9);
  EXPECT_EQ(read->parameters[2].buffer, true);
  EXPECT_EQ(read->parameters[0].aliases, plan.parameters[0].aliases);
  EXPECT_EQ(read->parameters[0].init, plan.parameters[0].init);
  EXPECT_EQ(read->kernels[0].elementwise, true);
  EXPECT_EQ(read->training, plan.training);
  EXPECT_EQ(read->ir, plan.ir);
  ASSERT_EQ(read->infer.steps.size(), plan.infer.steps.size());
  for (size_t i = 0; i < plan.infer.steps.size(); ++i) {
    const Step& a = read->infer.steps[i];
    const Step& b = plan.infer.steps[i];
    EXPECT_EQ(a.location.line, b.location.line);
    EXPECT_EQ(std::tie(a.op, a.kernel, a.inputs, a.roles, a.outputs, a.attributes, a.place, a.layer, a.fused,
                       a.reason, a.once),
              std::tie(b.op, b.kernel, b.inputs, b.roles, b.outputs, b.attributes, b.place, b.layer, b.fused,
                       b.reason, b.once));
  }
  for (size_t i = 0; i < plan.infer.values.size(); ++i) {
    const Value& a = read->infer.values[i];
    const Value& b = plan.infer.values[i];
    EXPECT_EQ(std::tie(a.name, a.dtype, a.shape, a.place, a.role, a.source),
              std::tie(b.name, b.dtype, b.shape, b.place, b.role, b.source));
  }
  EXPECT_EQ(read->infer.symbols[1].of, plan.infer.symbols[1].of);
  EXPECT_EQ(read->infer_graph.steps.size(), plan.infer_graph.steps.size());
}

TEST(PlanFile, HasOneStepALine) {
  const std::string text = serialize(samples::sample_plan());
  EXPECT_THAT(text, HasSubstr("\n        {\"op\":\"scatter\""));
  EXPECT_THAT(text, HasSubstr("\n  \"name\": \"sample\",\n"));
}

TEST(PlanFile, WritesTextThatIsNotUtf8) {
  Plan plan = samples::sample_plan();
  plan.regions[0].location.file = "m\xff.json";
  EXPECT_TRUE(parse_plan("m.plan", serialize(plan)));
}

TEST(PlanFile, RefusesEveryTruncation) {
  const std::string text = serialize(samples::one_step("view", {{"x", {6}}}, {{2, 3}}));
  ASSERT_TRUE(parse_plan("m.plan", text));
  for (size_t size = 0; size + 1 < text.size(); ++size)
    ASSERT_FALSE(parse_plan("m.plan", text.substr(0, size))) << size;
}

TEST(PlanFile, RefusesEveryFlippedBit) {
  std::string text = serialize(samples::one_step("view", {{"x", {6}}}, {{2, 3}}));
  for (size_t i = 0; i < text.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      text[i] = static_cast<char>(text[i] ^ 1 << bit);
      ASSERT_FALSE(parse_plan("m.plan", text)) << "byte " << i << ", bit " << bit;
      text[i] = static_cast<char>(text[i] ^ 1 << bit);
    }
}

TEST(PlanFile, SaysWhereJsonIsMalformed) {
  EXPECT_THAT(error_of("{\n  \"format\": \"sheaf-plan\",\n  oops"),
              StartsWith("m.plan:3:3: error: syntax error"));
  EXPECT_THAT(error_of(""), StartsWith("m.plan:1:1: error: syntax error"));
  EXPECT_THAT(error_of("{\"format\": \"sheaf-plan\" \"\xff\"}"), StartsWith("m.plan:1:"));
}

TEST(PlanFile, RefusesOtherFormatsVersionsAndFeaturesByName) {
  EXPECT_THAT(error_of("{}"), HasSubstr("not a plan"));
  EXPECT_THAT(error_of(R"({"sheaf": "1.0", "layers": []})"), HasSubstr("a model file, not a plan; `sheaf compile`"));
  EXPECT_THAT(error_of("[]"), HasSubstr("not a plan"));
  EXPECT_THAT(error_of("7"), HasSubstr("not a plan"));
  Json document = sample_document();
  for (const char* version : {"2.0", "0.9", "1.4"}) {
    document["version"] = version;
    EXPECT_THAT(error_of(sign(document)),
                StartsWith(std::string("m.plan: error: version: the plan has format ") + version));
  }
  for (const char* version : {"1", "1.", ".0", "1.0.0", "x", "", "-1.0", "1.-1", "1.99999999999"}) {
    document["version"] = version;
    EXPECT_THAT(error_of(sign(document)), HasSubstr("is not a version")) << version;
  }
  document["version"] = "1.0";
  document["requires"] = {"telepathy"};
  EXPECT_THAT(error_of(sign(document)), HasSubstr("requires: the plan needs the feature 'telepathy'"));
}

TEST(PlanFile, RefusesContentThatDoesNotFitItsDigest) {
  Json document = sample_document();
  document["name"] = "changed";
  EXPECT_THAT(error_of(document.dump()), HasSubstr("the plan is damaged"));
  EXPECT_TRUE(parse_plan("m.plan", sign(document)));
  document.erase("sha256");
  EXPECT_THAT(error_of(document.dump()), HasSubstr("'sha256' is missing"));
}

TEST(PlanFile, RefusesKeysThatStandTwice) {
  std::string text = serialize(samples::sample_plan());
  const size_t at = text.find("\"op\":\"scatter\"");
  text.insert(at, "\"op\":\"scatter\",");
  EXPECT_THAT(error_of(text), HasSubstr("the key 'op' stands twice"));
  // The same key in different objects is fine, whichever is open.
  EXPECT_THAT(error_of(R"({"a":{"b":1},"b":{"a":1,"c":[{"a":1},{"a":2}]},"c":1,"c":2})"),
              HasSubstr("the key 'c' stands twice"));
}

TEST(PlanFile, RefusesHostileSizesInBoundedTime) {
  EXPECT_THAT(error_of(std::string(10'000'000, '[')), HasSubstr("nested deeper"));
  std::string nested;
  for (int i = 0; i < 1'000'000; ++i) nested += "{\"a\":";
  EXPECT_THAT(error_of(nested), HasSubstr("nested deeper"));
  std::string list = "[0";
  for (int i = 0; i < 4'000'001; ++i) list += ",0";
  EXPECT_THAT(error_of(list + "]"), HasSubstr("more than"));
  std::string keys = "{\"k\":0";
  for (int i = 0; i < 100'000; ++i) keys += ",\"" + std::to_string(i) + "\":0";
  EXPECT_THAT(error_of(keys + "}"), HasSubstr("keys"));
  EXPECT_THAT(error_of("{\"format\": 1e999}"), HasSubstr("number overflow"));
}

TEST(PlanFile, NamesThePathOfWhatIsWrong) {
  Json document = sample_document();
  document["programs"]["infer"]["steps"][2]["inputs"][0] = 99;
  EXPECT_EQ(error_of(sign(document)), "m.plan: error: programs.infer.steps[2]: there is no value 99");
  document = sample_document();
  document["programs"]["infer"]["steps"][2]["inputs"][0] = "x";
  EXPECT_THAT(error_of(sign(document)),
              StartsWith("m.plan: error: programs.infer.steps[2].inputs[0]: expected an integer"));
  document = sample_document();
  document["graphs"]["infer"]["values"][1]["shape"][0] = "1 + batch";
  EXPECT_THAT(error_of(sign(document)),
              StartsWith("m.plan: error: graphs.infer.values[1].shape[0]: '1 + batch' is not a size"));
  document = sample_document();
  document["kernels"][0]["surprise"] = 1;
  EXPECT_THAT(error_of(sign(document)), StartsWith("m.plan: error: kernels[0]: unknown field 'surprise'"));
  document = sample_document();
  document["objects"][1]["data"] = "?";
  EXPECT_THAT(error_of(sign(document)), StartsWith("m.plan: error: objects[1].data: base64"));
}

/// Every node of `json` in turn, as `visit` sees it.
void for_each_node(Json& json, const std::function<void(Json&)>& visit) {
  visit(json);
  if (!json.is_structured()) return;
  for (auto& child : json) for_each_node(child, visit);
}

/// A plan that was read may be bound: its sizes must be computable, or give an error.
void use(const Plan& plan) {
  for (const Program* program : {&plan.infer, &plan.infer_graph, &plan.train, &plan.train_graph})
    for (const int64_t batch : {0, 1, 7}) {
      const std::vector<int64_t> devices(plan.regions.size(), 3);
      const auto table = SymbolTable::build(plan, *program, batch, devices);
      if (!table) continue;
      for (const Value& value : program->values) (void)table->dims(value, 0);
    }
}

// With a digest that fits, so that the fields themselves are what the reader has to defend itself against.
void survives_any_field_replaced(Json& document, Json& part) {
  const std::vector<Json> hostile = {nullptr,
                                     true,
                                     -1,
                                     0,
                                     1,
                                     int64_t{1} << 40,
                                     INT64_MIN,
                                     UINT64_MAX,
                                     1e300,
                                     "",
                                     "batch",
                                     "chunk",
                                     "region:0",
                                     "9007199254740992*batch",
                                     "x",
                                     Json::array(),
                                     Json::object(),
                                     {0, 0},
                                     {"batch", "x"}};
  size_t refused = 0;
  size_t read = 0;
  for_each_node(part, [&](Json& node) {
    const Json original = node;
    for (const Json& other : hostile) {
      node = other;
      const auto plan = parse_plan("m.plan", sign(document));
      if (plan) {
        ++read;
        use(*plan);
      } else {
        ++refused;
        ASSERT_THAT(to_string(plan.error()), StartsWith("m.plan: error: "));
      }
    }
    node = original;
  });
  EXPECT_GT(refused, 10 * read);
  EXPECT_GT(read, 0u) << "names and texts are free";
}

TEST(PlanFile, SurvivesAnyFieldReplacedByAnything) {
  Json document = sample_document();
  survives_any_field_replaced(document, document);
}

TEST(PlanFile, SurvivesAnyFieldOfATrainingProgramReplacedByAnything) {
  Plan plan = samples::training_plan();
  plan.infer_graph = plan.train_graph = {};
  Json document = Json::parse(serialize(plan));
  for (Json* part : {&document["programs"]["train"], &document["state"]}) survives_any_field_replaced(document, *part);
}

TEST(PlanFile, KernelsForGpusAreReadBackAsText) {
  Plan plan = samples::sample_plan();
  EXPECT_THAT(serialize(plan), HasSubstr("\"version\": \"1.0\""));
  plan.kernels[0].gpu_block = 256;
  plan.kernels[0].gpu_items = 1024;
  plan.objects.emplace_back(kPtxObject, ".entry fold\t\"\n");
  const std::string text = serialize(plan);
  EXPECT_THAT(text, HasSubstr("\"version\": \"1.3\""));
  EXPECT_THAT(text, HasSubstr(R"("text":".entry fold\t\"\n")"));
  const auto read = parse_plan("m.plan", text);
  ASSERT_TRUE(read) << to_string(read.error());
  EXPECT_EQ(serialize(*read), text);
  EXPECT_EQ(read->objects, plan.objects);
  EXPECT_EQ(read->kernels[0].gpu_block, 256);
  EXPECT_EQ(read->kernels[0].gpu_items, 1024);
}

TEST(PlanFile, EveryFieldIsNeededOrHasADefault) {
  Json document = sample_document();
  const std::set<std::string> optional = {
      "buffer", "aliases", "elementwise", "device_ids", "output_device", "attributes", "fused",
      "reason", "once",    "kernel",      "source",     "in_place",      "location",   "activation"};
  for_each_node(document, [&](Json& node) {
    if (!node.is_object()) return;
    const Json original = node;
    for (const auto& item : original.items()) {
      node.erase(item.key());
      const auto plan = parse_plan("m.plan", sign(document));
      const bool inside_free_json =
          original.contains("std") || original.contains("loss") || original.contains("in_features");
      if (!optional.contains(item.key()) && !inside_free_json && item.key() != "sha256" &&
          item.key() != "type" && item.key() != "out_features")
        EXPECT_FALSE(plan) << item.key() << " of " << original.dump().substr(0, 100);
      node = original;
    }
  });
}

TEST(PlanFile, IsLoadedFromAFile) {
  std::string pattern = (std::filesystem::temp_directory_path() / "sheaf-plan-XXXXXX").string();
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  const std::string file = pattern + "/m.plan";
  ASSERT_TRUE(write_file_atomically(file, serialize(samples::sample_plan())));
  EXPECT_TRUE(load_plan(file));
  std::filesystem::resize_file(file, (uint64_t{512} << 20) + 1);
  const auto large = load_plan(file);
  ASSERT_FALSE(large);
  EXPECT_THAT(to_string(large.error()), HasSubstr("at most 536870912 are read"));
  EXPECT_FALSE(load_plan(pattern + "/missing.plan"));
  EXPECT_FALSE(load_plan(pattern));
  std::filesystem::remove_all(pattern);
}

TEST(Place, IsReadBack) {
  for (const Place& place : {Place{}, Place{Place::device, 3}, Place{Place::region, 0}}) {
    const auto parsed = parse_place(to_string(place));
    ASSERT_TRUE(parsed);
    EXPECT_EQ(*parsed, place);
  }
  for (const char* text : {"", "hosts", "device", "device:", "device:-1", "device:01", "device:1 ",
                           "region:x", "region:99999999999", "cuda:0"})
    EXPECT_FALSE(parse_place(text)) << text;
}

}  // namespace
}  // namespace sheaf
