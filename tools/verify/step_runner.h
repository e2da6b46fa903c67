// One step of a program by itself, on the caller's tensors.
#pragma once

#include "runtime/bind/binding.h"
#include "sheaf/tensor.h"
#include "tools/verify/sizes.h"

namespace sheaf {

/// A step bound to sizes. Its direct inputs and outputs are given by position; outputs that mean nothing outside the
/// library that makes them (workspaces) or to the program (a status) stay empty.
class BoundStep {
 public:
  /// The values that the step reads, each once: its own inputs first (without workspaces), then those of the steps that
  /// make its workspaces, which run again with it.
  const std::vector<int>& inputs() const { return inputs_; }
  /// How many of inputs() the step itself reads.
  size_t own_inputs() const { return own_; }
  /// Runs it on tensors in the order of inputs(). The result has one for each of the step's outputs.
  Result<std::vector<HostTensor>> run(const std::vector<const HostTensor*>& inputs);

 private:
  friend class StepRunner;
  std::unique_ptr<Program> program_;
  std::unique_ptr<Binding> binding_;
  std::vector<int> inputs_;
  size_t own_ = 0;
  std::vector<int> results_;  ///< by output of the step: its index among the binding's outputs, -1: none
};

/// Binds steps on the host, each by itself, without anything of the partitioned run's binding (lanes, arenas, shared copies of
/// weights, formats passed on).
class StepRunner {
 public:
  /// `plan` must outlive the runner. Errors: its kernels can't be loaded.
  static Result<StepRunner> make(const Plan& plan, int threads);
  const Plan& plan() const { return *plan_; }
  enum Part { whole, without_activation };
  /// `replica`: sizes of one replica, or Sizes::kWhole. Errors: those of binding.
  Result<BoundStep> bind(const Program& program, int step, const Sizes& sizes, int replica, Part part = whole) const;

 private:
  explicit StepRunner(const Plan& plan) : plan_(&plan) {}
  const Plan* plan_;
  std::shared_ptr<const DeviceSet> host_;
  std::shared_ptr<const Kernels> kernels_;
};

/// Whether output `output` of `step` means something only to the step that makes it and those that read it.
bool is_opaque(const Program& program, const Step& step, size_t output);

}  // namespace sheaf
