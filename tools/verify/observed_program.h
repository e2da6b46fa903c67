// A program bound for observation, with its own weights.
#pragma once

#include "runtime/bind/binding.h"
#include "tools/verify/verify.h"

#include <functional>
#include <set>

namespace sheaf {

/// The settings of training step `step`, from 1 on, at the plan's learning rate: scalars by name.
Result<NamedTensors> settings_of(const Plan& plan, int64_t step, uint64_t seed);

/// Sees the value that an operation made on one replica, and may change it (true): later operations then compute with the
/// change.
struct Intervention {
  std::vector<bool> values;  ///< by value of the program: whether it is seen
  std::function<bool(int value, HostTensor& tensor)> change;
};

/// Binds a program to devices, beside any other: its parameters, buffers and state are its own.
class ObservedProgram {
 public:
  /// `plan` and `program` (one of its own) must outlive it. Errors: those of binding; missing weights.
  static Result<std::unique_ptr<ObservedProgram>> bind(const Plan& plan, const Program& program, const NamedTensors& variables,
                                                       const VerifyOptions& options);

  const Program& program() const { return program_; }
  Binding& binding() { return *binding_; }
  /// Sets parameters, buffers and state; unnamed ones stay as they are.
  Result<void> set(const NamedTensors& variables);
  /// The current value of one of them.
  Result<HostTensor> variable(const std::string& name);
  /// The binding's inputs, taken from tensors by the name of their value. Errors: one that is missing or misshapen.
  Result<std::vector<const void*>> inputs(const NamedTensors& given) const;
  /// Runs the program once, one operation after another, with these variables, and returns the requested values, whole: a value
  /// in a region as its chunks together. Values that no run can give whole (partial sums, a replica's own) are left out. They
  /// are captured before `change`.
  Result<std::map<int, HostTensor>> capture(const NamedTensors& variables, const NamedTensors& given,
                                            const std::set<int>& wanted, const Intervention& change = {});
  /// Memory for its outputs, by number; the next call gives the same.
  const std::vector<void*>& outputs() const { return outputs_; }
  const std::vector<HostTensor>& results() const { return results_; }

 private:
  explicit ObservedProgram(const Program& program) : program_(program) {}

  const Program& program_;
  std::shared_ptr<VariableStore> store_;
  std::unique_ptr<Binding> binding_;
  std::vector<HostTensor> results_;
  std::vector<void*> outputs_;
};

}  // namespace sheaf
