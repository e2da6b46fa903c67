// Random programs on random device lists: whatever is partitioned, aliased, reordered or made in place, the result is that of
// the host alone; and equal chunks give equal bits wherever they run.
#include "tests/fixtures/plan_builder.h"
#include "runtime/plan/op_list.h"

#include "runtime/bind/binding.h"
#include "runtime/check/check.h"
#include "sheaf/model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace sheaf {
namespace {

constexpr int64_t kChannels = 16, kSide = 3;

/// Grows a program of convolutions, residual sums, views, regions and transfers on values [batch, C, side, side].
class RandomProgram {
 public:
  explicit RandomProgram(unsigned seed) : random_(seed) {
    at_hand_.push_back(b_.input("x", image({b_.batch()})));
    weight_ = b_.parameter("w", {kChannels, kChannels, 3, 3});
    bias_ = b_.parameter("b", {kChannels});
    b_.plan.parameters[0].init["std"] = 0.08;
    const int steps = 3 + pick(5);
    for (int i = 0; i < steps; ++i) {
      switch (pick(4)) {
        case 0: convolve_on(pick(2) ? b_.host() : b_.device(pick(3))); break;
        case 1: through_a_vector(); break;
        default: data_parallel(); break;
      }
    }
    for (int i = 0, outputs = 1 + pick(3); i < outputs; ++i) {
      b_.output("out" + std::to_string(i), i == 0 ? at_hand_.back() : at_hand_[size_t(pick(int(at_hand_.size())))]);
    }
    for (size_t i = 0; i < b_.program.values.size(); ++i) {
      if (b_.program.values[i].role == Value::temporary) b_.program.values[i].name += "#" + std::to_string(i);
    }
  }
  const Plan& plan() const { return b_.plan; }

 private:
  int pick(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }
  int any() { return at_hand_[size_t(pick(int(at_hand_.size())))]; }
  static std::vector<Extent> image(std::vector<Extent> rows) {
    rows.insert(rows.end(), {kChannels, kSide, kSide});
    return rows;
  }
  int moved(int value, Place place) {
    if (b_.program.values[size_t(value)].place == place) return value;
    return b_.step(Op::transfer, {value}, "moved", b_.program.values[size_t(value)].shape, place);
  }

  int convolve(int x, int weight, int bias, std::optional<int> residual, Place place) {
    Json attributes = {
        {"stride", {1, 1}}, {"padding_begin", {1, 1}}, {"padding_end", {1, 1}}, {"dilation", {1, 1}}, {"groups", 1}};
    if (pick(2)) attributes["activation"] = {{"kind", "relu"}};
    std::vector<int> inputs = {x, weight, bias};
    std::vector<std::string> roles = {"x", "weight", "bias"};
    if (residual) {
      inputs.push_back(*residual);
      roles.emplace_back("residual");
    }
    return b_.step(Op::conv, inputs, "conv", b_.program.values[size_t(x)].shape, place, attributes, roles);
  }

  void convolve_on(Place place) {
    const int x = moved(any(), place), w = moved(weight_, place), bias = moved(bias_, place);
    std::optional<int> residual;
    if (pick(2)) residual = moved(any(), place);
    at_hand_.push_back(convolve(x, w, bias, residual, place));
  }

  void through_a_vector() {
    const int x = any();
    const Place place = b_.program.values[size_t(x)].place;
    const int flat = b_.step(Op::view, {x}, "flat", {b_.batch(), kChannels * kSide * kSide}, place);
    at_hand_.push_back(b_.step(Op::view, {flat}, "back", image({b_.batch()}), place));
  }

  void data_parallel() {
    static const std::vector<std::vector<int>> groups = {{0, 1}, {1, 0}, {2, 1, 0}, {2, 2}, {1}, {0, 1, 2}};
    std::optional<std::vector<int>> ids;
    if (pick(2)) ids = groups[size_t(pick(int(groups.size())))];
    const int r = b_.region("net" + std::to_string(b_.plan.regions.size()), b_.batch(), ids);
    const Place place = b_.in_region(r);
    const int w = b_.replicate(weight_, r), bias = b_.replicate(bias_, r);
    std::vector<int> local;
    for (int i = 0, inputs = 1 + pick(2); i < inputs; ++i) local.push_back(b_.scatter(any(), r, 0, image({b_.chunk(r)})));
    const auto any_local = [&] { return local[size_t(pick(int(local.size())))]; };
    for (int i = 0, steps = 1 + pick(3); i < steps; ++i) {
      std::optional<int> residual;
      if (pick(2)) residual = any_local();
      local.push_back(convolve(any_local(), w, bias, residual, place));
      if (pick(3) == 0)
        local.push_back(b_.step(Op::print, {local.back()}, "print", image({b_.chunk(r)}), place, {{"text", "."}}));
    }
    for (int i = 0, outputs = 1 + pick(2); i < outputs; ++i) {
      const Place where = pick(3) ? b_.device(pick(3)) : b_.host();
      at_hand_.push_back(b_.gather(i == 0 ? local.back() : any_local(), r, 0, image({b_.batch()}), where, "gathered"));
    }
  }

  PlanBuilder b_;
  std::mt19937 random_;
  std::vector<int> at_hand_;  ///< values [batch, …] on the host or a device
  int weight_ = -1, bias_ = -1;
};

std::vector<std::vector<float>> run(const Model& model, const std::string& devices, int64_t batch) {
  auto session = model.bind(devices, batch);
  if (!session) {
    ADD_FAILURE() << to_string(session.error());
    return {};
  }
  for (const LaneInfo& lane : session->binding().info().lanes) EXPECT_LE(lane.arena_bytes, lane.arena_bound * 5 / 4) << devices;
  const size_t count = static_cast<size_t>(batch * kChannels * kSide * kSide);
  std::vector<float> x(count + 1);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 37 % 61) / 30 - 1;
  std::vector<std::vector<float>> outputs(model.outputs().size(), std::vector<float>(count + 1, -7.F));
  const void* in[] = {x.data()};
  std::vector<void*> out;
  for (auto& values : outputs) out.push_back(values.data());
  RunOptions options;
  options.print = [](std::string_view) {};
  for (int i = 0; i < 3; ++i) {
    auto ok = session->run(in, out, options);
    if (!ok) ADD_FAILURE() << to_string(ok.error());
  }
  return outputs;
}

TEST(LaneProperty, PartitionedIsUnpartitioned) {
  const std::vector<std::string> lists = {"cpu:0,cpu:1,cpu:2", "cpu:0,cpu:0,cpu:0", "cpu:2,cpu:1,cpu:0,cpu:3"};
#if defined(__has_feature) && (__has_feature(thread_sanitizer) || __has_feature(address_sanitizer))
  constexpr unsigned kPrograms = 4;
#else
  constexpr unsigned kPrograms = 12;
#endif
  for (unsigned seed = 0; seed < kPrograms; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RandomProgram program(seed);
    auto ok = check(program.plan(), "random.plan");
    ASSERT_TRUE(ok) << to_string(ok.error());
    auto model = Model::from_plan(program.plan());
    ASSERT_TRUE(model && model->initialise_parameters(seed));
    for (int64_t batch : {0, 1, 2, 3, 7}) {
      const auto expected = run(*model, "cpu", batch);
      std::vector<std::vector<float>> first;
      for (const std::string& list : lists) {
        const auto actual = run(*model, list, batch);
        ASSERT_EQ(actual.size(), expected.size());
        for (size_t o = 0; o < expected.size(); ++o) {
          float largest = 1;
          for (float value : expected[o]) largest = std::max(largest, std::abs(value));
          for (size_t i = 0; i < expected[o].size(); ++i) {
            ASSERT_NEAR(actual[o][i], expected[o][i], 1e-4F * largest)
                << list << ", batch " << batch << ", output " << o << " at " << i;
          }
        }
        if (first.empty()) first = actual;
        if (list == lists[1]) {
          EXPECT_EQ(actual, first) << "bits, batch " << batch;
        }
      }
    }
  }
}

}  // namespace
}  // namespace sheaf
