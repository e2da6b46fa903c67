#include "tools/bench/measured_program.h"

#include "runtime/data/source.h"
#include "tools/cli/random_ranges.h"

#include <chrono>
#include <cmath>

namespace sheaf {

Result<MeasuredProgram> MeasuredProgram::bind(const Model& model, std::shared_ptr<const DeviceSet> devices,
                                              const MeasuredProgramRequest& request) {
  MeasuredProgram bound;
  bound.run_.print = [](std::string_view) {};
  const auto start = std::chrono::steady_clock::now();
  if (request.train) {
    SHEAF_ASSIGN(bound.trainer_, Trainer::bind(model, std::move(devices), request.batch, request.options));
    bound.trainer_->progress().lr = 0;
  } else {
    SHEAF_ASSIGN(bound.session_, model.bind(std::move(devices), request.batch, request.options));
  }
  bound.bind_seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  SHEAF_TRY(bound.load(model, request));
  return bound;
}

Result<void> MeasuredProgram::load(const Model& model, const MeasuredProgramRequest& request) {
  const auto ranges = random_ranges(*model.plan());
  const std::vector<ValueInfo>& values = trainer_ ? trainer_->inputs() : session_->inputs();
  auto sources = request.sources;
  for (size_t i = 0; i < values.size(); ++i) {
    const ValueInfo& value = values[i];
    const std::vector<int64_t>& wanted = trainer_ ? trainer_->input_shape(i) : session_->input_shape(i);
    SourceRequest source{value.name, value.dtype, {}, 0, ranges.at(value.name)};
    for (const Extent& extent : value.shape) source.shape.push_back(extent.is_static() ? extent.constant : -1);
    const auto named = sources.find(value.name);
    const std::string text = named != sources.end() ? named->second
                             : value.batch_dim < 0  ? "random:1"
                                                    : "random:" + std::to_string(request.batch);
    SHEAF_ASSIGN(auto tensor, load_source(text, source));
    if (tensor.shape != wanted) {
      return Error(text + " has the shape " + shape_text(tensor.shape) + "; '" + value.name + "' takes " + shape_text(wanted));
    }
    if (named != sources.end()) sources.erase(named);
    inputs_.push_back(input_data_.emplace_back(std::move(tensor)).bytes.data());
  }
  if (!sources.empty()) return Error("the program takes no '" + sources.begin()->first + "'");
  for (size_t i = 0; session_ && i < model.outputs().size(); ++i) {
    SHEAF_ASSIGN(auto tensor, make_tensor(model.outputs()[i].dtype, session_->output_shape(i)));
    outputs_.push_back(output_data_.emplace_back(std::move(tensor)).bytes.data());
  }
  return {};
}

Result<void> MeasuredProgram::run(const std::shared_ptr<Trace>& trace) {
  if (run_.trace != trace) run_.trace = trace;
  if (session_) return session_->run(inputs_, outputs_, run_);
  SHEAF_TRY(trainer_->start_rows(trainer_->batch(), inputs_, run_, inputs_));
  return finish(overlaps() && !trace ? 1 : 0);
}

Result<void> MeasuredProgram::finish(size_t stay) {
  while (trainer_ && trainer_->started() > stay) {
    SHEAF_ASSIGN(auto loss, trainer_->finish());
    if (std::isfinite(loss)) continue;
    SHEAF_ASSIGN(const std::string layer, trainer_->first_not_finite(trainer_->batch(), inputs_));
    return Error("the loss isn't finite, first in layer '" + layer + "'");
  }
  return {};
}

size_t MeasuredProgram::data_bytes() const {
  size_t bytes = 0;
  for (const HostTensor& tensor : input_data_) bytes += tensor.bytes.size();
  for (const HostTensor& tensor : output_data_) bytes += tensor.bytes.size();
  return bytes;
}

}  // namespace sheaf
