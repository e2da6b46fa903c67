// One of the project's models, compiled.
#pragma once

#include "tests/paths/source_folder.h"
#include "tools/driver/compile.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace sheaf {

/// The plan of models/`name`.json; empty, and the test has failed, if there is none.
inline Plan compiled_model(const std::string& name, const CompileOptions& options = {}) {
  auto model = frontend::load_model(source_file("models/" + name) + ".json");
  auto plan = model ? compile(*model, options) : Result<Plan>(model.error());
  if (!plan) ADD_FAILURE() << to_string(plan.error());
  return plan ? std::move(*plan) : Plan{};
}

}  // namespace sheaf
