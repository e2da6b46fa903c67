// The C++ interface's metrics.
#include "sheaf/metrics.h"

#include "runtime/base/exception.h"
#include "runtime/session/model_state.h"
#include "runtime/training/dataset.h"
#include "runtime/training/host_loss.h"

#include <algorithm>
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
  std::vector<ValueInfo> declared;  ///< its inputs
  EvaluationSums sums;
  int64_t rows = 0;
};

Metrics::Metrics(std::unique_ptr<State> state) : state_(std::move(state)) {}
Metrics::Metrics(Metrics&&) noexcept = default;
Metrics& Metrics::operator=(Metrics&&) noexcept = default;
Metrics::~Metrics() = default;

const std::vector<LossInput>& Metrics::inputs() const { return state_->loss.inputs; }

Result<Metrics> Metrics::of(const Model& model) try {
  auto state = std::make_unique<State>();
  SHEAF_ASSIGN(state->loss, loss_section(model.plan()));
  const std::vector<ValueInfo> data = training_values(model.plan());
  for (const LossInput& input : state->loss.inputs)
    state->declared.push_back(input.output ? model.outputs()[*input.output]
                                           : *std::ranges::find(data, input.name, &ValueInfo::name));
  return Metrics(std::move(state));
} catch (...) {
  return error_of_exception();
}

Result<void> Metrics::add(std::span<const TensorView> tensors, int64_t rows) try {
  State& state = *state_;
  if (tensors.size() != state.declared.size()) {
    return Error(state.loss.type + " takes " + std::to_string(state.declared.size()) + " tensors, found " +
                 std::to_string(tensors.size()));
  }
  std::vector<HostTensor> copies;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const ValueInfo& declared = state.declared[i];
    if (tensors[i].dtype != declared.dtype) {
      return Error("'" + declared.name + "' is " + described(tensors[i].dtype, tensors[i].shape) + "; expected elements of " +
                   std::string(name_of(declared.dtype)));
    }
    SHEAF_ASSIGN(copies.emplace_back(), copy_of(tensors[i]));
    SHEAF_TRY(check_input(state.loss, i, "evaluation", copies[i], declared.batch_dim));
  }
  std::vector<const HostTensor*> inputs;
  for (const HostTensor& copy : copies) inputs.push_back(&copy);
  SHEAF_TRY(add_batch(state.loss, inputs, state.sums));
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
