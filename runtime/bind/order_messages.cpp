// Decides what the lanes for messages, and links, do and when. A lane does one thing after another: a message that comes too
// late holds up everything after it; one that comes too early waits for its operands or takes memory.
//
// Parameters in shares are gathered ahead of their readers, as far as kGatheredAhead allows; otherwise the messages a step
// sends when it is done would delay them. Work that only makes new values of variables from messages (a share's update, and its
// way to the other ranks) follows its operands at once, while the backward pass goes on.
//
// A send and its receive stay together, with nothing else of the two lanes between them: a large message is passed only when
// both sides are at it, and two ranks that both send first would wait for each other.
#include "runtime/bind/order.h"
#include "runtime/bind/rewrites.h"
#include "runtime/plan/op_list.h"

#include <algorithm>
#include <map>

namespace sheaf {
namespace {

/// Bytes that are gathered before their turn, besides the tensor being read and the next one, however large.
constexpr size_t kGatheredAhead = size_t{8} << 20;

/// Parameters of one bucket, gathered in each memory.
struct Gather {
  std::vector<InstanceId> instances;
  std::vector<TensorId> wholes;  ///< roots that others read, some for each memory
  InstanceId first_reader;
  size_t bytes = 0;  ///< in one memory
};

class MessageOrder {
 public:
  MessageOrder(BoundProgram& program, const BindContext& context) : program_(program), context_(context) {
    times_.reserve(program.instances.size());
    for (size_t i = 0; i < program.instances.size(); ++i) times_.push_back(2 * static_cast<int64_t>(i));
    find_readers();
  }

  Result<void> run() {
    bring_forward_gathers();
    bring_forward_updates();
    std::vector<InstanceGroup> groups;
    IdVector<InstanceId, InstanceId> instead;
    for (const InstanceId i : program_.instances.ids()) {
      instead.push_back(i);
      if (times_[i] != 2 * int64_t{i.number()}) groups.push_back({{i}, times_[i]});
    }
    if (groups.empty()) return {};
    return rearrange(program_, groups, instead);
  }

 private:
  const Instance& instance(InstanceId i) const { return program_.instances[i]; }

  void find_readers() {
    readers_.resize(program_.tensors.size());
    writers_.resize(program_.tensors.size());
    updates_.assign(program_.tensors.size(), false);
    followers_.resize(program_.instances.size());
    for (const InstanceId i : program_.instances.ids()) {
      for (const TensorId input : instance(i).inputs) {
        readers_[program_.root(input).tensor].push_back(i);
        for (const InstanceId writer : program_.tensors[input].writers) followers_[writer].push_back(i);
      }
      for (const TensorId output : instance(i).outputs) writers_[program_.root(output).tensor].push_back(i);
      for (const InstanceId before : instance(i).after) followers_[before].push_back(i);
    }
    for (const BoundProgram::Update& update : program_.updates) updates_[program_.root(update.value).tensor] = true;
    for (const TensorId output : program_.outputs) given_.push_back(program_.root(output).tensor);
  }

  /// Those that have a reader in the run, in order.
  std::vector<Gather> gathers() const {
    std::map<StepId, Gather> found;
    for (const InstanceId i : program_.instances.ids()) {
      const StepId step = instance(i).step;
      if (step && context_.step(step).op == Op::all_gather) found[step].instances.push_back(i);
    }
    for (const InstanceId i : program_.instances.ids()) {
      const auto gather = found.find(instance(i).step);
      if (gather == found.end() || !instance(i).is<Instance::Copy>()) continue;
      const TensorId whole = program_.root(instance(i).outputs[0]).tensor;
      if (std::ranges::find(gather->second.wholes, whole) == gather->second.wholes.end())
        gather->second.wholes.push_back(whole);
    }
    std::vector<Gather> all;
    for (auto& [step, gather] : found) {
      std::map<int, size_t> bytes;                        // by memory
      std::erase_if(gather.wholes, [&](TensorId whole) {  // what is on its way has no reader outside
        InstanceId first;
        for (const InstanceId reader : readers_[whole])
          if (instance(reader).step != step && (!first || reader < first)) first = reader;
        if (!first) return true;
        if (!gather.first_reader || first < gather.first_reader) gather.first_reader = first;
        const Tensor& tensor = program_.tensors[whole];
        size_t& own = bytes[context_.devices.device(tensor.lane).memory_space()];
        gather.bytes = std::max(gather.bytes, own += tensor.spec.bytes);
        return false;
      });
      if (gather.first_reader) all.push_back(std::move(gather));
    }
    std::ranges::sort(all, {}, &Gather::first_reader);
    return all;
  }

  /// Each begins when few enough of those before it are still unread; the memory of those already read is free then.
  void bring_forward_gathers() {
    const std::vector<Gather> all = gathers();
    size_t oldest = 0, bytes = 0, freed = 0, largest = 0;
    for (const Gather& gather : all) largest = std::max(largest, gather.bytes);
    const size_t most = 2 * largest + kGatheredAhead;
    for (size_t i = 0; i < all.size(); ++i) {
      while (oldest + 1 < i && bytes + all[i].bytes > most) bytes -= all[oldest++].bytes;
      bytes += all[i].bytes;
      int64_t time = 2 * int64_t{all[oldest].first_reader.number()} - 1;
      for (const InstanceId one : all[i].instances) time = std::min(time, times_[one]);
      for (const InstanceId one : all[i].instances) times_[one] = time;
      for (; freed < oldest; ++freed) wait_for_readers(all[i], all[freed], time);
    }
  }

  /// Whether `one`, of a gather, brings to `lane` what is elsewhere.
  bool receives_for(LaneId lane, const Instance& one) const {
    const DeviceSet& devices = context_.devices;
    if (devices.world()) return one.is<Instance::Receive>() && devices.rank(one.lane) == devices.rank(lane);
    return one.is<Instance::Copy>() && one.lane == devices.messenger_for(lane);
  }

  /// On each rank or device `gather`, which comes at `time`, is received after `before` was read, if that was earlier.
  void wait_for_readers(const Gather& gather, const Gather& before, int64_t time) {
    for (const TensorId whole : before.wholes) {
      std::map<LaneId, InstanceId> last;
      for (const InstanceId reader : readers_[whole]) last[instance(reader).lane] = reader;
      for (const auto& [lane, reader] : last) {
        if (context_.devices.messenger(lane) || time <= times_[reader]) continue;
        const auto receives = [&](InstanceId one) { return receives_for(lane, instance(one)); };
        // What follows on its lane comes after it.
        const auto first = std::ranges::find_if(gather.instances, receives);
        if (first != gather.instances.end()) program_.instances[*first].after.push_back(reader);
      }
    }
  }

  /// By instance: whether it computes only with a step's settings (its number, the learning rate).
  IdVector<InstanceId, bool> from_settings() const {
    std::vector<bool> settings;  // by the caller's input
    for (const Value& value : context_.program.values) {
      const bool setting = value.role == Value::setting;
      if (setting || value.role == Value::input || value.role == Value::target) settings.push_back(setting);
    }
    IdVector<InstanceId, bool> from(program_.instances.size(), false);
    for (const InstanceId i : program_.instances.ids()) {
      const auto is_setting = [&](TensorId input) {
        const auto& writers = program_.tensors[input].writers;
        const auto* given = program_.home(input).lies<Tensor::Given>();
        return given ? settings[static_cast<size_t>(given->input)]
                     : !writers.empty() && std::ranges::all_of(writers, [&](InstanceId writer) { return from[writer]; });
      };
      from[i] = instance(i).after.empty() && std::ranges::all_of(instance(i).inputs, is_setting) && !instance(i).inputs.empty();
    }
    return from;
  }

  /// By instance: it is on a lane for messages or a link, or computes only with settings, and so do all its dependents, which make new
  /// values of variables in the end.
  IdVector<InstanceId, bool> only_for_updates() const {
    const auto settings = from_settings();
    IdVector<InstanceId, bool> only(program_.instances.size(), false);
    for (size_t n = program_.instances.size(); n-- > 0;) {
      const InstanceId i(n);
      const auto& outputs = instance(i).outputs;
      const auto updates = [&](TensorId output) { return updates_[program_.root(output).tensor]; };
      const auto given = [&](TensorId output) { return std::ranges::count(given_, program_.root(output).tensor) > 0; };
      const auto before_such = [&](InstanceId other) { return only[other]; };
      if (!context_.devices.messenger(instance(i).lane) && !settings[i]) continue;
      if (instance(i).can_fail() || instance(i).is<Instance::Print>() || std::ranges::any_of(outputs, given)) continue;
      only[i] =
          (!followers_[i].empty() || std::ranges::any_of(outputs, updates)) && std::ranges::all_of(followers_[i], before_such);
    }
    return only;
  }

  template <typename Look>
  void for_each_before(InstanceId i, const Look& look) const {
    for (const TensorId input : instance(i).inputs)
      for (const InstanceId writer : program_.tensors[input].writers) look(writer);
    for (const InstanceId before : instance(i).after) look(before);
  }

  /// After everything that may fail, and after the old value's readers: then it can be made in place (place_updates()).
  IdVector<InstanceId, int64_t> earliest(const IdVector<InstanceId, bool>& only) const {
    int64_t sure = -1;
    for (const InstanceId i : program_.instances.ids())
      if (instance(i).can_fail()) sure = 2 * int64_t{i.number()};
    IdVector<InstanceId, int64_t> earliest;
    for (size_t i = 0; i < program_.instances.size(); ++i) earliest.push_back(sure);
    for (const BoundProgram::Update& update : program_.updates) {
      int64_t read = -1;
      for (const InstanceId reader : readers_[program_.root(update.variable).tensor])
        if (!only[reader]) read = std::max(read, times_[reader]);
      const auto hold = [&](TensorId root) {
        for (const InstanceId writer : writers_[root]) earliest[writer] = std::max(earliest[writer], read);
      };
      const TensorId made = program_.root(update.value).tensor;
      hold(made);
      for (const InstanceId writer : writers_[made])
        if (instance(writer).is<Instance::Copy>()) hold(program_.root(instance(writer).inputs[0]).tensor);
    }
    return earliest;
  }

  /// When the bucket of gathered values that `i` is of is complete.
  int64_t complete(InstanceId i, const IdVector<InstanceId, int64_t>& earliest) const {
    const StepId step = instance(i).step;
    int64_t time = -1;
    for (const InstanceId one : of_step_.at(step)) {
      time = std::max(time, earliest[one]);
      for_each_before(one, [&](InstanceId before) {
        if (instance(before).step != step) time = std::max(time, times_[before]);
      });
    }
    return time;
  }

  void bring_forward_updates() {
    const auto only = only_for_updates();
    const auto earliest = this->earliest(only);
    for (const InstanceId i : program_.instances.ids())
      if (instance(i).step && context_.step(instance(i).step).op == Op::all_gather) of_step_[instance(i).step].push_back(i);
    std::map<StepId, int64_t> completed;
    for (const InstanceId i : program_.instances.ids()) {
      int64_t time = earliest[i];
      if (instance(i).is<Instance::Send>())
        for (const InstanceId receives : followers_[i]) time = std::max(time, earliest[receives]);
      for_each_before(i, [&](InstanceId before) { time = std::max(time, times_[before]); });
      if (!only[i]) continue;
      if (of_step_.contains(instance(i).step)) {  // its parts stay together
        const auto [known, fresh] = completed.try_emplace(instance(i).step, 0);
        if (fresh) known->second = complete(i, earliest);
        time = std::max(time, known->second);
      }
      times_[i] = std::min(times_[i], time);
    }
  }

  BoundProgram& program_;
  const BindContext& context_;
  IdVector<InstanceId, int64_t> times_;                            ///< as rearrange() takes them
  IdVector<TensorId, std::vector<InstanceId>> readers_, writers_;  ///< by root
  IdVector<TensorId, bool> updates_;                               ///< by root: the variable it becomes
  IdVector<InstanceId, std::vector<InstanceId>> followers_;        ///< by instance: the ones that wait for it
  std::vector<TensorId> given_;                                    ///< roots of outputs
  std::map<StepId, std::vector<InstanceId>> of_step_;              ///< that gather
};

}  // namespace

Result<void> order_messages(BoundProgram& program, const BindContext& context) {
  return context.devices.has_messengers() ? MessageOrder(program, context).run() : Result<void>();
}

}  // namespace sheaf
