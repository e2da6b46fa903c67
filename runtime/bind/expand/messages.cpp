#include "runtime/bind/expand/messages.h"

#include "runtime/bind/order.h"

#include <stdexcept>

namespace sheaf {
namespace {

/// The world's errors end the run on all ranks; the executor takes them for errors of this operation.
void check(const Result<void>& done) {
  if (!done) throw std::runtime_error(done.error().message());
}

class Sending : public Executable {
 public:
  Sending(World& world, int from, int to, size_t bytes) : world_(world), from_(from), to_(to), bytes_(bytes) {}
  void run(void* const* buffers, void*) override { check(world_.send(from_, to_, buffers[0], bytes_)); }

 private:
  World& world_;
  int from_, to_;
  size_t bytes_;
};

class Receiving : public Executable {
 public:
  Receiving(World& world, int to, int from, size_t bytes) : world_(world), to_(to), from_(from), bytes_(bytes) {}
  void run(void* const* buffers, void*) override { check(world_.receive(to_, from_, buffers[0], bytes_)); }

 private:
  World& world_;
  int to_, from_;
  size_t bytes_;
};

class Agreement : public Executable {
 public:
  explicit Agreement(World& world) : world_(world) {}
  void tell(bool run_failed) override { failed_here_ = run_failed; }
  void run(void* const*, void*) override {
    failed_ = false;
    auto some = world_.any(failed_here_);
    if (!some) throw std::runtime_error(some.error().message());
    failed_ = *some;
  }
  bool failed(int) const override { return failed_; }
  std::string failure(int) const override { return failed_ ? "the run has failed on some rank" : ""; }

 private:
  World& world_;
  bool failed_here_ = false, failed_ = false;
};

template <typename Kind>
Kind message(std::unique_ptr<Executable> executable, const std::string& reason, const std::string& implementation = "message") {
  Kind work;
  work.executable = std::move(executable);
  work.implementation = implementation;
  work.reason = reason;
  return work;
}

}  // namespace

std::string RankMessages::way(LaneId from, LaneId to) const {
  const DeviceSet& devices = builder_.devices();
  const Transport& transport = devices.transport();
  const int on_hosts = int{devices.in_host_memory(from)} + int{devices.in_host_memory(to)};
  if (on_hosts == 2) return "";
  if (transport.direct && on_hosts == 0) return "; it goes from device to device";
  const std::string why = transport.direct ? "one end is in a host's memory" : transport.why_not;
  return "; what devices have goes through their hosts' memories" + (why.empty() ? "" : ", because " + why);
}

bool RankMessages::direct(LaneId from, LaneId to) const {
  const DeviceSet& devices = builder_.devices();
  return devices.transport().direct && !devices.in_host_memory(from) && !devices.in_host_memory(to);
}

TensorId RankMessages::add_message(TensorId tensor, const std::string& name, StepId step, int to, LaneId lane,
                                   Tensor::Place place) {
  const DeviceSet& devices = builder_.devices();
  World& world = *devices.world();
  const int from = rank(builder_.tensor(tensor).lane);
  const TensorSpec spec = builder_.spec(tensor);
  const TensorId copy = builder_.add(spec, name, lane, place);
  if (spec.bytes == 0) return copy;
  const std::string way = this->way(builder_.tensor(tensor).lane, lane);
  const Transport& transport = devices.transport();
  const bool direct = this->direct(builder_.tensor(tensor).lane, lane);
  Spot sender, receiver;
  sender.lane = direct ? devices.link(from) : devices.message_lane(from);
  receiver.lane = direct ? devices.link(to) : devices.message_lane(to);
  tensor = in_memory_of(sender.lane, tensor, step);
  const TensorId arrived = builder_.same_memory(lane, receiver.lane) ? copy : builder_.add(spec, name, receiver.lane);
  const auto by = direct ? transport.library : std::string("message");
  RankLink* const link = direct ? transport.link.get() : nullptr;
  std::unique_ptr<Executable> sending, receiving;  // of a link only this rank's
  if (!direct) {
    sending = std::make_unique<Sending>(world, from, to, spec.bytes);
    receiving = std::make_unique<Receiving>(world, to, from, spec.bytes);
  } else if (link) {
    if (devices.here(sender.lane)) sending = link->send(to, spec.bytes, name);
    if (devices.here(receiver.lane)) receiving = link->receive(from, spec.bytes, name);
  }
  auto send =
      message<Instance::Send>(std::move(sending), "rank " + std::to_string(to) + " reads it, in a memory of its own" + way, by);
  send.to = to;
  const InstanceId sent = builder_.add(std::move(send), step, sender, {tensor}, {});
  auto receive = message<Instance::Receive>(std::move(receiving), "it is made by rank " + std::to_string(from) + way, by);
  receive.from = from;
  const InstanceId received = builder_.add(std::move(receive), step, receiver, {}, {arrived});
  builder_.program.instances[received].after = {sent};
  if (arrived != copy) add_copy(arrived, copy, step, lane);
  return copy;
}

InstanceId RankMessages::add_copy(TensorId from, TensorId to, StepId step, LaneId device) {
  Spot link;
  link.lane = builder_.devices().messenger_for(device);
  return builder_.add(Instance::Copy{{builder_.spec(from).bytes, 1, 0, 0}}, step, link, {from}, {to});
}

TensorId RankMessages::in_memory_of(LaneId sender, TensorId tensor, StepId step) {
  const LaneId lane = builder_.tensor(tensor).lane;
  if (builder_.same_memory(lane, sender)) return tensor;
  TensorId& known = to_send_[{tensor, step, sender}];
  if (known) return known;
  known = builder_.add(builder_.spec(tensor), builder_.tensor(tensor).name, sender);
  add_copy(tensor, known, step, lane);
  return known;
}

TensorId RankMessages::sent(TensorId tensor, const std::string& name, StepId step, const Spot& to) {
  TensorId& known = received_[{tensor, rank(to.lane)}];
  if (!known) {
    known = add_message(tensor, name, step, rank(to.lane), to.lane, Tensor::Planned{});
    variables_.note_copy(tensor, known, {});
    return known;
  }
  const LaneId lane = builder_.tensor(known).lane;
  if (lane == to.lane) return known;
  if (builder_.same_memory(lane, to.lane)) return builder_.add_view(known, 0, builder_.spec(known), name, to.lane);
  const TensorId copy = builder_.add(builder_.spec(known), name, to.lane);
  Spot copier = to;
  if (builder_.devices().in_host_memory(to.lane)) copier.lane = lane;
  const InstanceId copied = builder_.add(Instance::Copy{{builder_.spec(known).bytes, 1, 0, 0}}, step, copier, {known}, {copy});
  variables_.note_copy(known, copy, copied);
  return copy;
}

TensorId RankMessages::sent_anew(TensorId tensor, const std::string& name, StepId step, const Spot& to) {
  return add_message(tensor, name, step, rank(to.lane), to.lane, Tensor::Planned{});
}

void RankMessages::receive_after(TensorId tensor, const std::vector<TensorId>& own) {
  const int here = rank(builder_.tensor(tensor).lane);
  InstanceId last;
  for (const TensorId one : own) {
    if (rank(builder_.tensor(one).lane) != here) continue;
    for (const InstanceId writer : builder_.tensor(one).writers)
      if (!last || last < writer) last = writer;
  }
  for (InstanceId writer : builder_.tensor(tensor).writers) {
    if (builder_.program.instances[writer].is<Instance::Copy>()) {  // from the host's memory, where it arrived
      const auto& arrival = builder_.tensor(builder_.program.instances[writer].inputs[0]).writers;
      if (arrival.size() == 1) writer = arrival[0];
    }
    Instance& receipt = builder_.program.instances[writer];
    if (last && last < writer && receipt.is<Instance::Receive>()) receipt.after.push_back(last);
  }
}

void RankMessages::deliver(TensorId tensor, int output) {
  const World* world = builder_.devices().world();
  const std::string name = builder_.tensor(tensor).name;
  for (int rank = 1; world && rank < world->size(); ++rank)
    add_message(tensor, name, {}, rank, builder_.devices().message_lane(rank), Tensor::Wanted{output});
}

Result<void> RankMessages::agree() {
  const DeviceSet& devices = builder_.devices();
  BoundProgram& program = builder_.program;
  std::vector<InstanceId> may_fail;
  for (const InstanceId i : program.instances.ids())
    if (program.instances[i].can_fail()) may_fail.push_back(i);
  if (!devices.world() || may_fail.empty()) return {};
  std::vector<InstanceGroup> groups;
  for (int rank = 0; rank < devices.world()->size(); ++rank) {
    Spot spot;
    spot.lane = devices.message_lane(rank);
    auto agree =
        message<Instance::Agree>(std::make_unique<Agreement>(*devices.world()), "variables change on all ranks or on none");
    agree.can_fail = true;
    const InstanceId agreed = builder_.add(std::move(agree), {}, spot, {}, {});
    program.instances[agreed].after = may_fail;
    groups.push_back({{agreed}, 2 * int64_t{may_fail.back().number()} + 1});
  }
  IdVector<InstanceId, InstanceId> instead;
  for (const InstanceId i : program.instances.ids()) instead.push_back(i);
  return rearrange(program, groups, instead);
}

}  // namespace sheaf
