// A training step over a batch in parts: the plan's program `accumulate` for each of them, then `update`
// (docs/training.md).
#pragma once

#include "runtime/bind/saved_variables.h"
#include "runtime/training/step_program.h"

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sheaf {

class MicroBatches {
 public:
  /// Cuts `rows` rows into `parts` parts as torch.chunk does: there may be fewer, and the last may be smaller. `inputs` are the
  /// step's; `settings` and `model` must outlive it. Errors: the plan has no such programs; those of Model::bind.
  static Result<MicroBatches> bind(ModelState& model, std::shared_ptr<const DeviceSet> devices, int64_t rows, int64_t parts,
                                   const BindOptions& options, std::span<const ValueInfo> inputs, StepSettings& settings,
                                   const Plan* sized);

  /// A step: a buffer of the whole batch for each input. Returns the whole batch's loss. If it or a part's isn't finite,
  /// returns that one, and parameters, buffers and optimiser state are as they were.
  Result<float> run(std::span<const void* const> given, const RunOptions& options);
  Result<std::string> first_not_finite(std::span<const void* const> given);

  /// The rows of input `index` that this process reads: some of each part.
  std::vector<Run> rows_read(size_t index) const;
  const StepProgram& largest() const { return parts_.at(sizes_.front()); }

 private:
  /// How an input is divided.
  struct Cut {
    bool rows = false;       ///< it has rows
    size_t outer = 1;        ///< runs of rows; if more than one, a part's rows are gathered
    size_t row_bytes = 0;    ///< of one row within a run
    std::vector<char> part;  ///< the gathered rows
  };
  explicit MicroBatches(ModelState& model) : kept_(*model.store) {}
  Result<void> prepare(ModelState& model, std::span<const ValueInfo> inputs);
  /// Points `taken_` at rows [first, first + rows) of the inputs, for part number `part`.
  void take(std::span<const void* const> given, int64_t part, int64_t first, int64_t rows);

  StepSettings* settings_ = nullptr;
  int64_t rows_ = 0;
  std::vector<int64_t> sizes_;
  std::map<int64_t, StepProgram> parts_;  ///< by rows
  std::unique_ptr<StepProgram> update_;
  std::vector<Cut> cuts_;           ///< by input
  std::vector<const void*> taken_;  ///< by input
  SavedVariables kept_;             ///< buffers that `accumulate` changes, as they were before the step
};

}  // namespace sheaf
