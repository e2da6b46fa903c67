// A training step bound to a number of rows and to lengths: in one, or in micro-batches (internal to the Trainer's sources).
#pragma once

#include "runtime/session/bound_sizes.h"
#include "runtime/training/batch_loader.h"
#include "runtime/training/micro_batches.h"
#include "runtime/training/step_program.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sheaf {

class BatchStep {
 public:
  /// `inputs` are the step's; `settings` and `model` must outlive it. Errors: those of Model::bind(); `options` asks for
  /// micro-batches, and the plan has no programs for them.
  static Result<BatchStep> bind(ModelState& model, const std::shared_ptr<const DeviceSet>& devices, const BoundSize& size,
                                const BindOptions& options, std::span<const ValueInfo> inputs, StepSettings& settings);

  /// The loss; it is returned even if it isn't finite, and then no variable is changed.
  /// `next`: what is given to the next run, of as many rows; none: empty. Micro-batches make nothing of it.
  Result<float> run(std::span<const void* const> given, const RunOptions& options, std::span<const void* const> next = {});
  /// As StepProgram's. Micro-batches don't overlap.
  bool overlaps() const { return whole_ && whole_->overlaps(); }
  Result<void> start(std::span<const void* const> given, const RunOptions& options, std::span<const void* const> next) {
    return whole_->start(given, options, next);
  }
  Result<float> finish() { return whole_->finish(); }
  /// The layer whose result wasn't finite first; empty if all are.
  Result<std::string> first_not_finite(std::span<const void* const> given);

  /// Sizes of the inputs for these rows, and what they are given as.
  const std::vector<std::vector<int64_t>>& shapes() const { return shapes_; }
  DType dtype(size_t index) const { return parts_ ? parts_->largest().dtype(index) : whole_->dtype(index); }
  /// By input: which of these rows this process reads, in one or several runs.
  RowsRead rows_read() const;
  /// With micro-batches, the largest part's.
  const Binding& binding() const { return parts_ ? parts_->largest().binding() : whole_->binding(); }

 private:
  std::shared_ptr<const Plan> sized_;  ///< ModelState::sized()
  std::unique_ptr<StepProgram> whole_;
  std::unique_ptr<MicroBatches> parts_;
  std::vector<std::vector<int64_t>> shapes_;
};

}  // namespace sheaf
