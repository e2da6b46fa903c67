// The compiler's phases of a training step's operations.
#include "runtime/ops/traits.h"
#include "tests/unit/tools/driver/compiled_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace sheaf {
namespace {

bool contains(const std::vector<int>& values, int value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

/// The steps that compute `value`, and those they need.
void collect(const Program& program, int value, std::set<const Step*>& steps) {
  for (const Step& step : program.steps) {
    if (!contains(step.outputs, value) || !steps.insert(&step).second) continue;
    for (int input : step.inputs) collect(program, input, steps);
  }
}

class PhasesOf : public ::testing::TestWithParam<const char*> {};

TEST_P(PhasesOf, LossIsForwardAndNewParametersAreUpdates) {
  const Plan plan = compiled_model(GetParam(), {.objects = false});
  std::set<std::string> parameters;
  for (const Parameter& parameter : plan.parameters)
    if (!parameter.buffer) parameters.insert(parameter.name);
  for (const Program* program : {&plan.train_graph, &plan.train}) {
    std::set<const Step*> forward;
    collect(*program, program->outputs[0].value, forward);
    for (const Step* step : forward) EXPECT_EQ(step->phase, Phase::forward) << step->layer;
    for (const Update& update : program->updates) {
      if (!parameters.contains(update.name)) continue;
      std::set<const Step*> steps;
      collect(*program, update.value, steps);
      const auto makes = [&](const Step* step) { return contains(step->outputs, update.value); };
      EXPECT_EQ((*std::find_if(steps.begin(), steps.end(), makes))->phase, Phase::update) << update.name;
      EXPECT_TRUE(std::any_of(steps.begin(), steps.end(), [](const Step* step) { return step->phase == Phase::backward; }));
    }
  }
  for (const Step& step : plan.infer.steps) EXPECT_EQ(step.phase, Phase::forward);
}

TEST_P(PhasesOf, MicroBatchesUpdateTheirSumsAlone) {
  const Plan plan = compiled_model(GetParam(), {.objects = false});
  for (const Step& step : plan.update.steps) EXPECT_EQ(step.phase, Phase::update);
  std::set<int> sums;
  for (const Update& update : plan.accumulate.updates) sums.insert(update.value);
  for (const Step& step : plan.accumulate.steps) {
    if (step.phase != Phase::update || moves(step.op)) continue;
    EXPECT_TRUE(std::any_of(step.outputs.begin(), step.outputs.end(), [&](int value) { return sums.contains(value); }))
        << step.layer;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, PhasesOf, ::testing::Values("data_parallel_model", "digits_cnn", "transformer_encoder"));

}  // namespace
}  // namespace sheaf
