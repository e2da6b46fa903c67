// Runs plans written by hand, for tests of sessions.
#pragma once

#include "plan_builder.h"

#include "runtime/check/check.h"
#include "sheaf/model.h"

#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <string>
#include <vector>

namespace sheaf {

/// Numbers between -1 and 1, others for each seed.
inline std::vector<float> numbers(size_t count, int seed = 1) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>((i * 7919 + size_t(seed) * 131) % 1021) / 512 - 1;
  return values;
}

/// A model with weights of its plan's distributions.
inline Model load(PlanBuilder builder) {
  if (auto ok = check(builder.plan, "test.plan"); !ok) ADD_FAILURE() << to_string(ok.error());
  auto model = Model::from_plan(std::move(builder.plan));
  EXPECT_TRUE(model);
  EXPECT_TRUE(model->initialise_parameters(3));
  return *model;
}

inline size_t count_of(const std::vector<int64_t>& shape) {
  return static_cast<size_t>(std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>()));
}

/// All outputs of the last of `runs` runs of a model whose inputs are all floats.
inline std::vector<std::vector<float>> run(const Model& model, const std::string& devices, int64_t batch, int runs = 1) {
  auto session = model.bind(devices, batch);
  if (!session) {
    ADD_FAILURE() << to_string(session.error());
    return {};
  }
  std::vector<std::vector<float>> inputs, outputs;
  std::vector<const void*> in;
  std::vector<void*> out;
  for (size_t i = 0; i < model.inputs().size(); ++i) {
    inputs.push_back(numbers(count_of(session->input_shape(i)), static_cast<int>(i) + 1));
    inputs.back().resize(inputs.back().size() + 1);  // a place for empty ones
  }
  for (size_t i = 0; i < model.outputs().size(); ++i) outputs.emplace_back(count_of(session->output_shape(i)) + 1, -77.F);
  for (auto& values : inputs) in.push_back(values.data());
  for (auto& values : outputs) out.push_back(values.data());
  for (int i = 0; i < runs; ++i) {
    if (auto ok = session->run(in, out); !ok) ADD_FAILURE() << to_string(ok.error());
  }
  for (auto& values : outputs) {
    EXPECT_EQ(values.back(), -77.F) << "written beyond the end";
    values.pop_back();
  }
  return outputs;
}

}  // namespace sheaf
