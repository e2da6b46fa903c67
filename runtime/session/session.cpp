#include "sheaf/session.h"

#include "runtime/base/exception.h"
#include "runtime/bind/arena_pool.h"
#include "runtime/check/lengths.h"
#include "runtime/session/binding_report.h"
#include "runtime/session/bound_sizes.h"
#include "runtime/session/given_tensors.h"
#include "runtime/session/model_state.h"

namespace sheaf {

namespace {

/// A binding, and the plan that it is of.
struct BoundPlan {
  std::shared_ptr<const Plan> sized;  ///< the model's with numbers for its lengths; null: it has none
  std::unique_ptr<Binding> binding;
};

}  // namespace

struct Session::State {
  State(std::shared_ptr<ModelState> its, std::shared_ptr<const DeviceSet> list, int64_t batch, BindOptions how)
      : model(std::move(its)),
        devices(std::move(list)),
        options(std::move(how)),
        inputs(model->inputs),
        bound("session", {batch, options.lengths}, kMostSizes) {
    if (!options.arenas) options.arenas = make_arena_pool();  // runs of different sizes take turns
  }

  std::shared_ptr<ModelState> model;
  std::shared_ptr<const DeviceSet> devices;
  BindOptions options;
  std::vector<ValueInfo> inputs;
  BoundSizes<BoundPlan> bound;

  /// Bound to this size, now if it wasn't before.
  Result<Binding*> binding_of(const BoundSize& size) {
    SHEAF_ASSIGN(auto* found, bound.of(size, [&](const BoundSize& wanted) { return bind(wanted); }));
    return found->binding.get();
  }
  /// For as many rows, and for such lengths, as `inputs`, which are in order, have.
  Result<Binding*> binding_for(std::span<const GivenTensor> inputs) {
    SHEAF_ASSIGN(const auto size, size_of("input", model->inputs, inputs, model->lengths, bound.whole_size()));
    return binding_of(size);
  }

 private:
  Result<BoundPlan> bind(const BoundSize& size) {
    BoundPlan made;
    SHEAF_ASSIGN(made.sized, model->sized(&Plan::infer, size.lengths));
    SHEAF_ASSIGN(made.binding, model->bind(&Plan::infer, devices, size.rows, options, 0, made.sized.get()));
    SHEAF_TRY(take_bytes(inputs, options.bytes, size == bound.whole_size(),
                         [&](size_t i) { return made.binding->inputs()[i].dtype; }));
    return Result<BoundPlan>(std::move(made));
  }
};

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

int64_t Session::batch() const { return state_->bound.batch(); }
const std::vector<ValueInfo>& Session::inputs() const { return state_->inputs; }
const Binding& Session::binding() const { return *state_->bound.whole().binding; }
const std::vector<int64_t>& Session::input_shape(size_t index) const { return binding().inputs()[index].dims; }
const std::vector<int64_t>& Session::output_shape(size_t index) const { return binding().outputs()[index].dims; }
BindingReport Session::report() const { return report_of(binding().info()); }

Result<void> Session::prepare(int64_t rows, const LengthNumbers& lengths) try {
  BoundSize size{rows, state_->bound.lengths()};
  for (const auto& [length, number] : lengths) size.lengths[length] = number;
  SHEAF_TRY(state_->binding_of(size));
  return {};
} catch (...) {
  return error_of_exception();
}

Result<std::vector<std::vector<int64_t>>> Session::output_shapes(std::span<const TensorView> inputs) try {
  SHEAF_ASSIGN(auto given, in_order("input", state_->model->inputs, given_tensors(inputs)));
  SHEAF_ASSIGN(auto* binding, state_->binding_for(given));
  std::vector<std::vector<int64_t>> shapes;
  for (const auto& output : binding->outputs()) shapes.push_back(output.dims);
  return shapes;
} catch (...) {
  return error_of_exception();
}

Result<void> Session::run(std::span<const void* const> inputs, std::span<void* const> outputs, const RunOptions& options) try {
  return state_->bound.whole().binding->run(inputs, outputs, &options.print, options.trace.get());
} catch (...) {
  return error_of_exception();
}

Result<void> Session::run(std::span<const TensorView> inputs, std::span<const MutableTensorView> outputs,
                          const RunOptions& options) try {
  const ModelState& model = *state_->model;
  SHEAF_ASSIGN(auto given, in_order("input", model.inputs, given_tensors(inputs)));
  SHEAF_ASSIGN(auto* binding, state_->binding_for(given));
  std::vector<const void*> in;
  for (size_t i = 0; i < model.inputs.size(); ++i) {
    SHEAF_ASSIGN(auto buffer, buffer_of("input", state_->inputs[i], binding->inputs()[i].dims, given[i]));
    in.push_back(buffer);
  }
  SHEAF_ASSIGN(given, in_order("output", model.outputs, given_tensors(outputs)));
  std::vector<void*> out;
  for (size_t i = 0; i < model.outputs.size(); ++i) {
    SHEAF_ASSIGN(auto buffer, buffer_of("output", model.outputs[i], binding->outputs()[i].dims, given[i]));
    out.push_back(const_cast<void*>(buffer));  // a MutableTensorView's
  }
  return binding->run(in, out, &options.print, options.trace.get());
} catch (...) {
  return error_of_exception();
}

Result<Session> Model::bind(std::string_view devices, int64_t batch, const BindOptions& options) const {
  SHEAF_ASSIGN(auto opened, DeviceList::open(devices, options.threads, options.shards));
  return bind(opened, batch, options);
}

Result<Session> Model::bind(const DeviceList& devices, int64_t batch, const BindOptions& options) const try {
  auto state = std::make_unique<Session::State>(state_, devices.set(), batch, options);
  SHEAF_TRY(state->binding_of({batch, options.lengths}));
  return Session(std::move(state));
} catch (...) {
  return error_of_exception();
}

std::shared_ptr<ArenaPool> make_arena_pool() { return std::make_shared<ArenaPool>(); }

Result<std::shared_ptr<const Plan>> ModelState::sized(Program Plan::* program, LengthNumbers numbers) const {
  if (lengths.empty() && numbers.empty()) return std::shared_ptr<const Plan>();
  for (const Length& length : lengths)
    if (!has_length((*plan).*program, length.name)) numbers.try_emplace(length.name, 1);
  SHEAF_ASSIGN(auto made, with_lengths(*plan, numbers));
  return std::make_shared<const Plan>(std::move(made));
}

Result<std::unique_ptr<Binding>> ModelState::bind(Program Plan::* program, std::shared_ptr<const DeviceSet> devices,
                                                  int64_t batch, const BindOptions& options, size_t first_outputs,
                                                  const Plan* sized) {
  const Plan& bound = sized ? *sized : *plan;
  BindRequest request{bound, bound.*program, devices, {}, store, batch, options.fast_numerics, options.explain};
  request.arenas = options.arenas;
  request.bytes = options.bytes;
  request.first_outputs = first_outputs;
  if (sized) request.origin = &((*plan).*program);
  request.graphs = options.graphs;
  request.deterministic = options.deterministic;
  request.deadline = Seconds(options.deadline_seconds);
  request.tune = options.tune;
  for (LaneId lane : devices->lanes()) {
    SHEAF_ASSIGN(auto loaded, kernels_for(devices->device(lane)));
    request.kernels.push_back(std::move(loaded));
  }
  return Binding::bind(request);
}

Result<std::shared_ptr<const Kernels>> ModelState::kernels_for(Device& device) {
  const std::lock_guard lock(mutex);
  auto& loaded = kernels[&device];
  if (!loaded) {
    SHEAF_ASSIGN(auto kernels, device.load_kernels(plan));
    loaded = std::move(kernels);
  }
  return loaded;
}

}  // namespace sheaf
