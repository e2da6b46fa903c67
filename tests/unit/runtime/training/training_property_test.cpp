// Random training programs on random device lists, compared bit by bit with a plain interpreter: variables read early and late,
// updated by values made anywhere, by each other, in place or not, or not at all because the run fails.
#include "runtime/plan/op_list.h"
#include "tests/fixtures/training_plan.h"
#include "tests/fixtures/variable_values.h"

#include "runtime/bind/binding.h"
#include "sheaf/trainer.h"
#include "tests/sim/strict_machine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

namespace sheaf {
namespace {

using Triple = std::array<float, 3>;

/// A program over values of three numbers each, and its meaning.
class RandomProgram {
 public:
  explicit RandomProgram(unsigned seed) : random_(seed) {
    region_ = b.region("net", std::nullopt);
    add(b.input("x", {3}), [](State& state) { return state.input; });
    for (int i = 0; i < 3 + pick(3); ++i) variable();
    const int steps = 8 + pick(25);
    const int loss_at = pick(steps);
    for (int i = 0; i < steps; ++i) {
      step();
      if (i == loss_at) loss();
    }
    updates();
    b.plan.training = {{"optimizer", {{"type", "SGD"}, {"lr", 0.5}}}};
    b.plan.train = b.plan.infer;
    b.plan.infer = {};
  }

  PlanBuilder b;
  struct State {
    int replicas = 1;
    Triple input{};
    std::vector<Triple> variables;
    std::vector<std::vector<Triple>> values;  ///< by value: one, or one for each replica
  };

  /// The variables after a run; unchanged if the loss isn't finite.
  std::vector<Triple> run(std::vector<Triple> variables, const Triple& input, int replicas, float& loss) const {
    State state{replicas, input, variables, {}};
    state.values.resize(b.plan.train.values.size());
    for (const auto& evaluate : meaning_) evaluate(state);
    loss = state.values[size_t(b.plan.train.outputs[0].value)][0][0];
    if (!std::isfinite(loss)) return variables;
    for (size_t i = 0; i < variables.size(); ++i) {
      for (const Update& update : b.plan.train.updates) {
        if (update.name == name(i)) variables[i] = state.values[size_t(update.value)][0];
      }
    }
    return variables;
  }
  size_t variables() const { return variables_; }

 private:
  static std::string name(size_t i) { return "w" + std::to_string(i); }
  int pick(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }

  /// A value outside regions, computed by `compute`.
  void add(int id, std::function<Triple(State&)> compute) {
    meaning_.push_back([id, compute](State& state) { state.values[size_t(id)] = {compute(state)}; });
    ids_.push_back(id);
  }

  void variable() {
    const size_t i = variables_++;
    Parameter parameter;
    parameter.name = name(i);
    parameter.shape = {3};
    parameter.init = {{"type", "normal"}};
    b.plan.parameters.push_back(parameter);
    const int id = b.value(name(i), {3}, place(false));
    b.program.values.back().role = Value::parameter;
    b.program.values.back().source = name(i);
    add(id, [i](State& state) { return state.variables[i]; });
  }

  Place place(bool region) {
    const int k = pick(region ? 5 : 4);
    return k == 0 ? b.host() : k < 4 ? b.device(k - 1) : b.in_region(region_);
  }
  Place place_of(int id) const { return b.plan.infer.values[size_t(id)].place; }
  std::string next() { return "v" + std::to_string(b.program.values.size()); }

  /// `id` or a movement of it to `to`.
  int at(int id, Place to) {
    const Place from = place_of(id);
    if (from == to) return id;
    const Json region = {{"region", region_}};
    if (from.kind == Place::region) {
      const bool sum = pick(2) == 0;
      const int moved = b.step(sum ? Op::reduce : Op::first, {id}, next(), {3}, to, region);
      meaning_.push_back([id, moved, sum](State& state) {
        Triple result = state.values[size_t(id)][0];
        for (int r = 1; sum && r < state.replicas; ++r) {
          for (size_t j = 0; j < 3; ++j) result[j] += state.values[size_t(id)][size_t(r)][j];
        }
        state.values[size_t(moved)] = {result};
      });
      ids_.push_back(moved);
      return moved;
    }
    const bool into = to.kind == Place::region;
    const int moved = into ? b.step(Op::replicate, {id}, next(), {3}, to, region) : b.step(Op::transfer, {id}, next(), {3}, to);
    meaning_.push_back([id, moved, into](State& state) {
      state.values[size_t(moved)].assign(into ? size_t(state.replicas) : 1, state.values[size_t(id)][0]);
    });
    ids_.push_back(moved);
    return moved;
  }

  void step() {
    const Place where = place(true);
    const int a = at(ids_[size_t(pick(int(ids_.size())))], where), c = at(ids_[size_t(pick(int(ids_.size())))], where);
    const int kind = pick(5);
    Json in_place = Json::object();
    if (kind < 4 && pick(3) > 0) in_place["in_place"] = Json::array({Json::array({0, 0})});
    const bool minus = kind < 2, add = kind == 2 || kind == 3;
    const int made = minus ? b.step("minus", {a, c}, next(), {3}, where, in_place)
                     : add ? b.step("halve_and_add", {a, c}, next(), {3}, where, in_place)
                           : b.step("slow_copy", {a}, next(), {3}, where);
    meaning_.push_back([=](State& state) {
      const auto& left = state.values[size_t(a)];
      const auto& right = state.values[size_t(c)];
      auto& result = state.values[size_t(made)];
      result = left;
      for (size_t r = 0; r < left.size(); ++r) {
        for (size_t j = 0; j < 3; ++j) {
          if (minus) result[r][j] = left[r][j] - right[r][j];
          if (add) result[r][j] = left[r][j] / 2 + right[r][j];
        }
      }
    });
    ids_.push_back(made);
  }

  void loss() {
    const Place where = place(false);
    const int a = at(ids_[size_t(pick(int(ids_.size())))], where), c = at(ids_[size_t(pick(int(ids_.size())))], where);
    const int made = b.step("squares", {a, c}, "loss", {}, where);
    meaning_.push_back([=](State& state) {
      float sum = 0;
      for (size_t j = 0; j < 3; ++j) {
        const float difference = state.values[size_t(a)][0][j] - state.values[size_t(c)][0][j];
        sum += difference * difference;
      }
      state.values[size_t(made)] = {{sum, 0, 0}};
    });
    b.output("loss", made);
  }

  void updates() {
    for (size_t i = 0; i < variables_; ++i) {
      if (pick(4) == 0 && !(i + 1 == variables_ && b.program.updates.empty())) continue;
      int value = -1;
      do {  // late values more often than early ones
        const int count = int(ids_.size());
        value = ids_[size_t(std::max(pick(count), pick(count)))];
      } while (place_of(value).kind == Place::region);
      b.program.updates.push_back({name(i), value});
    }
  }

  std::mt19937 random_;
  int region_ = 0;
  size_t variables_ = 0;
  std::vector<int> ids_;
  std::vector<std::function<void(State&)>> meaning_;
};

constexpr const char* kLists[] = {"cpu",
                                  "cpu:0,cpu:1,cpu:2",
                                  "cuda:0,cpu:0,cuda:0",
                                  "cpu:0,cpu:1,cpu:2,cpu:3",
                                  "cuda:0,cuda:1,cuda:2",
                                  "cuda:0,cuda:0,cuda:1",
                                  "cpu:0,cuda:1,cuda:0"};

TEST(TrainingProperty, RandomProgramsDoWhatTheyMean) {
  int updated = 0, in_place = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomProgram program(seed);
    SCOPED_TRACE(kLists[seed % std::size(kLists)]);
    sim::MachineOptions options = sim::strict(seed, std::make_shared<TrainingDevice>());
    options.collectives = seed % 2 == 0;
    sim::SimMachine machine(options);
    const auto list = machine.list(kLists[seed % std::size(kLists)]);
    const int replicas = std::max(1, list->entries());
    Plan plan = program.b.plan;
    auto model = Model::from_plan(std::move(plan));
    ASSERT_TRUE(model && model->initialise_parameters(seed));
    BindOptions bind;
    bind.graphs = seed % 5 != 0;
    auto trainer = Trainer::bind(*model, list, 1, bind);
    ASSERT_TRUE(trainer) << to_string(trainer.error());
    std::vector<Triple> variables(program.variables());
    const auto read = [&](size_t i) {
      Triple triple;
      std::ranges::copy(parameter_values(*model, i), triple.begin());
      return triple;
    };
    for (size_t i = 0; i < variables.size(); ++i) variables[i] = read(i);
    for (int step = 0; step < 4; ++step) {
      Triple input = {0.5F, float(step), -1};
      if (step == 2 && seed % 2 == 0) input[1] = std::numeric_limits<float>::infinity();
      float expected = 0;
      variables = program.run(variables, input, replicas, expected);
      const void* buffers[] = {input.data()};
      auto loss = trainer->step(buffers);
      ASSERT_TRUE(loss) << to_string(loss.error());
      ASSERT_EQ(std::isfinite(expected), std::isfinite(*loss));
      if (std::isfinite(expected)) ASSERT_EQ(*loss, expected);
      for (size_t i = 0; i < variables.size(); ++i) {
        const Triple found = read(i);
        ASSERT_EQ(std::memcmp(found.data(), variables[i].data(), sizeof found), 0) << "w" << i << " after step " << step;
      }
    }
    for (const OperationInfo& operation : trainer->binding().info().operations) in_place -= operation.op == Op::update;
    in_place += int(program.b.plan.train.updates.size());
    updated += int(program.b.plan.train.updates.size());
    model = Error("weights before the devices that hold copies of them");
  }
  EXPECT_GT(updated, 600);
  EXPECT_GT(in_place, 100) << "the programs should try updates in place";
}

}  // namespace
}  // namespace sheaf
