#include "sheaf/session.h"

#include "runtime/base/exception.h"
#include "runtime/bind/arena_pool.h"
#include "runtime/session/binding_report.h"
#include "runtime/session/given_tensors.h"
#include "runtime/session/model_state.h"

namespace sheaf {

struct Session::State {
  std::shared_ptr<ModelState> model;
  std::unique_ptr<Binding> binding;
};

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

const std::vector<int64_t>& Session::input_shape(size_t index) const { return state_->binding->inputs()[index].dims; }
const std::vector<int64_t>& Session::output_shape(size_t index) const { return state_->binding->outputs()[index].dims; }
const Binding& Session::binding() const { return *state_->binding; }
BindingReport Session::report() const { return report_of(binding().info()); }

Result<void> Session::run(std::span<const void* const> inputs, std::span<void* const> outputs, const RunOptions& options) try {
  return state_->binding->run(inputs, outputs, &options.print, options.trace.get());
} catch (...) {
  return error_of_exception();
}

Result<void> Session::run(std::span<const TensorView> inputs, std::span<const MutableTensorView> outputs,
                          const RunOptions& options) try {
  const ModelState& model = *state_->model;
  SHEAF_ASSIGN(auto given, in_order("input", model.inputs, given_tensors(inputs)));
  std::vector<const void*> in;
  for (size_t i = 0; i < model.inputs.size(); ++i) {
    SHEAF_ASSIGN(auto buffer, buffer_of("input", model.inputs[i], input_shape(i), given[i]));
    in.push_back(buffer);
  }
  SHEAF_ASSIGN(given, in_order("output", model.outputs, given_tensors(outputs)));
  std::vector<void*> out;
  for (size_t i = 0; i < model.outputs.size(); ++i) {
    SHEAF_ASSIGN(auto buffer, buffer_of("output", model.outputs[i], output_shape(i), given[i]));
    out.push_back(const_cast<void*>(buffer));  // a MutableTensorView's
  }
  return run(in, out, options);
} catch (...) {
  return error_of_exception();
}

Result<Session> Model::bind(std::string_view devices, int64_t batch, const BindOptions& options) const {
  SHEAF_ASSIGN(auto opened, DeviceList::open(devices, options.threads, options.shards));
  return bind(opened, batch, options);
}

Result<Session> Model::bind(const DeviceList& devices, int64_t batch, const BindOptions& options) const try {
  SHEAF_ASSIGN(auto binding, state_->bind(state_->plan->infer, devices.set(), batch, options));
  auto state = std::make_unique<Session::State>();
  state->model = state_;
  state->binding = std::move(binding);
  return Session(std::move(state));
} catch (...) {
  return error_of_exception();
}

std::shared_ptr<ArenaPool> make_arena_pool() { return std::make_shared<ArenaPool>(); }

Result<std::unique_ptr<Binding>> ModelState::bind(const Program& program, std::shared_ptr<const DeviceSet> devices,
                                                  int64_t batch, const BindOptions& options) {
  BindRequest request{plan, program, devices, {}, constants, batch, options.fast_numerics, options.explain};
  request.arenas = options.arenas;
  request.graphs = options.graphs;
  request.deterministic = options.deterministic;
  request.deadline = Seconds(options.deadline_seconds);
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
