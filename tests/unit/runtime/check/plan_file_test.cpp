// The .plan format: what is written is read back, and faults are refused with their place.
#include "plan_document.h"

#include "runtime/base/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

namespace sheaf {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(PlanFile, IsReadBackAsItWasWritten) {
  const Plan plan = samples::sample_plan();
  const std::string text = serialize(plan);
  const auto read = parse_plan("m.plan", text);
  ASSERT_TRUE(read) << to_string(read.error());
  EXPECT_EQ(serialize(*read), text);
  // Fields that serialize() might lose on both sides alike:
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
    EXPECT_EQ(
        std::tie(a.op, a.kernel, a.inputs, a.roles, a.outputs, a.attributes, a.place, a.layer, a.fused, a.reason, a.once),
        std::tie(b.op, b.kernel, b.inputs, b.roles, b.outputs, b.attributes, b.place, b.layer, b.fused, b.reason, b.once));
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

TEST(PlanFile, ALayerMayBeCalledAsWhatBindingAdds) {
  Plan plan = samples::sample_plan();
  Step layer;
  layer.type = "broadcast";
  layer.inputs = {0};
  layer.roles = {"x"};
  layer.outputs = {static_cast<int>(plan.infer_graph.values.size())};
  plan.infer_graph.values.push_back({"spread", DType::float32, {2}, {}, Value::temporary, "", {}});
  plan.infer_graph.steps.push_back(layer);
  auto read = parse_plan("m.plan", serialize(plan));
  ASSERT_TRUE(read) << to_string(read.error());
  EXPECT_EQ(read->infer_graph.steps.back().op, Op{});
  EXPECT_EQ(op_name(read->infer_graph.steps.back()), "broadcast");
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

TEST(PlanFile, SaysWhereJsonIsMalformed) {
  EXPECT_THAT(error_of("{\n  \"format\": \"sheaf-plan\",\n  oops"), StartsWith("m.plan:3:3: error: syntax error"));
  EXPECT_THAT(error_of(""), StartsWith("m.plan:1:1: error: syntax error"));
  EXPECT_THAT(error_of("{\"format\": \"sheaf-plan\" \"\xff\"}"), StartsWith("m.plan:1:"));
}

TEST(PlanFile, RefusesOtherFormatsVersionsAndFeaturesByName) {
  EXPECT_THAT(error_of("{}"), HasSubstr("not a plan"));
  EXPECT_THAT(error_of(R"({"sheaf": "1.0", "layers": []})"), HasSubstr("a model file, not a plan; `sheaf compile`"));
  EXPECT_THAT(error_of("[]"), HasSubstr("not a plan"));
  EXPECT_THAT(error_of("7"), HasSubstr("not a plan"));
  Json document = sample_document();
  for (const char* version : {"2.0", "0.9", "1.7"}) {
    document["version"] = version;
    EXPECT_THAT(error_of(sign(document)), StartsWith(std::string("m.plan: error: version: the plan has format ") + version));
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
  EXPECT_THAT(error_of(text), HasSubstr("the key 'op' appears twice"));
  // The same key in different objects is fine, whichever is open.
  EXPECT_THAT(error_of(R"({"a":{"b":1},"b":{"a":1,"c":[{"a":1},{"a":2}]},"c":1,"c":2})"),
              HasSubstr("the key 'c' appears twice"));
}

TEST(PlanFile, NamesThePathOfWhatIsWrong) {
  Json document = sample_document();
  document["programs"]["infer"]["steps"][2]["inputs"][0] = 99;
  EXPECT_EQ(error_of(sign(document)), "m.plan: error: programs.infer.steps[2]: there is no value 99");
  document = sample_document();
  document["programs"]["infer"]["steps"][2]["inputs"][0] = "x";
  EXPECT_THAT(error_of(sign(document)), StartsWith("m.plan: error: programs.infer.steps[2].inputs[0]: expected an integer"));
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

TEST(PlanFile, AKernelRunsInStepsThatItWasMadeFor) {
  const std::string made_for =
      R"(float32[2], float32[2] -> float32[2] {"extents":["2"],"work":"2","grain":1024,"in_place":[[0,0]]})";
  EXPECT_EQ(sample_document()["kernels"][0]["signatures"], Json::array({made_for}));
  const auto refused = [](const std::function<void(Json&)>& change) {
    Json document = sample_document();
    change(document);
    EXPECT_THAT(error_of(sign(document)), StartsWith("m.plan: error: kernels: 'fold' was not made for a step that runs it, "));
  };
  refused([](Json& d) { d["programs"]["infer"]["steps"][0]["attributes"]["work"] = "3"; });
  refused([](Json& d) { d["programs"]["infer"]["steps"][0]["attributes"].erase("in_place"); });
  refused([](Json& d) { d["kernels"][0]["signatures"] = Json::array(); });
  Json document = sample_document();
  document["kernels"][0].erase("signatures");
  EXPECT_THAT(error_of(sign(document)), StartsWith("m.plan: error: kernels[0]: the field 'signatures' is missing"));
  document["version"] = "1.3";  // plans of which nothing is known
  EXPECT_TRUE(parse_plan("m.plan", sign(document)));
}

TEST(PlanFile, KernelsForGpusAreReadBackAsText) {
  Plan plan = samples::sample_plan();
  plan.kernels[0].gpu_block = 256;
  plan.kernels[0].gpu_items = 1024;
  plan.objects.emplace_back(kPtxObject, ".entry fold\t\"\n");
  const std::string text = serialize(plan);
  EXPECT_THAT(text, HasSubstr("\"version\": \"1.4\""));
  EXPECT_THAT(text, HasSubstr(R"("text":".entry fold\t\"\n")"));
  const auto read = parse_plan("m.plan", text);
  ASSERT_TRUE(read) << to_string(read.error());
  EXPECT_EQ(serialize(*read), text);
  EXPECT_EQ(read->objects, plan.objects);
  EXPECT_EQ(read->kernels[0].gpu_block, 256);
  EXPECT_EQ(read->kernels[0].gpu_items, 1024);
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
  for (const char* text :
       {"", "hosts", "device", "device:", "device:-1", "device:01", "device:1 ", "region:x", "region:99999999999", "cuda:0"})
    EXPECT_FALSE(parse_place(text)) << text;
}

}  // namespace
}  // namespace sheaf
