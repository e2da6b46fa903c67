// Models of TrainingPlan and what trains them.
#pragma once

#include "training_plan.h"
#include "variable_values.h"

#include "sheaf/trainer.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

namespace sheaf {

inline Model training_model(const TrainingOptions& options = {}) {
  TrainingPlan made(options);
  auto model = Model::from_plan(std::move(made.b.plan));
  EXPECT_TRUE(model && model->initialise_parameters(0));
  return *model;
}

/// Input and target of `rows` rows, others for each seed.
struct TrainingBatch {
  std::vector<float> x, t;
  explicit TrainingBatch(int64_t rows, int seed = 0) : x(size_t(rows) * 3), t(size_t(rows)) {
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(int(i * 7 + size_t(seed) * 5) % 5 - 2);
    for (size_t i = 0; i < t.size(); ++i) t[i] = static_cast<float>(int(i * 3 + size_t(seed)) % 4 - 1);
  }
  std::vector<const void*> buffers() const { return {x.empty() ? &nothing : x.data(), t.empty() ? &nothing : t.data()}; }
  static inline const float nothing = 0;
};

/// The only state that there is.
inline std::vector<float> momentum(const Model& model, const Trainer& trainer) {
  const auto entries = trainer.state();
  EXPECT_TRUE(entries.size() == 1 && entries[0].name == "w.m");
  return state_values(model, trainer, 0);
}

inline Result<Trainer> trainer_of(const Model& model, std::shared_ptr<const DeviceSet> devices, int64_t batch) {
  return Trainer::bind(model, std::move(devices), batch);
}

}  // namespace sheaf
