// Sessions of a plan with a length: they take data of one number after another.
#include "runtime/plan/op_list.h"
#include "tests/fixtures/session_run.h"

#include "runtime/bind/binding.h"
#include "runtime/check/lengths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sheaf {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// A linear layer in a region on x [batch, seq, 5], and one on the host on z [seq, 5]; seq is at most 16, or fixed.
PlanBuilder two_layers(std::optional<int64_t> fixed = {}) {
  PlanBuilder b;
  const Extent seq = fixed ? Extent(*fixed) : Extent::symbol("seq");
  if (!fixed) {
    b.plan.requires_ = {kLengthsFeature};
    b.program.symbols.push_back({"seq", Symbol::length, -1, 16});
  }
  const int x = b.input("x", {b.batch(), seq, 5}), z = b.input("z", {seq, 5});
  const int w = b.parameter("w", {2, 5}), bias = b.parameter("b", {2});
  const int r = b.region("net", b.batch());
  const int part = b.scatter(x, r, 0, {b.chunk(r), seq, 5});
  const int y = b.linear(part, b.replicate(w, r), b.replicate(bias, r), "fc", {b.chunk(r), seq, 2}, b.in_region(r));
  b.output("y", b.gather(y, r, 0, {b.batch(), seq, 2}, b.host(), "net"));
  b.output("v", b.linear(z, w, bias, "head", {seq, 2}, b.host()));
  return b;
}

Model model_with_length() {
  auto model = Model::from_plan(two_layers().plan);
  EXPECT_TRUE(model && model->initialise_parameters(3));
  return *model;
}

struct Data {
  Data(int64_t rows, int64_t x_length, int64_t z_length)
      : x(numbers(size_t(rows * x_length * 5))),
        z(numbers(size_t(z_length * 5), 2)),
        y(size_t(rows * x_length * 2)),
        v(size_t(z_length * 2)),
        inputs{{"x", DType::float32, {rows, x_length, 5}, x.data()}, {"z", DType::float32, {z_length, 5}, z.data()}},
        outputs{{"y", DType::float32, {rows, x_length, 2}, y.data()}, {"v", DType::float32, {z_length, 2}, v.data()}} {}
  Data(int64_t rows, int64_t length) : Data(rows, length, length) {}
  std::vector<float> x, z, y, v;
  std::vector<TensorView> inputs;
  std::vector<MutableTensorView> outputs;
};

BindOptions of_lengths(LengthNumbers lengths) {
  BindOptions options;
  options.lengths = std::move(lengths);
  return options;
}

std::string refusal(const Result<void>& done) { return done ? "no error" : to_string(done.error()); }

TEST(SessionLengths, AModelStatesThem) {
  const Model model = model_with_length();
  ASSERT_EQ(model.lengths().size(), 1U);
  EXPECT_EQ(model.lengths()[0].name, "seq");
  EXPECT_EQ(model.lengths()[0].largest, 16);
  EXPECT_EQ(model.inputs()[0].batch_dim, 0);
  EXPECT_EQ(model.inputs()[1].batch_dim, -1);  // a length is no number of rows
}

TEST(SessionLengths, DataOfEachLengthGivesWhatAPlanOfThatLengthDoes) {
  for (const char* devices : {"cpu", "cpu:0", "cpu:0-2"}) {
    const Model model = model_with_length();
    auto session = model.bind(devices, 7, of_lengths({{"seq", 4}}));
    ASSERT_TRUE(session) << to_string(session.error());
    EXPECT_THAT(session->input_shape(0), ElementsAre(7, 4, 5));
    // More than a session keeps, and the first again.
    for (const int64_t length : {4, 1, 16, 2, 3, 5, 6, 8, 9, 10, 11, 4, 1}) {
      for (const int64_t rows : {7, 3}) {
        Data data(rows, length);
        ASSERT_EQ(refusal(session->run(data.inputs, data.outputs)), "no error");
        auto fixed = Model::from_plan(two_layers(length).plan);
        ASSERT_TRUE(fixed && fixed->initialise_parameters(3));
        auto expected = fixed->bind(devices, rows);
        ASSERT_TRUE(expected);
        Data same(rows, length);
        ASSERT_EQ(refusal(expected->run(same.inputs, same.outputs)), "no error");
        EXPECT_EQ(data.y, same.y) << devices << " " << rows << " " << length;
        EXPECT_EQ(data.v, same.v) << devices << " " << rows << " " << length;
      }
    }
    EXPECT_THAT(session->input_shape(0), ElementsAre(7, 4, 5));  // the whole batch's are as they were bound
  }
}

TEST(SessionLengths, NumbersThatDoNotFitAreRefused) {
  const Model model = model_with_length();
  EXPECT_THAT(to_string(model.bind("cpu", 2).error()), HasSubstr("the length 'seq', at most 16, has no number"));
  EXPECT_THAT(to_string(model.bind("cpu", 2, of_lengths({{"seq", 17}})).error()), HasSubstr("can't be 17"));
  EXPECT_THAT(to_string(model.bind("cpu", 2, of_lengths({{"seq", 4}, {"sec", 4}})).error()), HasSubstr("'sec' is no length"));
  auto session = model.bind("cpu", 2, of_lengths({{"seq", 4}}));
  ASSERT_TRUE(session) << to_string(session.error());
  const auto run = [&](Data data) { return refusal(session->run(data.inputs, data.outputs)); };
  EXPECT_THAT(run({2, 17}), HasSubstr("the length 'seq', at most 16, can't be 17, as it is by input 'x'"));
  EXPECT_THAT(run({2, 0}), HasSubstr("can't be 0, as it is by input 'x'"));
  EXPECT_THAT(run({2, 3, 5}), HasSubstr("the length 'seq' is 3 by input 'x', but 5 by input 'z'"));
  EXPECT_THAT(refusal(session->prepare(2, {{"seq", 17}})), HasSubstr("can't be 17"));
  EXPECT_EQ(refusal(session->prepare(1, {{"seq", 16}})), "no error");
  Data data(2, 3);
  data.inputs[0].shape = {2, 15};
  EXPECT_THAT(refusal(session->run(data.inputs, data.outputs)),
              HasSubstr("input 'x' is float32 [2, 15]; expected float32 [2, 3, 5]"));
  EXPECT_EQ(run({2, 3}), "no error");
}

TEST(SessionLengths, WhatIsMadeOfWeightsIsMadeOnceForAllLengths) {
  const Model model = model_with_length();
  auto session = model.bind("cpu:0-1", 4, of_lengths({{"seq", 4}}));
  ASSERT_TRUE(session) << to_string(session.error());
  const size_t derived = session->report().derived_bytes;
  for (const int64_t length : {1, 2, 3, 5, 6, 7, 8, 9, 10}) ASSERT_TRUE(session->prepare(4, {{"seq", length}}));
  auto other = model.bind("cpu:0-1", 4, of_lengths({{"seq", 4}}));
  ASSERT_TRUE(other);
  EXPECT_EQ(other->report().derived_bytes, derived);
}

}  // namespace
}  // namespace sheaf
