// The program that is measured: one of a plan's programs, bound, with its data in host memory.
#pragma once

#include "runtime/bind/binding.h"
#include "sheaf/tensor.h"
#include "sheaf/model.h"
#include "sheaf/trainer.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sheaf {

struct MeasuredProgramRequest {
  bool train = false;  ///< the training step; else inference
  int64_t batch = 0;
  BindOptions options;
  /// NAME → SOURCE of inputs and targets. Unnamed ones are random: normal numbers; integers that are valid indices of the
  /// tables they are looked up in, or of the loss's classes.
  std::map<std::string, std::string> sources;
};

class MeasuredProgram {
 public:
  /// Errors: those of binding; data that can't be read, or that don't have the batch's shape.
  static Result<MeasuredProgram> bind(const Model& model, std::shared_ptr<const DeviceSet> devices,
                                      const MeasuredProgramRequest& request);

  /// One call, or one training step. The learning rate is 0: the arithmetic is the same, and random data can't make the loss
  /// diverge. A non-finite loss is an error, as its step is only partly done. The output of Print layers is dropped. `trace`
  /// may be null.
  /// Where overlaps() and the step isn't traced, it returns once the step before it is done, as `sheaf train` goes on: finish()
  /// waits for the last one.
  Result<void> run(const std::shared_ptr<Trace>& trace = nullptr);
  /// Waits for all steps under way but the newest `stay`.
  Result<void> finish(size_t stay = 0);
  /// It trains, and steps can be under way together.
  bool overlaps() const { return trainer_ && trainer_->overlaps(); }
  const BindingInfo& info() const { return (trainer_ ? trainer_->binding() : session_->binding()).info(); }
  double bind_seconds() const { return bind_seconds_; }
  size_t data_bytes() const;  ///< inputs, targets and outputs

 private:
  Result<void> load(const Model& model, const MeasuredProgramRequest& request);

  std::vector<HostTensor> input_data_, output_data_;
  std::optional<Session> session_;
  std::optional<Trainer> trainer_;  ///< gone before the data, which steps under way may read
  std::vector<const void*> inputs_;
  std::vector<void*> outputs_;
  RunOptions run_;
  double bind_seconds_ = 0;
};

}  // namespace sheaf
