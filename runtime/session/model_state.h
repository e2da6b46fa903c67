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
  /// The plan with numbers for its lengths, to bind `program`, which may lack some of them: those need no number. Null: the plan has
  /// no lengths. Errors: with_lengths()'s.
  Result<std::shared_ptr<const Plan>> sized(Program Plan::* program, LengthNumbers numbers) const;
  /// Binds one of the plan's programs. `first_outputs`: for runs in two parts (BindRequest). `sized`: as sized() makes it; the
  /// binding doesn't keep it alive.
  Result<std::unique_ptr<Binding>> bind(Program Plan::* program, std::shared_ptr<const DeviceSet> devices, int64_t batch,
                                        const BindOptions& options, size_t first_outputs = 0, const Plan* sized = nullptr);
  /// Copies a parameter, buffer or entry of the optimiser's state to `plain`. Errors: `plain` hasn't its size; a device's.
  Result<void> read(const ParameterInfo& variable, std::span<std::byte> plain);
};

}  // namespace sheaf
