#include "runtime/session/open_devices.h"
#include "runtime/base/exception.h"
#include "runtime/session/sheaf.h"

#include "runtime/bind/binding.h"
#include "runtime/session/session_state.h"

#include <cstdio>

namespace sheaf {

struct Session::State {
  std::shared_ptr<Model::State> model;
  std::unique_ptr<Binding> binding;
};

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

const std::vector<int64_t>& Session::input_shape(size_t index) const { return state_->binding->inputs()[index].dims; }
const std::vector<int64_t>& Session::output_shape(size_t index) const { return state_->binding->outputs()[index].dims; }
const BindingInfo& Session::info() const { return state_->binding->info(); }

Result<void> Session::run(std::span<const void* const> inputs, std::span<void* const> outputs) try {
  return state_->binding->run(inputs, outputs);
} catch (...) {
  return error_of_exception();
}

Result<void> Session::run(std::span<const void* const> inputs, std::span<void* const> outputs, const RunOptions& options) try {
  return state_->binding->run(inputs, outputs, &options.print, options.trace.get());
} catch (...) {
  return error_of_exception();
}

Result<Session> Model::bind(std::string_view devices, int64_t batch, const BindOptions& options) const try {
  SHEAF_ASSIGN(auto list, parse_devices(devices));
  SHEAF_ASSIGN(auto opened, open_devices(list, options.threads));
  return bind(std::make_shared<const DeviceSet>(std::move(opened)), batch, options);
} catch (...) {
  return error_of_exception();
}

Result<Session> Model::bind(std::shared_ptr<const DeviceSet> devices, int64_t batch, const BindOptions& options) const try {
  SHEAF_ASSIGN(auto binding, state_->bind(state_->plan.infer, std::move(devices), batch, options));
  auto state = std::make_unique<Session::State>();
  state->model = state_;
  state->binding = std::move(binding);
  return Session(std::move(state));
} catch (...) {
  return error_of_exception();
}

Result<std::unique_ptr<Binding>> Model::State::bind(const Program& program, std::shared_ptr<const DeviceSet> devices,
                                                    int64_t batch, const BindOptions& options) {
  BindRequest request{plan, program, devices, {}, constants, batch, options.fast_numerics, options.explain};
  request.arenas = options.arenas;
  request.graphs = options.graphs;
  request.deterministic = options.deterministic;
  request.deadline = Seconds(options.deadline_seconds);
  for (int lane = 0; lane < devices->lanes(); ++lane) {
    SHEAF_ASSIGN(auto loaded, kernels_for(devices->device(lane)));
    request.kernels.push_back(std::move(loaded));
  }
  return Binding::bind(request);
}

Result<std::shared_ptr<const Kernels>> Model::State::kernels_for(Device& device) {
  const std::lock_guard lock(mutex);
  auto& loaded = kernels[&device];
  if (!loaded) {
    SHEAF_ASSIGN(loaded, device.load_kernels(plan));
  }
  return loaded;
}

}  // namespace sheaf
