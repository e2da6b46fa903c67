// Models compiled and verified in a test.
#pragma once

#include "tools/driver/compile.h"
#include "runtime/session/open_devices.h"
#include "sheaf/model.h"
#include "tools/verify/compiler_check.h"
#include "tools/verify/verify.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace sheaf {

inline Plan compiled(const std::string& text, const CompileOptions& options = {}) {
  auto model = frontend::parse_model("m.json", text);
  if (!model) {
    ADD_FAILURE() << to_string(model.error());
    return {};
  }
  auto plan = compile(*model, options);
  if (!plan) {
    ADD_FAILURE() << to_string(plan.error());
    return {};
  }
  return std::move(*plan);
}

/// Without regions, and nothing fused.
inline Plan unpartitioned(const std::string& text) {
  CompileOptions apart;
  apart.unpartitioned = apart.unfused = true;
  return compiled(text, apart);
}

inline VerifyOptions on(const std::string& devices, int64_t batch) {
  VerifyOptions options;
  auto list = parse_devices(devices);
  auto opened = list ? open_devices(*list, 2) : Result<DeviceSet>(list.error());
  EXPECT_TRUE(opened);
  if (opened) options.devices = std::make_shared<const DeviceSet>(std::move(*opened));
  options.batch = batch;
  return options;
}

inline NamedTensors initial_weights(const Plan& plan) {
  auto model = Model::from_plan(plan);
  EXPECT_TRUE(model && model->initialise_parameters(1));
  auto weights = weights_of(*model);
  EXPECT_TRUE(weights);
  return std::move(*weights);
}

inline Verification verified(const Plan& plan, const VerifyOptions& options) {
  auto data = data_for(plan, options.batch, 1);
  EXPECT_TRUE(data);
  auto found = verify(plan, initial_weights(plan), *data, options);
  if (!found) {
    ADD_FAILURE() << to_string(found.error());
    return {};
  }
  return std::move(*found);
}

inline Verification compared(const Plan& plan, const Plan& reference, const VerifyOptions& options,
                             const MixingPrograms& mixes = {}) {
  auto data = data_for(reference, options.batch, 1);
  EXPECT_TRUE(data);
  auto found = verify_compiler(plan, reference, initial_weights(reference), *data, options, mixes);
  if (!found) {
    ADD_FAILURE() << to_string(found.error());
    return {};
  }
  return std::move(*found);
}

inline std::string explained(const Verification& verification) {
  for (const ProgramVerification& program : verification.programs)
    if (program.divergence)
      return program.program + ": " + to_text(*program.divergence) + "; " + program.divergence->explanation;
  return "";
}

/// The first divergence; there must be one.
inline Divergence divergence(const Verification& verification) {
  for (const ProgramVerification& program : verification.programs)
    if (program.divergence) return *program.divergence;
  ADD_FAILURE() << "nothing was found";
  return {};
}

/// A data-parallel layer `net` of these layers between rows of 5 and rows of 3, trained by SGD with momentum.
inline std::string perceptron(const std::string& layers) {
  return R"({"sheaf": "1.0", "name": "m", "inputs": {"x": {"shape": ["batch", 5]}},
  "layers": [{"name": "net", "type": "DataParallel", "module": {"type": "Sequential", "layers": [)" +
         layers + R"(]}}],
  "training": {"targets": {"y": {"shape": ["batch", 3]}}, "loss": {"type": "MSELoss", "inputs": ["net", "y"]},
               "optimizer": {"type": "SGD", "lr": 0.1, "momentum": 0.9}}})";
}
inline const std::string kLayers =
    R"({"name": "fc1", "type": "Linear", "in_features": 5, "out_features": 8}, {"name": "act", "type": "Tanh"},
       {"name": "fc2", "type": "Linear", "in_features": 8, "out_features": 3})";

}  // namespace sheaf
