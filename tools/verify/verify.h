// Whether a partitioned program computes what the unpartitioned one does.
#pragma once

#include "sheaf/tensor.h"
#include "runtime/device/device_set.h"
#include "sheaf/model.h"
#include "tools/verify/report.h"

#include <map>
#include <memory>
#include <string>

namespace sheaf {

class Model;

struct VerifyOptions {
  std::shared_ptr<const DeviceSet> devices;
  int64_t batch = 0;                ///< rows
  uint64_t seed = 0;                ///< of random data and of dropout
  double factor = 1;                ///< on all tolerances
  int steps = 2;                    ///< consecutive training steps: the second sees state that isn't zero
  bool infer = true, train = true;  ///< programs; train only if the plan has it
  BindOptions bind;                 ///< numerics and deterministic of it
};

using NamedTensors = std::map<std::string, HostTensor>;

/// A model's parameters, buffers and constants, by name. They must have been set.
Result<NamedTensors> weights_of(const Model& model);
/// Rows for a plan's inputs and targets, by name: from `sources` (runtime/data/source.h), the rest random: normal numbers, and
/// integers that tables have rows for. Errors: a source for no input or target; those of load_source.
Result<NamedTensors> data_for(const Plan& plan, int64_t batch, uint64_t seed,
                              const std::map<std::string, std::string>& sources = {});

/// Runs each program of `plan` twice over, partitioned as `options.devices` says and unpartitioned, on the same data, and
/// compares every value (docs/verify.md says how). `data` has the inputs and, for training, the targets. A divergence is a
/// finding, not an error. Errors: those of binding and running; a tensor that is missing or misshapen.
Result<Verification> verify(const Plan& plan, const NamedTensors& weights, const NamedTensors& data,
                            const VerifyOptions& options);

}  // namespace sheaf
