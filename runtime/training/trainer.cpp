#include "runtime/training/trainer.h"

#include "runtime/bind/binding.h"
#include "runtime/session_state.h"

#include <cmath>
#include <cstring>

namespace sheaf {
namespace {

/// Where the train program's settings lie (docs/training.md); its inputs of that role point here.
struct Settings {
  int64_t step = 0, seed = 0;
  float lr = 0, bias_correction1 = 0, bias_correction2 = 0;

  const void* find(const std::string& name) const {
    if (name == "step") return &step;
    if (name == "seed") return &seed;
    if (name == "lr") return &lr;
    if (name == "bias_correction1") return &bias_correction1;
    if (name == "bias_correction2") return &bias_correction2;
    return nullptr;
  }
};

double number_in(const Json& list, size_t index, double otherwise) {
  return list.is_array() && index < list.size() && list[index].is_number() ? list[index].get<double>() : otherwise;
}

}  // namespace

struct Trainer::State {
  std::shared_ptr<Model::State> model;
  std::unique_ptr<Binding> binding;
  std::shared_ptr<TrainingProgress> progress;
  std::vector<ValueInfo> inputs;
  std::vector<size_t> places;         ///< of inputs, among the binding's
  std::vector<const void*> buffers;   ///< the binding's inputs: the caller's and the settings
  Settings settings;
  float loss = 0;
  double betas[2] = {0.9, 0.999};
  bool corrects_bias = false;         ///< the program has Adam's settings
  // The learning rate is worked out anew only where what it depends on has changed.
  double base = 0;
  int64_t epoch = -1;

  void set_settings() {
    const int64_t step = progress->steps + 1;
    settings.step = step;
    settings.seed = static_cast<int64_t>(progress->seed);
    if (epoch != progress->epochs || base != progress->lr) {
      epoch = progress->epochs;
      base = progress->lr;
      settings.lr = static_cast<float>(learning_rate(model->plan, base, epoch));
    }
    if (!corrects_bias) return;
    settings.bias_correction1 = static_cast<float>(1 - std::pow(betas[0], static_cast<double>(step)));
    settings.bias_correction2 = static_cast<float>(1 - std::pow(betas[1], static_cast<double>(step)));
  }

  Result<void> take(std::span<const void* const> given) {
    if (given.size() != places.size()) {
      return Error("a training step needs " + std::to_string(places.size()) +
                   " buffers, of the model's inputs and its targets; " + std::to_string(given.size()) + " are given");
    }
    for (size_t i = 0; i < given.size(); ++i) buffers[places[i]] = given[i];
    set_settings();
    return {};
  }

  std::span<void* const> outputs() {
    output = &loss;
    return {&output, 1};
  }
  void* output = nullptr;
};

Trainer::Trainer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Trainer::Trainer(Trainer&&) noexcept = default;
Trainer& Trainer::operator=(Trainer&&) noexcept = default;
Trainer::~Trainer() = default;

Result<Trainer> Trainer::bind(const Model& model, std::string_view devices, int64_t batch, const BindOptions& options) {
  auto list = parse_devices(devices);
  if (!list) return list.error();
  auto opened = open_devices(*list, options.threads);
  if (!opened) return opened.error();
  return bind(model, std::make_shared<const DeviceSet>(std::move(*opened)), batch, nullptr, options);
}

Result<Trainer> Trainer::bind(const Model& model, std::shared_ptr<const DeviceSet> devices, int64_t batch,
                              std::shared_ptr<TrainingProgress> progress, const BindOptions& options) {
  const Plan& plan = model.plan();
  const Program& program = plan.train;
  if (program.steps.empty()) {
    return Error({plan.file}, "plan '" + plan.name + "' holds no training program")
        .note("add a 'training' section to the model, then compile it again");
  }
  auto binding = model.state_->bind(program, std::move(devices), batch, options);
  if (!binding) return binding.error();
  auto state = std::make_unique<State>();
  state->model = model.state_;
  state->binding = std::move(*binding);
  const Json& optimizer = plan.training["optimizer"];
  const Json betas = optimizer.value("betas", Json());
  for (size_t i = 0; i < 2; ++i) state->betas[i] = number_in(betas, i, state->betas[i]);
  if (!progress) {
    progress = std::make_shared<TrainingProgress>();
    const auto lr = optimizer.find("lr");
    if (lr != optimizer.end() && lr->is_number()) progress->lr = lr->get<double>();
  }
  state->progress = std::move(progress);

  std::vector<size_t> targets;
  std::vector<ValueInfo> target_infos;
  for (const Value& value : program.values) {
    const size_t at = state->buffers.size();
    if (value.role == Value::setting) {
      state->corrects_bias |= value.name.starts_with("bias_correction");
      state->buffers.push_back(state->settings.find(value.name));
    } else if (value.role == Value::input || value.role == Value::target) {
      const bool input = value.role == Value::input;
      (input ? state->places : targets).push_back(at);
      (input ? state->inputs : target_infos).push_back(describe_value(value, value.name));
      state->buffers.push_back(nullptr);
    }
  }
  state->places.insert(state->places.end(), targets.begin(), targets.end());
  state->inputs.insert(state->inputs.end(), target_infos.begin(), target_infos.end());
  return Trainer(std::move(state));
}

const std::vector<ValueInfo>& Trainer::inputs() const { return state_->inputs; }
const std::vector<int64_t>& Trainer::input_shape(size_t index) const {
  return state_->binding->inputs()[state_->places[index]].dims;
}
TrainingProgress& Trainer::progress() { return *state_->progress; }
const BindingInfo& Trainer::info() const { return state_->binding->info(); }

Result<float> Trainer::step(std::span<const void* const> inputs, const RunOptions& options) {
  State& state = *state_;
  if (auto ok = state.take(inputs); !ok) return ok.error();
  auto done = state.binding->run(state.buffers, state.outputs(), &options.print, options.trace.get());
  if (done) {
    ++state.progress->steps;
    return state.loss;
  }
  if (!state.binding->loss_not_finite()) return done.error();
  return state.loss;
}

std::string Trainer::first_not_finite(std::span<const void* const> inputs) {
  State& state = *state_;
  if (!state.take(inputs)) return {};
  auto found = state.binding->first_not_finite(state.buffers, state.outputs());
  return found ? *found : std::string();
}

Result<std::vector<TensorView>> Trainer::state() {
  const auto& entries = state_->model->plan.state;
  std::vector<TensorView> views;
  for (size_t i = 0; i < entries.size(); ++i) {
    auto data = state_->model->constants->state_data(i);
    if (!data) return data.error();
    views.push_back({entries[i].name, entries[i].dtype, entries[i].shape, *data});
  }
  return views;
}

Result<void> Trainer::set_state(std::span<const TensorView> tensors) {
  const auto& entries = state_->model->plan.state;
  std::vector<const TensorView*> found(entries.size(), nullptr);
  std::vector<void*> data;
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
    auto memory = state_->model->constants->state_data(i);
    if (!memory) return memory.error();
    data.push_back(*memory);
  }
  if (!problems.empty()) {
    Error error("the optimiser's state doesn't fit model '" + state_->model->plan.name + "': " +
                std::to_string(problems.size()) + (problems.size() == 1 ? " problem" : " problems"));
    for (std::string& problem : problems) error.note(std::move(problem));
    return error;
  }
  for (size_t i = 0; i < entries.size(); ++i) {
    const size_t bytes = plain_tensor(entries[i].dtype, entries[i].shape).bytes;
    if (bytes > 0) std::memmove(data[i], found[i]->data, bytes);
  }
  return {};
}

}  // namespace sheaf
