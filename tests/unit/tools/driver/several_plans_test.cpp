// Plans side by side in one process: each runs its own kernels.
#include "tools/driver/compile.h"
#include "sheaf/model.h"

#include <gtest/gtest.h>

namespace sheaf {
namespace {

/// A model that is one layer over a vector of 4 elements per row.
Result<Model> model_of(const std::string& layer) {
  auto model = frontend::parse_model(
      "m.json", R"({"sheaf": "1.0", "name": "m", "inputs": {"x": {"shape": ["batch", 4]}}, "layers": [)" + layer + "]}");
  if (!model) return model.error();
  auto plan = compile(*model);
  if (!plan) return plan.error();
  return Model::from_plan(std::move(*plan));
}

TEST(SeveralPlans, EachRunsItsOwnKernels) {
  // All their kernels have the same name.
  std::vector<Session> sessions;
  for (const char* slope : {"0.5", "0.25", "2"}) {
    auto model = model_of(std::string(R"({"type": "LeakyReLU", "negative_slope": )") + slope + "}");
    ASSERT_TRUE(model) << to_string(model.error());
    ASSERT_TRUE(model->initialise_parameters(0));
    auto session = model->bind("cpu", 1);
    ASSERT_TRUE(session) << to_string(session.error());
    sessions.push_back(std::move(*session));
  }
  const float x[] = {-4, 4, -8, 0};
  const float slopes[] = {0.5, 0.25, 2};
  for (size_t i = 0; i < sessions.size(); ++i) {
    float y[4] = {};
    const void* inputs[] = {x};
    void* outputs[] = {y};
    ASSERT_TRUE(sessions[i].run(inputs, outputs));
    EXPECT_EQ(y[0], -4 * slopes[i]) << "plan " << i;
    EXPECT_EQ(y[1], 4);
    EXPECT_EQ(y[2], -8 * slopes[i]);
  }
}

}  // namespace
}  // namespace sheaf
