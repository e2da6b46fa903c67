#include "runtime/training/batch_step.h"

namespace sheaf {

Result<BatchStep> BatchStep::bind(ModelState& model, const std::shared_ptr<const DeviceSet>& devices, const BoundSize& size,
                                  const BindOptions& options, std::span<const ValueInfo> inputs, StepSettings& settings) {
  BatchStep bound;
  SHEAF_ASSIGN(bound.sized_, model.sized(&Plan::train, size.lengths));
  const Plan* const sized = bound.sized_.get();
  const int64_t rows = size.rows;
  if (options.micro_batches > 1) {
    SHEAF_ASSIGN(auto parts, MicroBatches::bind(model, devices, rows, options.micro_batches, options, inputs, settings, sized));
    bound.parts_ = std::make_unique<MicroBatches>(std::move(parts));
  } else {
    SHEAF_ASSIGN(auto whole, StepProgram::bind(model, &Plan::train, devices, rows, options, inputs, settings, sized));
    bound.whole_ = std::make_unique<StepProgram>(std::move(whole));
  }
  const StepProgram& program = bound.parts_ ? bound.parts_->largest() : *bound.whole_;
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::vector<int64_t> shape = program.shape(i);
    if (const int dim = inputs[i].batch_dim; dim >= 0) shape[static_cast<size_t>(dim)] = rows;
    bound.shapes_.push_back(std::move(shape));
  }
  return bound;
}

Result<float> BatchStep::run(std::span<const void* const> given, const RunOptions& options, std::span<const void* const> next) {
  return parts_ ? parts_->run(given, options) : whole_->run(given, options, next);
}

RowsRead BatchStep::rows_read() const {
  RowsRead all;
  for (size_t i = 0; i < shapes_.size(); ++i)
    all.push_back(parts_ ? parts_->rows_read(i) : std::vector<Run>{whole_->rows_read(i)});
  return all;
}

Result<std::string> BatchStep::first_not_finite(std::span<const void* const> given) {
  return parts_ ? parts_->first_not_finite(given) : whole_->first_not_finite(given);
}

}  // namespace sheaf
