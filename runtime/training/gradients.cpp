#include "sheaf/gradients.h"

#include "runtime/base/exception.h"
#include "runtime/check/lengths.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/session/model_state.h"
#include "runtime/training/step_program.h"

#include <algorithm>

namespace sheaf {

struct Differentiable::State {
  explicit State(SharedPlan plan) : model(std::move(plan)) {}

  ModelState model;
  std::vector<ValueInfo> inputs, outputs, output_gradients, gradients;
};

struct DifferentiableSession::State {
  std::shared_ptr<Differentiable::State> function;
  std::shared_ptr<const Plan> sized;  ///< the plan with numbers for its lengths; null: it has none
  int64_t rows = 0;
  bool differentiates = false;
  bool kept = false;  ///< a forward pass whose backward pass is to come
  StepSettings settings;
  std::unique_ptr<Binding> binding;
  std::vector<const void*> given;  ///< inputs, then settings

  size_t output_count() const { return function->outputs.size(); }
};

Differentiable::Differentiable(std::shared_ptr<State> state) : state_(std::move(state)) {}

Result<Differentiable> Differentiable::from_plan(SharedPlan shared) try {
  auto state = std::make_shared<State>(std::move(shared));
  const Plan& plan = state->model.plan;
  if (plan.backward.outputs.empty())
    return Error("plan '" + plan.name + "' has no programs 'forward' and 'backward': compile it with gradients");
  const auto& lengths = state->model.lengths = lengths_of(plan);
  for (const Value& value : plan.backward.values) {
    if (value.role == Value::input) state->inputs.push_back(describe_value(value, value.name, lengths));
    if (value.role == Value::target) state->output_gradients.push_back(describe_value(value, value.name, lengths));
  }
  for (const Output& output : plan.backward.outputs) {
    auto& list = state->outputs.size() < plan.forward.outputs.size() ? state->outputs : state->gradients;
    list.push_back(describe_value(plan.backward.values[static_cast<size_t>(output.value)], output.name, lengths));
  }
  state->model.store = std::make_shared<VariableStore>(cpu_device(), plan.parameters, plan.state);
  state->model.store->changed();  // there are no weights to wait for
  return Differentiable(std::move(state));
} catch (...) {
  return error_of_exception();
}

const std::vector<ValueInfo>& Differentiable::inputs() const { return state_->inputs; }
const std::vector<ValueInfo>& Differentiable::outputs() const { return state_->outputs; }
const std::vector<ValueInfo>& Differentiable::output_gradients() const { return state_->output_gradients; }
const std::vector<ValueInfo>& Differentiable::gradients() const { return state_->gradients; }
const std::vector<Length>& Differentiable::lengths() const { return state_->model.lengths; }

bool Differentiable::draws() const {
  return std::ranges::any_of(state_->model.plan->forward.values,
                             [](const Value& value) { return value.role == Value::setting; });
}

Result<DifferentiableSession> Differentiable::bind(const DeviceList& devices, int64_t rows, const BindOptions& options,
                                                   bool backward) const try {
  const Plan& plan = state_->model.plan;
  const auto program = backward ? &Plan::backward : &Plan::forward;
  auto state = std::make_unique<DifferentiableSession::State>();
  state->function = state_;
  state->rows = rows;
  state->differentiates = backward;
  SHEAF_ASSIGN(state->sized, state_->model.sized(program, options.lengths));
  SHEAF_ASSIGN(state->binding, state_->model.bind(program, devices.set(), rows, options,
                                                  backward ? plan.forward.outputs.size() : 0, state->sized.get()));
  state->given.resize(state_->inputs.size(), nullptr);
  for (const Value& value : (plan.*program).values)
    if (value.role == Value::setting) state->given.push_back(state->settings.find(value.name));
  return DifferentiableSession(std::move(state));
} catch (...) {
  return error_of_exception();
}

DifferentiableSession::DifferentiableSession(std::unique_ptr<State> state) : state_(std::move(state)) {}
DifferentiableSession::DifferentiableSession(DifferentiableSession&&) noexcept = default;
DifferentiableSession& DifferentiableSession::operator=(DifferentiableSession&&) noexcept = default;
DifferentiableSession::~DifferentiableSession() = default;

int64_t DifferentiableSession::rows() const { return state_->rows; }
const std::vector<int64_t>& DifferentiableSession::input_shape(size_t index) const {
  return state_->binding->inputs()[index].dims;
}
const std::vector<int64_t>& DifferentiableSession::output_shape(size_t index) const {
  return state_->binding->outputs()[index].dims;
}
const std::vector<int64_t>& DifferentiableSession::gradient_shape(size_t index) const {
  return state_->binding->outputs()[state_->output_count() + index].dims;
}

Result<void> DifferentiableSession::forward(std::span<const void* const> inputs, std::span<void* const> outputs,
                                            Randomness randomness, const RunOptions& options) try {
  State& state = *state_;
  if (inputs.size() != state.function->inputs.size())
    return Error("a forward pass needs " + std::to_string(state.function->inputs.size()) + " inputs; " +
                 std::to_string(inputs.size()) + " are given");
  state.settings.step = randomness.step;
  state.settings.seed = randomness.seed;
  std::ranges::copy(inputs, state.given.begin());
  state.kept = false;
  if (!state.differentiates) return state.binding->run(state.given, outputs, &options.print);
  SHEAF_TRY(state.binding->run_part(RunPart::first, state.given, outputs, &options.print));
  state.kept = true;
  return {};
} catch (...) {
  return error_of_exception();
}

Result<void> DifferentiableSession::backward(std::span<const void* const> output_gradients, std::span<void* const> gradients,
                                             const RunOptions& options) try {
  State& state = *state_;
  if (!state.kept)
    return Error(state.differentiates ? "a backward pass comes once after each forward pass"
                                      : "this session has no backward pass");
  state.kept = false;  // memory of the forward pass is used again
  return state.binding->run_part(RunPart::second, output_gradients, gradients, &options.print);
} catch (...) {
  return error_of_exception();
}

}  // namespace sheaf
