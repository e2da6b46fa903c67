// The C++ interface's metrics.
#include "sheaf/metrics.h"

#include "runtime/base/exception.h"
#include "runtime/session/model_state.h"
#include "runtime/training/host_loss.h"

#include <cstring>

namespace sheaf {
namespace {

Result<HostTensor> copy_of(const TensorView& view) {
  SHEAF_ASSIGN(auto tensor, make_tensor(view.dtype, view.shape));
  if (!tensor.bytes.empty()) std::memcpy(tensor.bytes.data(), view.data, tensor.bytes.size());
  return tensor;
}

}  // namespace

struct Metrics::State {
  LossSection loss;
  ValueInfo output, target;
  EvaluationSums sums;
  int64_t rows = 0;
};

Metrics::Metrics(std::unique_ptr<State> state) : state_(std::move(state)) {}
Metrics::Metrics(Metrics&&) noexcept = default;
Metrics& Metrics::operator=(Metrics&&) noexcept = default;
Metrics::~Metrics() = default;

size_t Metrics::output() const { return state_->loss.output_index; }
const std::string& Metrics::target() const { return state_->loss.target; }

Result<Metrics> Metrics::of(const Model& model) try {
  auto state = std::make_unique<State>();
  SHEAF_ASSIGN(state->loss, loss_section(model.plan()));
  state->output = model.outputs()[state->loss.output_index];
  for (const Value& value : model.plan()->train.values) {
    if (value.role == Value::target && value.name == state->loss.target) state->target = describe_value(value, value.name);
  }
  return Metrics(std::move(state));
} catch (...) {
  return error_of_exception();
}

Result<void> Metrics::add(const TensorView& output, const TensorView& target, int64_t rows) try {
  State& state = *state_;
  for (const auto& [given, declared] : {std::pair(&output, &state.output), std::pair(&target, &state.target)}) {
    if (given->dtype != declared->dtype) {
      return Error("'" + declared->name + "' is " + described(given->dtype, given->shape) + "; expected elements of " +
                   std::string(name_of(declared->dtype)));
    }
  }
  SHEAF_ASSIGN(auto found, copy_of(output));
  SHEAF_ASSIGN(auto wanted, copy_of(target));
  SHEAF_TRY(check_targets(state.loss, "evaluation", wanted, state.target.batch_dim));
  SHEAF_TRY(add_batch(state.loss, found, wanted, state.sums));
  state.rows += rows;
  return {};
} catch (...) {
  return error_of_exception();
}

Measured Metrics::result() const {
  const Evaluation found = evaluation_of(state_->loss, state_->sums, state_->rows);
  Measured measured{found.loss, {}, found.rows};
  for (const auto& [metric, value] : found.metrics) measured.metrics.emplace_back(row_of(metric).name, value);
  return measured;
}

}  // namespace sheaf
