// Variables as a test looks at them.
#pragma once

#include "sheaf/trainer.h"

#include <gtest/gtest.h>

#include <span>
#include <vector>

namespace sheaf {

template <typename T = float>
std::vector<T> parameter_values(const Model& model, size_t index) {
  size_t count = 1;
  for (const int64_t size : model.parameters()[index].shape) count *= static_cast<size_t>(size);
  std::vector<T> values(count);
  auto read = model.read_parameter(index, std::as_writable_bytes(std::span(values)));
  EXPECT_TRUE(read) << to_string(read.error());
  return values;
}

inline std::vector<float> state_values(const Model& model, const Trainer& trainer, size_t index) {
  size_t count = 1;
  for (const int64_t size : trainer.state()[index].shape) count *= static_cast<size_t>(size);
  std::vector<float> values(count);
  auto read = trainer.read_state(index, std::as_writable_bytes(std::span(values)));
  EXPECT_TRUE(read) << to_string(read.error());
  return values;
}

}  // namespace sheaf
