// One of a training step's programs, bound: its buffers by name, its settings (internal to the Trainer's sources).
#pragma once

#include "runtime/bind/binding.h"
#include "runtime/session/model_state.h"
#include "runtime/training/schedule.h"

#include <array>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace sheaf {

/// The values of a step's settings (docs/training.md); its programs' inputs of that role point here.
struct StepSettings {
  int64_t step = 0, seed = 0, micro_batch = 0, first_row = 0;
  float lr = 0;
  std::map<std::string, float> group_lr;  ///< of parameter groups with their own rate, by setting

  /// The rates of the next step: `base` under the plan's schedule, and those of its parameter groups, which keep their
  /// proportion to the optimizer's own rate. Called before settings are found, too.
  void set_rates(const Plan& plan, double base, const TrainingTime& time);
  const void* find(const std::string& name) const;
};

class StepProgram {
 public:
  /// `rows` of the batch; `names` are the caller's buffers' in run(); `sized` is as ModelState::sized() makes it. `settings`,
  /// `model` and `sized` must outlive it.
  static Result<StepProgram> bind(ModelState& model, Program Plan::* which, std::shared_ptr<const DeviceSet> devices,
                                  int64_t rows, const BindOptions& options, std::span<const ValueInfo> names,
                                  const StepSettings& settings, const Plan* sized);

  /// The program's loss. It is returned even if it isn't finite; then no variable is changed.
  /// `next`: what is given to the next run (Binding::run()); none: empty.
  Result<float> run(std::span<const void* const> given, const RunOptions& options, std::span<const void* const> next = {});
  /// Whether it can be started while the run before is under way (Binding::overlaps()).
  bool overlaps() const { return binding_->overlaps(); }
  /// Then: hands a run over; finish() returns the loss of the oldest run that was started. At most two are under way. If a loss isn't
  /// finite, or a run fails, those started later change nothing and are forgotten.
  Result<void> start(std::span<const void* const> given, const RunOptions& options, std::span<const void* const> next = {});
  Result<float> finish();
  /// The layer whose result wasn't finite first (Binding::first_not_finite); empty if all are.
  Result<std::string> first_not_finite(std::span<const void* const> given);

  /// The sizes of caller's buffer `index` for these rows.
  const std::vector<int64_t>& shape(size_t index) const { return binding_->inputs()[places_[index]].dims; }
  /// Its dtype: the plan's, or uint8 where its numbers are looked up (BindOptions::bytes).
  DType dtype(size_t index) const { return binding_->inputs()[places_[index]].dtype; }
  /// The rows of caller's buffer `index` that this process reads.
  const Run& rows_read(size_t index) const { return binding_->rows_read()[places_[index]]; }
  const Binding& binding() const { return *binding_; }

 private:
  void take(std::span<const void* const> given, std::span<const void* const> next = {});

  std::vector<size_t> places_;        ///< by caller's buffer: among the binding's inputs
  std::vector<const void*> next_;     ///< likewise, of the next run
  std::vector<const void*> buffers_;  ///< the binding's inputs: the caller's and the settings
  std::array<float, 2> losses_{};     ///< of runs under way, in turn
  size_t newest_ = 0, under_way_ = 0;
  std::unique_ptr<Binding> binding_;  ///< gone first: its runs write the losses
};

}  // namespace sheaf
