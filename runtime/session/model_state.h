// The state of a Model (internal to the C++ interface's sources).
#pragma once

#include "runtime/bind/binding.h"
#include "runtime/bind/variable_store.h"
#include "runtime/device/device.h"
#include "runtime/plan/plan.h"
#include "sheaf/model.h"

#include <map>
#include <memory>
#include <mutex>

namespace sheaf {

/// "float32 [20, 10]": a tensor in messages about parameters and states.
std::string described(DType dtype, std::span<const int64_t> shape);

/// `lengths`: those of the plan, which are no numbers of rows.
ValueInfo describe_value(const Value& value, std::string name, std::span<const Length> lengths = {});

struct ModelState {
  explicit ModelState(SharedPlan shared) : plan(std::move(shared)) {}

  const SharedPlan plan;
  std::vector<ValueInfo> inputs, outputs;
  std::vector<Length> lengths;
  std::vector<ParameterInfo> parameters;
  std::shared_ptr<VariableStore> store;
  std::map<const Device*, std::shared_ptr<const Kernels>> kernels;
  std::mutex mutex;  ///< of `kernels`

  Result<std::shared_ptr<const Kernels>> kernels_for(Device& device);
  /// Binds one of the plan's programs. `first_outputs`: for runs in two parts (BindRequest). `sized`: the plan with numbers for its
  /// lengths, which `program` is the inference program of; the binding doesn't keep it alive. Null: the plan has no lengths.
  Result<std::unique_ptr<Binding>> bind(const Program& program, std::shared_ptr<const DeviceSet> devices, int64_t batch,
                                        const BindOptions& options, size_t first_outputs = 0, const Plan* sized = nullptr);
  /// Copies a parameter, buffer or entry of the optimiser's state to `plain`. Errors: `plain` hasn't its size; a device's.
  Result<void> read(const ParameterInfo& variable, std::span<std::byte> plain);
};

}  // namespace sheaf
