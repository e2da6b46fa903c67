// A small model in training on virtual GPUs.
#pragma once

#include "tests/fixtures/training_plan.h"
#include "tests/fixtures/variable_values.h"
#include "tests/sim/sim_machine.h"

#include "sheaf/trainer.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace sheaf::gpu_training {

inline sim::MachineOptions machine(bool collectives = true) {
  sim::MachineOptions options;
  options.driver.devices = 3;
  options.driver.violation = [](const std::string& what) { ADD_FAILURE() << what; };
  options.library.operations = std::make_shared<TrainingDevice>();
  options.collectives = collectives;
  return options;
}

struct Batch {
  std::vector<float> x, t;
  explicit Batch(int64_t rows, int seed = 0) : x(size_t(rows) * 3), t(size_t(rows)) {
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(int(i * 7 + size_t(seed) * 5) % 5 - 2);
    for (size_t i = 0; i < t.size(); ++i) t[i] = static_cast<float>(int(i * 3 + size_t(seed)) % 4 - 1);
  }
  std::vector<const void*> buffers() const { return {x.data(), t.data()}; }
};

/// A model in training on a machine. Members are destroyed in an order in which nothing outlives what it needs.
struct Training {
  sim::SimMachine machine;
  std::shared_ptr<const DeviceSet> devices;
  Model model;
  std::unique_ptr<Trainer> trainer;

  Training(const sim::MachineOptions& options, const std::string& list, const TrainingOptions& plan, int64_t rows,
           const BindOptions& bind = {})
      : machine(options), devices(machine.list(list)), model(load(plan)) {
    auto bound = Trainer::bind(model, devices, rows, bind);
    EXPECT_TRUE(bound) << to_string(bound.error());
    if (bound) trainer = std::make_unique<Trainer>(std::move(*bound));
    if (trainer) trainer->progress().lr = 0.125 / double(rows + 1);
  }
  static Model load(const TrainingOptions& options) {
    TrainingPlan made(options);
    auto loaded = Model::from_plan(std::move(made.b.plan));
    EXPECT_TRUE(loaded && loaded->initialise_parameters(0));
    return *loaded;
  }
};

/// Batches too large for the common transfer of small inputs.
inline std::vector<Batch> large_batches(int64_t rows, int count) {
  std::vector<Batch> batches;
  for (int i = 0; i < count; ++i) batches.emplace_back(rows, i);
  return batches;
}

}  // namespace sheaf::gpu_training
