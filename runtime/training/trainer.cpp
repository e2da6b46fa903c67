#include "runtime/base/exception.h"
#include "runtime/bind/arena_pool.h"
#include "runtime/session/binding_report.h"
#include "runtime/session/given_tensors.h"
#include "runtime/training/optimizer_state.h"
#include "runtime/training/plateau.h"
#include "runtime/training/schedule.h"
#include "runtime/training/trainer_state.h"

#include <cmath>

namespace sheaf {

Result<BatchStep*> Trainer::State::step_of(const BoundSize& size) {
  return bound.of(size, [&](const BoundSize& wanted) -> Result<BatchStep> {
    end_started();  // one of them may be what gives way to this
    SHEAF_ASSIGN(auto step, BatchStep::bind(*model.state(), devices, wanted, options, inputs, settings));
    SHEAF_TRY(take_bytes(inputs, options.bytes, wanted == bound.whole_size(), [&](size_t i) { return step.dtype(i); }));
    return Result<BatchStep>(std::move(step));
  });
}

Result<BoundSize> Trainer::State::take(std::span<const TensorView> values) {
  SHEAF_ASSIGN(auto ordered, in_order("input", inputs, given_tensors(values)));
  SHEAF_ASSIGN(auto size, size_of("input", inputs, ordered, model.lengths(), bound.whole_size()));
  SHEAF_ASSIGN(auto* step, step_of(size));
  buffers.clear();
  for (size_t i = 0; i < inputs.size(); ++i) {
    SHEAF_ASSIGN(auto buffer, buffer_of("input", inputs[i], step->shapes()[i], ordered[i]));
    buffers.push_back(buffer);
  }
  return size;
}

Result<float> Trainer::State::step(const BoundSize& size, std::span<const void* const> values, const RunOptions& run,
                                   std::span<const void* const> next) {
  SHEAF_TRY(check_none_started("a step that isn't started like them"));
  SHEAF_TRY(check_count(values.size()));
  SHEAF_ASSIGN(auto* step, step_of(size));
  set_settings();
  if (!next.empty()) SHEAF_TRY(check_count(next.size()));
  auto loss = step->run(values, run, next);
  if (loss && std::isfinite(*loss)) ++progress.steps;
  return loss;
}

Result<std::string> Trainer::State::first_not_finite(const BoundSize& size, std::span<const void* const> values) {
  SHEAF_TRY(check_none_started("a search for what isn't finite"));
  SHEAF_TRY(check_count(values.size()));
  SHEAF_ASSIGN(auto* step, step_of(size));
  set_settings();
  return step->first_not_finite(values);
}

void Trainer::State::set_settings() {
  settings.step = progress.steps + 1;
  settings.seed = static_cast<int64_t>(progress.seed);
  if (epoch == progress.epochs && base == progress.lr && reductions == progress.plateau.reductions && !by_step) return;
  epoch = progress.epochs;
  reductions = progress.plateau.reductions;
  base = progress.lr;
  settings.set_rates(model.plan(), base, {epoch, progress.steps, reductions});
}

Result<void> Trainer::State::check_count(size_t given) const {
  if (given == inputs.size()) return {};
  return Error("a training step needs " + std::to_string(inputs.size()) + " buffers, of the model's inputs and its targets; " +
               std::to_string(given) + " are given");
}

Trainer::Trainer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Trainer::Trainer(Trainer&&) noexcept = default;
Trainer& Trainer::operator=(Trainer&&) noexcept = default;
Trainer::~Trainer() = default;

Result<Trainer> Trainer::bind(const Model& model, std::string_view devices, int64_t batch, const BindOptions& options) {
  SHEAF_ASSIGN(auto opened, DeviceList::open(devices, options.threads, options.shards));
  return bind(model, opened, batch, options);
}

Result<Trainer> Trainer::bind(const Model& model, const DeviceList& devices, int64_t batch, const BindOptions& options) try {
  const Plan& plan = model.plan();
  if (plan.train.steps.empty()) {
    return Error({plan.file}, "plan '" + plan.name + "' holds no training program")
        .note("add a 'training' section to the model, then compile it again");
  }
  auto state = std::make_unique<State>(model, BoundSize{batch, options.lengths});
  state->devices = devices.set();
  state->options = options;
  if (!options.arenas) state->options.arenas = make_arena_pool();  // steps of different sizes take turns
  state->by_step = counts_steps(plan);
  const Json& optimizer = plan.training["optimizer"];
  const auto lr = optimizer.find("lr");
  if (lr != optimizer.end() && lr->is_number()) state->progress.lr = lr->get<double>();
  state->settings.set_rates(plan, state->progress.lr, {});
  for (const Parameter& entry : lasting_state(plan))
    state->lasting.push_back({entry.name, entry.dtype, entry.shape, entry.buffer});
  std::vector<ValueInfo> targets;
  for (const Value& value : plan.train.values) {
    if (value.role == Value::input) state->inputs.push_back(describe_value(value, value.name, model.lengths()));
    if (value.role == Value::target) targets.push_back(describe_value(value, value.name, model.lengths()));
  }
  state->inputs.insert(state->inputs.end(), targets.begin(), targets.end());
  SHEAF_TRY(state->step_of(state->bound.whole_size()));
  return Trainer(std::move(state));
} catch (...) {
  return error_of_exception();
}

Model Trainer::model() const { return state_->model; }
const std::vector<ValueInfo>& Trainer::inputs() const { return state_->inputs; }
int64_t Trainer::batch() const { return state_->bound.batch(); }
const std::vector<int64_t>& Trainer::input_shape(size_t index) const { return whole().shapes()[index]; }
TrainingProgress& Trainer::progress() { return state_->progress; }
const TrainingProgress& Trainer::progress() const { return state_->progress; }
const Binding& Trainer::binding() const { return whole().binding(); }
BindingReport Trainer::report() const { return report_of(binding().info()); }

double Trainer::learning_rate() const {
  const TrainingProgress& now = state_->progress;
  return sheaf::learning_rate(state_->model.plan(), now.lr, {now.epochs, now.steps, now.plateau.reductions});
}

std::string Trainer::monitor() const { return monitored(state_->model.plan()); }

void Trainer::step_schedule(double value) {
  const Plan& plan = state_->model.plan();
  if (monitored(plan).empty()) return;
  Plateau& plateau = state_->progress.plateau;
  plateau = after_epoch(plan.training["schedule"], plateau, value);
}

const BatchStep& Trainer::whole() const { return state_->bound.whole(); }

Result<void> Trainer::prepare(int64_t rows, const LengthNumbers& lengths) try {
  BoundSize size = state_->of_rows(rows);
  for (const auto& [length, number] : lengths) size.lengths[length] = number;
  SHEAF_TRY(state_->step_of(size));
  return {};
} catch (...) {
  return error_of_exception();
}

Result<const BatchStep*> Trainer::bound_to(int64_t rows) {
  SHEAF_ASSIGN(const BatchStep* step, state_->step_of(state_->of_rows(rows)));
  return step;
}

Result<float> Trainer::step(std::span<const void* const> values, const RunOptions& options) {
  return step_rows(batch(), values, options);
}

Result<float> Trainer::step_rows(int64_t rows, std::span<const void* const> values, const RunOptions& options,
                                 std::span<const void* const> next) try {
  return state_->step(state_->of_rows(rows), values, options, next);
} catch (...) {
  return error_of_exception();
}

void Trainer::forget_next() { state_->options.arenas->use(nullptr); }

Result<float> Trainer::step(std::span<const TensorView> values, const RunOptions& options) try {
  SHEAF_ASSIGN(auto size, state_->take(values));
  return state_->step(size, state_->buffers, options, {});
} catch (...) {
  return error_of_exception();
}

Result<std::string> Trainer::first_not_finite(int64_t rows, std::span<const void* const> values) try {
  return state_->first_not_finite(state_->of_rows(rows), values);
} catch (...) {
  return error_of_exception();
}

Result<std::string> Trainer::first_not_finite(std::span<const TensorView> values) try {
  SHEAF_ASSIGN(auto size, state_->take(values));
  return state_->first_not_finite(size, state_->buffers);
} catch (...) {
  return error_of_exception();
}

}  // namespace sheaf
