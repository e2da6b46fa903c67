// Variables as a test looks at them.
#pragma once

#include "runtime/plan/plan.h"
#include "runtime/training/trainer.h"

#include <gtest/gtest.h>

#include <vector>

namespace sheaf {

template <typename T = float>
std::vector<T> parameter_values(const Model& model, size_t index) {
  size_t count = 1;
  for (const int64_t size : model.parameters()[index].shape) count *= static_cast<size_t>(size);
  std::vector<T> values(count);
  auto read = model.read_parameter(index, values.data());
  EXPECT_TRUE(read) << to_string(read.error());
  return values;
}

inline std::vector<float> state_values(const Model& model, const Trainer& trainer, size_t index) {
  size_t count = 1;
  for (const int64_t size : lasting_state(model.plan())[index].shape) count *= static_cast<size_t>(size);
  std::vector<float> values(count);
  auto read = trainer.read_state(index, values.data());
  EXPECT_TRUE(read) << to_string(read.error());
  return values;
}

}  // namespace sheaf
