#include "runtime/training/trainer.h"

#include "runtime/base/exception.h"
#include "runtime/session/open_devices.h"
#include "runtime/training/micro_batches.h"

#include <algorithm>

namespace sheaf {

struct Trainer::State {
  std::shared_ptr<Model::State> model;
  std::shared_ptr<TrainingProgress> progress;
  std::vector<ValueInfo> inputs;
  std::vector<std::vector<int64_t>> shapes;  ///< of the inputs
  StepSettings settings;
  std::unique_ptr<StepProgram> whole;   ///< the step in one, or
  std::unique_ptr<MicroBatches> parts;  ///< in micro-batches
  // The learning rate is worked out anew only where what it depends on has changed.
  double base = 0;
  int64_t epoch = -1;

  void set_settings() {
    settings.step = progress->steps + 1;
    settings.seed = static_cast<int64_t>(progress->seed);
    if (epoch != progress->epochs || base != progress->lr) {
      epoch = progress->epochs;
      base = progress->lr;
      settings.lr = static_cast<float>(learning_rate(model->plan, base, epoch));
    }
  }

  Result<void> prepare(std::span<const void* const> given) {
    if (given.size() != inputs.size()) {
      return Error("a training step needs " + std::to_string(inputs.size()) +
                   " buffers, of the model's inputs and its targets; " + std::to_string(given.size()) + " are given");
    }
    set_settings();
    return {};
  }
};

std::span<const Parameter> lasting_state(const Plan& plan) {
  const auto end = std::find_if(plan.state.begin(), plan.state.end(), [](const Parameter& entry) { return entry.transient; });
  return {plan.state.begin(), end};
}

Trainer::Trainer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Trainer::Trainer(Trainer&&) noexcept = default;
Trainer& Trainer::operator=(Trainer&&) noexcept = default;
Trainer::~Trainer() = default;

Result<Trainer> Trainer::bind(const Model& model, std::string_view devices, int64_t batch, const BindOptions& options) try {
  SHEAF_ASSIGN(auto list, parse_devices(devices));
  SHEAF_ASSIGN(auto opened, open_devices(list, options.threads));
  return bind(model, std::make_shared<const DeviceSet>(std::move(opened)), batch, nullptr, options);
} catch (...) {
  return error_of_exception();
}

Result<Trainer> Trainer::bind(const Model& model, std::shared_ptr<const DeviceSet> devices, int64_t batch,
                              std::shared_ptr<TrainingProgress> progress, const BindOptions& options) try {
  const Plan& plan = model.plan();
  const Program& program = plan.train;
  if (program.steps.empty()) {
    return Error({plan.file}, "plan '" + plan.name + "' holds no training program")
        .note("add a 'training' section to the model, then compile it again");
  }
  auto state = std::make_unique<State>();
  state->model = model.state_;
  const Json& optimizer = plan.training["optimizer"];
  if (!progress) {
    progress = std::make_shared<TrainingProgress>();
    const auto lr = optimizer.find("lr");
    if (lr != optimizer.end() && lr->is_number()) progress->lr = lr->get<double>();
  }
  state->progress = std::move(progress);

  std::vector<ValueInfo> targets;
  for (const Value& value : program.values) {
    if (value.role == Value::input) state->inputs.push_back(describe_value(value, value.name));
    if (value.role == Value::target) targets.push_back(describe_value(value, value.name));
  }
  state->inputs.insert(state->inputs.end(), targets.begin(), targets.end());
  const StepProgram* bound = nullptr;
  if (options.micro_batches > 1) {
    SHEAF_ASSIGN(auto parts, MicroBatches::bind(*model.state_, std::move(devices), batch, options.micro_batches, options,
                                                state->inputs, state->settings));
    state->parts = std::make_unique<MicroBatches>(std::move(parts));
    bound = &state->parts->largest();
  } else {
    SHEAF_ASSIGN(auto whole,
                 StepProgram::bind(*model.state_, program, std::move(devices), batch, options, state->inputs, state->settings));
    state->whole = std::make_unique<StepProgram>(std::move(whole));
    bound = state->whole.get();
  }
  for (size_t i = 0; i < state->inputs.size(); ++i) {
    state->shapes.push_back(bound->shape(i));
    if (const int dim = state->inputs[i].batch_dim; dim >= 0) state->shapes[i][static_cast<size_t>(dim)] = batch;
  }
  return Trainer(std::move(state));
} catch (...) {
  return error_of_exception();
}

const std::vector<ValueInfo>& Trainer::inputs() const { return state_->inputs; }
const std::vector<int64_t>& Trainer::input_shape(size_t index) const { return state_->shapes[index]; }
TrainingProgress& Trainer::progress() { return *state_->progress; }
const BindingInfo& Trainer::info() const { return state_->parts ? state_->parts->info() : state_->whole->info(); }

Result<float> Trainer::step(std::span<const void* const> inputs, const RunOptions& options) try {
  State& state = *state_;
  SHEAF_TRY(state.prepare(inputs));
  auto loss = state.parts ? state.parts->run(inputs, options) : state.whole->run(inputs, options);
  if (loss && std::isfinite(*loss)) ++state.progress->steps;
  return loss;
} catch (...) {
  return error_of_exception();
}

std::string Trainer::first_not_finite(std::span<const void* const> inputs) try {
  State& state = *state_;
  if (!state.prepare(inputs)) return {};
  if (state.parts) return state.parts->first_not_finite(inputs);
  auto found = state.whole->first_not_finite(inputs);
  return found ? *found : std::string();
} catch (...) {
  return {};
}

Result<void> Trainer::read_state(size_t index, void* plain) const try {
  ConstantStore& constants = *state_->model->constants;
  const auto lock = constants.lock();
  SHEAF_ASSIGN(auto variable, constants.variable(lasting_state(state_->model->plan)[index].name));
  return constants.read(variable, plain);
} catch (...) {
  return error_of_exception();
}

Result<void> Trainer::set_state(std::span<const TensorView> tensors) try {
  const auto entries = lasting_state(state_->model->plan);
  std::vector<const TensorView*> found(entries.size(), nullptr);
  std::vector<std::string> problems;
  for (const TensorView& tensor : tensors) {
    size_t i = 0;
    while (i < entries.size() && entries[i].name != tensor.name) ++i;
    if (i == entries.size()) {
      problems.push_back("superfluous: '" + tensor.name + "'");
    } else if (found[i]) {
      problems.push_back("given twice: '" + tensor.name + "'");
    } else if (found[i] = &tensor; tensor.dtype != entries[i].dtype || tensor.shape != entries[i].shape) {
      problems.push_back("misshapen: '" + tensor.name + "' is " + described(tensor.dtype, tensor.shape) + "; expected " +
                         described(entries[i].dtype, entries[i].shape));
    }
  }
  for (size_t i = 0; i < entries.size(); ++i) {
    if (!found[i]) problems.push_back("missing: '" + entries[i].name + "'");
  }
  if (!problems.empty()) {
    Error error("the optimiser's state doesn't fit model '" + state_->model->plan.name +
                "': " + std::to_string(problems.size()) + (problems.size() == 1 ? " problem" : " problems"));
    for (std::string& problem : problems) error.note(std::move(problem));
    return error;
  }
  ConstantStore& constants = *state_->model->constants;
  const auto lock = constants.lock();
  for (size_t i = 0; i < entries.size(); ++i) {
    SHEAF_ASSIGN(auto variable, constants.variable(entries[i].name));
    if (auto ok = constants.write(variable, found[i]->data); !ok) return ok;
  }
  return {};
} catch (...) {
  return error_of_exception();
}

}  // namespace sheaf
