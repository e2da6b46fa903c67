#include "runtime/bind/binding.h"

#include "runtime/bind/arena_pool.h"
#include "runtime/bind/print.h"
#include "runtime/bind/traced_program.h"
#include "runtime/bind/tune.h"
#include "runtime/machine/thread_pool.h"
#include "runtime/machine/tick_clock.h"
#include "runtime/base/sha256.h"
#include "runtime/world/facts.h"
#include "sheaf/trace.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <set>

namespace sheaf {
namespace {

/// The status a rank sends to the others after a run: the first byte of its message. The reason follows `failed`.
enum class Outcome : char { fine, loss_not_finite, failed };

/// PyTorch's warning, once per process as there.
void warn_of_scalars() {
  static std::atomic<bool> warned{false};
  if (warned.exchange(true, std::memory_order_relaxed)) return;
  std::fputs(
      "warning: Was asked to gather along dimension 0, but all input tensors were scalars; will instead unsqueeze "
      "and return a vector.\n",
      stderr);
}

RunParts parts_of(const BindRequest& request) {
  RunParts parts;
  parts.outputs = request.first_outputs;
  for (const Value& value : request.program.values)
    if (value.role == Value::input || value.role == Value::setting) ++parts.inputs;
  return parts;
}

/// Requests of a binding that failed must not be made for others.
class PlansForgotten {
 public:
  explicit PlansForgotten(VariableStore& store) : store_(store) {}
  ~PlansForgotten() { store_.forget_plans(); }
  PlansForgotten(const PlansForgotten&) = delete;
  PlansForgotten& operator=(const PlansForgotten&) = delete;

 private:
  VariableStore& store_;
};

/// Processes with GPUs make one program only if their libraries choose alike: they may have other versions. Found here, a difference
/// is an error instead of messages that don't match.
Result<void> check_same_program(const PlannedBinding& planned, const BindContext& context) {
  World* world = context.devices.world();
  if (!world || !context.devices.any_asynchronous()) return {};
  const std::string text = print(planned.program, context.program, context.devices);
  return check_alike(*world, {{"the hash of the bound program", sha256(text).substr(0, 12)}});
}

}  // namespace

Result<std::unique_ptr<Binding>> Binding::bind(const BindRequest& request) {
  std::unique_ptr<Binding> binding(new Binding);
  binding->devices_ = request.devices;
  binding->kernels_ = request.kernels;
  binding->store_ = request.store;
  binding->plan_ = &request.plan;
  binding->program_ = &request.program;
  binding->batch_ = request.batch;
  binding->trains_ = !request.program.updates.empty();
  binding->started_.reserve(2);
  binding->parts_ = parts_of(request);
  binding->pool_ = request.arenas;
  const BindContext context{request.plan,    request.program,       *request.devices, request.kernels,       *request.store,
                            request.batch,   request.fast_numerics, request.explain,  request.deterministic, request.deadline,
                            request.observe, parts_of(request),     nullptr,          &request.bytes,        request.origin};
  SHEAF_TRY(check_bytes(request.plan, request.program, request.bytes));
  const auto lock = request.store->lock();
  request.store->wait_at_most(request.deadline);
  for (LaneId lane : request.devices->lanes()) request.store->keep(request.devices->device(lane), request.devices);
  const PlansForgotten forgotten(*request.store);
  SHEAF_ASSIGN(auto tuned, plan_tuned(context, request.tune));
  PlannedBinding& planned = tuned.binding;
  SHEAF_TRY(check_same_program(planned, context));
  binding->info_.choices = std::move(tuned.choices);
  SHEAF_TRY(check_fits(planned.program, planned.memory, *request.devices, *request.store, request.arenas.get()));

  SHEAF_TRY(request.store->allocate());
  SHEAF_TRY(binding->allocate_arenas(planned.memory, planned.schedule, request.arenas.get()));
  binding->buffers_ = CallerBuffers(planned.program);
  binding->rows_read_ = sheaf::rows_read(planned.program, request.program, *request.devices);
  binding->describe(planned);
  binding->guard_ = planned.program.guard;
  for (InstanceId i : planned.program.instances.ids()) {
    const Instance& instance = planned.program.instances[i];
    if (!instance.is<Instance::Agree>() || !request.devices->here(instance.lane)) continue;
    binding->agreed_ = i;
    binding->agreement_ = instance.call()->executable.get();
  }
  for (const BoundProgram::Update& update : planned.program.updates)
    binding->updated_.push_back(planned.program.tensors[update.variable].lies<Tensor::Stored>()->node);
  const Addresses addresses{planned, *request.store, binding->arenas_, binding->buffers_};
  if (binding->trains_) binding->results_ = FiniteSearch(planned.program);
  if (request.observe) binding->observation_ = Observation(addresses);
  SHEAF_ASSIGN(auto lanes, lower(planned, addresses, *request.devices, request.deadline, request.graphs));
  binding->executables_ = std::move(lanes.executables);
  binding->events_ = std::move(lanes.events);
  binding->texts_ = std::move(lanes.texts);
  for (InstanceId i : lanes.launches.ids()) binding->info_.operations[i.index()].launch = std::move(lanes.launches[i]);
  binding->executor_ = std::make_unique<Executor>(std::move(lanes.programs), available_cpus());
  if (!binding->executor_->ready()) {
    return Error("the system gives no more threads; " + std::to_string(request.devices->lanes().size()) +
                 " lanes need one each");
  }
  for (LaneId lane : request.devices->lanes())
    for (const AheadCopy& copy : binding->executor_->lane(lane).ahead) binding->ahead_.push_back(copy.input);
  binding->gathers_scalars_ = planned.program.gathers_scalars;
  SHEAF_TRY(request.store->evaluate());
  // Everything a training program reads besides variables is made now: no weight changes it.
  binding->needed_ = binding->trains_ ? 0 : request.store->work();
  return binding;
}

Binding::~Binding() {
  if (executor_) settle();
  executor_.reset();  // its threads first: they use everything else
}

Result<void> Binding::allocate_arenas(const MemoryPlan& plan, const Schedule& schedule, ArenaPool* shared) {
  ArenaPool own;
  ArenaPool& pool = shared ? *shared : own;
  for (LaneId lane : devices_->lanes()) {
    const LaneArena& arena = plan.lanes[lane];
    auto memory = pool.take(devices_, lane, arena.bytes);
    if (!memory) return memory.error().note("needed as the arena of " + devices_->name(lane));
    arenas_.push_back(std::move(*memory));
    info_.lanes.push_back({devices_->name(lane), arena.bytes, arena.lower_bound, schedule.lanes[lane].size(), 0, 0});
  }
  return {};
}

void Binding::describe(const PlannedBinding& planned) {
  info_.parameter_bytes = store_->parameter_bytes();
  info_.derived_bytes = store_->derived_bytes();
  std::set<int> spaces;
  const auto shown = shown_lanes(planned.schedule, *devices_);
  info_.lanes.resize(shown.size());
  for (LaneId lane : shown) {
    const int space = devices_->device(lane).memory_space();
    if (!spaces.insert(space).second) continue;
    info_.lanes[lane.index()].parameter_bytes = store_->parameter_bytes(space);
    info_.lanes[lane.index()].derived_bytes = store_->derived_bytes(space);
  }
  info_.communications = communications(planned.program, *program_);
  info_.operations = describe_operations(planned.program, *program_, *devices_);
  info_.memory = memory_profile(planned, info_.operations, *program_, *devices_);
  for (const Instance& instance : planned.program.instances) entries_.push_back(instance.entry);
}

Result<void> Binding::take_buffers(std::span<const void* const> inputs, std::span<void* const> outputs) {
  settle_all();
  SHEAF_TRY(buffers_.take(inputs, outputs));
  return prepare_weights();
}

Result<void> Binding::prepare_weights() {
  if (!store_->set() && info_.parameter_bytes > 0) {
    return Error("the model's weights were never set: load them, or initialise them from a seed");
  }
  if (store_->stale()) {
    const auto lock = store_->lock();
    SHEAF_TRY(store_->refresh());
  }
  if (store_->made() >= needed_) return {};
  const auto lock = store_->lock();
  return store_->evaluate();
}

Result<void> Binding::run(std::span<const void* const> inputs, std::span<void* const> outputs, const PrintSink* sink,
                          Trace* trace, std::span<const void* const> next) {
  settle_all();
  loss_not_finite_ = false;
  SHEAF_TRY(take_buffers(inputs, outputs));
  if (gathers_scalars_) warn_of_scalars();
  const Ahead ahead = ahead_of(inputs, next);
  if (!(trace ? traced_run(sink, *trace, ahead) : executor_->run(sink, {}, RunPart::whole, ahead))) return failed_run();
  if (!ahead.next.empty()) came_.assign(next.begin(), next.end());
  note_updates();
  return {};
}

void Binding::forget_what_came() {
  came_.clear();
  if (pool_) pool_->use(this);
}

Ahead Binding::ahead_of(std::span<const void* const> inputs, std::span<const void* const> next) {
  const bool own = !pool_ || pool_->use(this);
  if (ahead_.empty()) return {};
  Ahead ahead;
  ahead.came = own && !came_.empty() && std::ranges::all_of(ahead_, [&](size_t i) { return came_[i] == inputs[i]; });
  came_.clear();
  if (next.size() == inputs.size()) ahead.next = next;
  return ahead;
}

Result<void> Binding::run_part(RunPart part, std::span<const void* const> inputs, std::span<void* const> outputs,
                               const PrintSink* sink) {
  settle_all();
  if (part == RunPart::first) {
    SHEAF_TRY(buffers_.take({{0, parts_.inputs}, {0, parts_.outputs}}, inputs, outputs));
    SHEAF_TRY(prepare_weights());
  } else {
    SHEAF_TRY(
        buffers_.take({{parts_.inputs, this->inputs().size()}, {parts_.outputs, this->outputs().size()}}, inputs, outputs));
  }
  forget_what_came();
  if (!executor_->run(sink, {}, part)) return error();
  return {};
}

void Binding::note_updates() {
  if (!trains_) return;
  store_->updated(updated_);
  store_->changed();
}

bool Binding::traced_run(const PrintSink* sink, Trace& trace, const Ahead& ahead) {
  if (!recording_ || recording_->owner() != trace.identity())
    recording_ = trace.add(traced_program(*plan_, *program_, batch_, *devices_, info_, *executor_, trace.devices()));
  const auto times = recording_->begin();
  CallLog* calls = nullptr;  // devices of one kind share one
  for (LaneId lane : devices_->lanes())
    if (!calls) calls = devices_->device(lane).call_log();
  if (calls) calls->start();
  const int64_t begin = ticks();
  const bool done = executor_->run(sink, times, RunPart::whole, ahead);
  const int64_t end = ticks();
  const auto noted = calls ? calls->stop() : std::span<const CallLog::Call>();
  if (done) recording_->commit(begin, end, noted);
  return done;
}

Error Binding::failed_run() {
  const LaneFailure* failure = executor_->failure();
  loss_not_finite_ = !executor_->device_failure() && failure && failure->instance == guard_;
  World* world = devices_->world();
  if (!world) return error();
  if (auto cause = world->failure()) return *cause;
  if (!agreement_ || !agreement_->failed(0)) {  // only this rank knows
    world->fail(error());
    return error();
  }
  const bool mine = failure && failure->instance != agreed_;
  const Outcome own = loss_not_finite_ ? Outcome::loss_not_finite : mine ? Outcome::failed : Outcome::fine;
  auto found = world->exchange(char(own) + (own == Outcome::failed ? error().message() : std::string()));
  if (!found) return found.error();
  for (size_t rank = 0; rank < found->size(); ++rank) {
    const std::string& told = (*found)[rank];
    if (Outcome(told[0]) == Outcome::failed) return Error("rank " + std::to_string(rank) + ": " + told.substr(1));
    loss_not_finite_ |= Outcome(told[0]) == Outcome::loss_not_finite;
  }
  return Error("the loss isn't finite");
}

Result<std::string> Binding::first_not_finite(std::span<const void* const> inputs, std::span<void* const> outputs) {
  SHEAF_TRY(take_buffers(inputs, outputs));
  forget_what_came();
  auto first = results_.run(*executor_, *devices_);
  if (!first) return executor_->device_failure() ? error() : first.error();
  return *first ? info_.operations[first->index()].layer : std::string();
}

Result<void> Binding::observe(std::span<const void* const> inputs, std::span<void* const> outputs, const Observer& look) {
  SHEAF_TRY(take_buffers(inputs, outputs));
  forget_what_came();
  const auto done = observation_.run(*executor_, look);
  note_updates();
  return done && *done ? Result<void>() : error();
}

Result<void> Binding::read(const BoundValue& value, void* plain) {
  return transfer(place_of(value.spec, value.data, value.lane),
                  place_of(plain_tensor(value.spec.dtype, value.spec.dims), plain, kHostLane));
}

Result<void> Binding::write(const BoundValue& value, const void* plain) {
  return transfer(place_of(plain_tensor(value.spec.dtype, value.spec.dims), const_cast<void*>(plain), kHostLane),
                  place_of(value.spec, value.data, value.lane));
}

TensorPlace Binding::place_of(TensorSpec spec, void* data, LaneId lane) {
  return {devices_->device(lane), *executor_->lane(lane).queue, std::move(spec), data};
}

}  // namespace sheaf
