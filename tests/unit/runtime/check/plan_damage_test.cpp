// Plans that are damaged or hostile: each is refused with its place, and none does harm.
#include "plan_document.h"
#include "runtime/plan/op_list.h"

#include "runtime/bind/chunk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

namespace sheaf {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(PlanDamage, RefusesEveryTruncation) {
  const std::string text = serialize(samples::one_step(Op::view, {{"x", {6}}}, {{2, 3}}));
  ASSERT_TRUE(parse_plan("m.plan", text));
  for (size_t size = 0; size + 1 < text.size(); ++size) ASSERT_FALSE(parse_plan("m.plan", text.substr(0, size))) << size;
}

TEST(PlanDamage, RefusesEveryFlippedBit) {
  std::string text = serialize(samples::one_step(Op::view, {{"x", {6}}}, {{2, 3}}));
  for (size_t i = 0; i < text.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      text[i] = static_cast<char>(text[i] ^ 1 << bit);
      ASSERT_FALSE(parse_plan("m.plan", text)) << "byte " << i << ", bit " << bit;
      text[i] = static_cast<char>(text[i] ^ 1 << bit);
    }
}

TEST(PlanDamage, RefusesHostileSizesInBoundedTime) {
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

/// Calls `visit` for every node of `json` in turn.
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

// With a matching digest, so that the reader has to defend itself against the fields themselves.
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

TEST(PlanDamage, SurvivesAnyFieldReplacedByAnything) {
  Json document = sample_document();
  survives_any_field_replaced(document, document);
}

TEST(PlanDamage, SurvivesAnyFieldOfATrainingProgramReplacedByAnything) {
  Plan plan = samples::training_plan();
  plan.infer_graph = plan.train_graph = {};
  Json document = Json::parse(serialize(plan));
  for (Json* part : {&document["programs"]["train"], &document["state"]}) survives_any_field_replaced(document, *part);
}

TEST(PlanDamage, EveryFieldIsNeededOrHasADefault) {
  Json document = sample_document();
  const std::set<std::string> optional = {"buffer",        "constant",   "aliases",  "elementwise", "device_ids",
                                          "output_device", "attributes", "fused",    "reason",      "once",
                                          "kernel",        "source",     "in_place", "location",    "activation"};
  for_each_node(document, [&](Json& node) {
    if (!node.is_object()) return;
    const Json original = node;
    for (const auto& item : original.items()) {
      node.erase(item.key());
      const auto plan = parse_plan("m.plan", sign(document));
      const bool inside_free_json = original.contains("std") || original.contains("loss") || original.contains("in_features");
      if (!optional.contains(item.key()) && !inside_free_json && item.key() != "sha256" && item.key() != "type" &&
          item.key() != "out_features")
        EXPECT_FALSE(plan) << item.key() << " of " << original.dump().substr(0, 100);
      node = original;
    }
  });
}

}  // namespace
}  // namespace sheaf
