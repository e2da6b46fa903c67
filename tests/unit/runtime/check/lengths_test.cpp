// Numbers in place of a plan's lengths.
#include "runtime/check/lengths.h"

#include "plan_document.h"
#include "runtime/base/extent_product.h"
#include "runtime/plan/op_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sheaf {
namespace {

using testing::HasSubstr;

/// linear and an element-wise kernel on [batch, seq, 5], where seq is at most 16.
Plan plan_with_length() {
  const Extent seq = Extent::symbol("seq"), rows = multiplied(samples::batch(), seq);
  const Place device{Place::device, 0};
  Plan plan = samples::sample_plan();
  plan.requires_ = {kLengthsFeature};
  plan.infer_graph = {};
  plan.infer = {};
  plan.infer.symbols = {{"batch", Symbol::batch, -1, {}}, {"seq", Symbol::length, -1, 16}};
  samples::ProgramBuilder builder(plan.infer);
  const int x = builder.value("x", {samples::batch(), seq, 5}, {}, Value::input);
  const int weight = builder.parameter("net.module.weight", {2, 5});
  const int moved = builder.value("moved", {samples::batch(), seq, 5}, device);
  builder.step(Op::transfer, {{"x", x}}, {moved}, Json::object(), device).reason = "it starts there";
  const int y = builder.value("y", {samples::batch(), seq, 2}, device);
  builder.step(Op::linear, {{"x", moved}, {"weight", weight}}, {y}, Json::object(), device);
  const int flat = builder.value("flat", {rows * 2}, device);
  builder.step(Op::view, {{"x", y}}, {flat}, Json::object(), device);
  const int z = builder.value("z", {rows * 2}, device);
  builder.step(Op::kernel, {{"x", flat}}, {z}, {{"extents", {"2*batch*seq"}}, {"work", "2*batch*seq"}, {"grain", 1024}}, device)
      .kernel = "fold";
  builder.output("z", z);
  return plan;
}

std::string refusal(const LengthNumbers& numbers) {
  const auto made = with_lengths(plan_with_length(), numbers);
  return made ? "no error" : to_string(made.error());
}

TEST(Lengths, APlanStatesThem) {
  const std::vector<Length> lengths = lengths_of(plan_with_length());
  ASSERT_EQ(lengths.size(), 1U);
  EXPECT_EQ(lengths[0].name, "seq");
  EXPECT_EQ(lengths[0].largest, 16);
  EXPECT_TRUE(lengths_of(samples::sample_plan()).empty());
}

TEST(Lengths, NumbersTakeTheirPlace) {
  const auto plan = with_lengths(plan_with_length(), {{"seq", 7}});
  ASSERT_TRUE(plan) << to_string(plan.error());
  EXPECT_TRUE(lengths_of(*plan).empty());
  EXPECT_TRUE(plan->requires_.empty());
  ASSERT_EQ(plan->infer.symbols.size(), 1U);
  EXPECT_EQ(plan->infer.values[0].shape, (std::vector<Extent>{samples::batch(), 7, 5}));
  EXPECT_EQ(plan->infer.values.back().shape, (std::vector<Extent>{samples::batch(14)}));
  const Json& attributes = plan->infer.steps.back().attributes;
  EXPECT_EQ(attributes.at("extents"), (Json{"14*batch"}));
  EXPECT_EQ(attributes.at("work"), "14*batch");
}

TEST(Lengths, NumbersThatDoNotFitAreRefused) {
  EXPECT_THAT(refusal({}), HasSubstr("the length 'seq', at most 16, has no number"));
  EXPECT_THAT(refusal({{"seq", 17}}), HasSubstr("the length 'seq', at most 16, can't be 17"));
  EXPECT_THAT(refusal({{"seq", 0}}), HasSubstr("can't be 0"));
  EXPECT_THAT(refusal({{"seq", 7}, {"sec", 7}}), HasSubstr("'sec' is no length of this plan, which has 'seq'"));
  EXPECT_EQ(refusal({{"seq", 16}}), "no error");
}

TEST(Lengths, APlanIsReadBackAsItWasWritten) {
  const std::string text = serialize(plan_with_length());
  EXPECT_THAT(text, HasSubstr(R"({"name":"seq","kind":"length","of":"16"})"));
  const auto read = parse_plan("m.plan", text);
  ASSERT_TRUE(read) << to_string(read.error());
  EXPECT_EQ(serialize(*read), text);
}

TEST(Lengths, TheReaderChecksAPlanWithItsLargestNumbers) {
  const auto error_with = [](void (*change)(Json&)) {
    Json document = Json::parse(serialize(plan_with_length()));
    change(document);
    return error_of(sign(document));
  };
  EXPECT_THAT(error_with([](Json& plan) { plan["requires"] = Json::array(); }), HasSubstr("the plan has lengths"));
  EXPECT_THAT(error_with([](Json& plan) { plan["programs"]["infer"]["symbols"][1]["of"] = "-1"; }), HasSubstr("out of bounds"));
  EXPECT_THAT(error_with([](Json& plan) { plan["programs"]["infer"]["symbols"][1]["name"] = "batch"; }),
              HasSubstr("'batch' is a length and something else"));
  EXPECT_THAT(error_with([](Json& plan) { plan["programs"]["infer"]["values"][2]["shape"][1] = "sec"; }),
              HasSubstr("the unknown symbol 'sec'"));
}

TEST(Lengths, WhatIsGivenMustAgree) {
  GivenLengths given;
  const std::vector<Length> lengths = {{"seq", 16}};
  const std::vector<Extent> shape = {samples::batch(), Extent::symbol("seq")};
  EXPECT_TRUE(given.add(lengths, shape, std::vector<int64_t>{3, 7}, "'a'"));
  EXPECT_TRUE(given.add("seq", 7, "--length"));
  EXPECT_EQ(given.numbers(), (LengthNumbers{{"seq", 7}}));
  const auto other = given.add(lengths, shape, std::vector<int64_t>{3, 8}, "'b'");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().message(), "the length 'seq' is 7 by 'a', but 8 by 'b'");
}

}  // namespace
}  // namespace sheaf
