// Updates: the new value of a variable is made over the old one if nobody needs the old one any more; otherwise it is copied
// there at the end. Either way a run that fails leaves all variables as they were.
#include "runtime/bind/rewrites.h"

#include <algorithm>

namespace sheaf {
namespace {

class UpdatePlacement {
 public:
  UpdatePlacement(BoundProgram& program, const BindContext& context) : program_(program), context_(context) {}

  void run() {
    keep_old_values();
    find_touches();
    for (const Update& update : program_.updates) {
      if (is_new_already(update) || tensor(update.variable).spec.bytes == 0) continue;
      if (can_lie_over(update)) {
        make_over(update);
      } else {
        copies_.push_back(update);
      }
    }
    for (const Update& update : copies_) copy_at_end(update);
  }

 private:
  using Update = BoundProgram::Update;

  const Tensor& tensor(TensorId id) const { return program_.tensors[id]; }

  /// The value is the variable itself: it stays.
  bool is_new_already(const Update& update) const { return program_.root(update.value).tensor == update.variable; }

  int memory_of(LaneId lane) const { return context_.devices.device(lane).memory_space(); }

  /// The host copies what was there from the start. Anything else is copied by the lane that made it, which need not wait; but
  /// the host's queue doesn't reach a device's memory.
  LaneId copying_lane(const Tensor& from, const Tensor& to) const {
    if (context_.devices.in_host_memory(from.lane) && !context_.devices.in_host_memory(to.lane)) return to.lane;
    return from.writers.empty() && memory_of(from.lane) == memory_of(kHostLane) ? kHostLane : from.lane;
  }

  InstanceId add_copy(TensorId from, TensorId to) {
    Instance copy;
    copy.lane = copying_lane(tensor(from), tensor(to));
    copy.inputs = {from};
    copy.outputs = {to};
    copy.work = Instance::Copy{{tensor(from).spec.bytes, 1, 0, 0}};
    return program_.instances.add(std::move(copy));
  }

  /// A variable that takes the old value of another gets it through a copy: the other may change earlier.
  void keep_old_values() {
    for (Update& update : program_.updates) {
      if (is_new_already(update) || !program_.home(update.value).variable()) continue;
      const Tensor& source = tensor(update.value);
      const TensorId kept = program_.tensors.add({source.spec, source.name, source.lane});
      program_.tensors[kept].writers = {add_copy(update.value, kept)};
      update.value = kept;
    }
  }

  void find_touches() {
    readers_.resize(program_.tensors.size());
    writers_.resize(program_.tensors.size());
    for (InstanceId i : program_.instances.ids()) {
      const Instance& instance = program_.instances[i];
      if (instance.can_fail()) may_fail_.push_back(i);
      if (instance.left_out() || instance.is<Instance::Print>()) continue;
      for (TensorId input : instance.inputs) readers_[program_.root(input).tensor].push_back(i);
      for (TensorId output : instance.outputs) writers_[program_.root(output).tensor].push_back(i);
    }
  }

  /// Everything that makes the value comes after all readers of the variable's old value and after everything that may fail.
  bool can_lie_over(const Update& update) const {
    const TensorId root = program_.root(update.value).tensor;
    if (!program_.covers_planned_root(update.value)) return false;
    if (tensor(root).spec.bytes != tensor(update.variable).spec.bytes) return false;
    const int home = memory_of(tensor(update.variable).lane);
    if (memory_of(tensor(root).lane) != home) return false;
    for (InstanceId writer : writers_[root]) {
      const Instance& instance = program_.instances[writer];
      // A message is received whether the run has failed or not.
      if (instance.is<Instance::Receive>()) return false;
      // Early instances come before everything that may fail, whatever their position here.
      if (instance.early || memory_of(instance.lane) != home || (!may_fail_.empty() && writer <= may_fail_.back()))
        return false;
      for (InstanceId reader : readers_[update.variable]) {
        const bool in_time = reader < writer || (reader == writer && works_in_place(instance, update.variable, root));
        if (!in_time && meet(written(instance, root), read(program_.instances[reader], update.variable))) return false;
      }
    }
    return true;
  }

  /// Bytes [begin, end) of a root.
  struct Bytes {
    size_t begin = SIZE_MAX, end = 0;
  };
  static bool meet(const Bytes& a, const Bytes& b) { return a.begin < b.end && b.begin < a.end; }

  /// The bytes of `root` that an instance reads, or writes.
  Bytes read(const Instance& instance, TensorId root) const {
    const auto* copy = instance.is<Instance::Copy>();
    return span(instance.inputs, root, copy ? &copy->shape : nullptr, copy ? copy->source_offset : 0);
  }
  Bytes written(const Instance& instance, TensorId root) const {
    const auto* copy = instance.is<Instance::Copy>();
    return span(instance.outputs, root, copy ? &copy->shape : nullptr, copy ? copy->target_offset : 0);
  }
  Bytes span(const std::vector<TensorId>& operands, TensorId root, const CopyShape* copied, size_t from) const {
    Bytes bytes;
    for (TensorId operand : operands) {
      const Root at = program_.root(operand);
      if (at.tensor != root) continue;
      const bool one_run = copied && copied->rows == 1;
      const size_t begin = at.offset + (one_run ? from : 0);
      const size_t end = one_run ? begin + copied->row_bytes : at.offset + tensor(operand).spec.bytes;
      bytes = {std::min(bytes.begin, begin), std::max(bytes.end, end)};
    }
    return bytes;
  }

  /// The instance reads the variable, or a run of it, once, and may write the same bytes of `root` over it.
  bool works_in_place(const Instance& instance, TensorId variable, TensorId root) const {
    const auto touches = [&](const std::vector<TensorId>& operands, TensorId of) {
      return std::count_if(operands.begin(), operands.end(), [&](TensorId one) { return program_.root(one).tensor == of; });
    };
    if (touches(instance.inputs, variable) != 1 || touches(instance.outputs, root) != 1 || !instance.call()) return false;
    const auto in = [&](const std::vector<TensorId>& operands, int which, TensorId of) {
      return which >= 0 && which < static_cast<int>(operands.size()) &&
             program_.root(operands[static_cast<size_t>(which)]).tensor == of;
    };
    const auto& in_place = instance.call()->in_place;
    return std::any_of(in_place.begin(), in_place.end(), [&](const auto& pair) {
      if (!in(instance.inputs, pair.first, variable) || !in(instance.outputs, pair.second, root)) return false;
      const Bytes from = read(instance, variable), to = written(instance, root);
      return from.begin == to.begin && from.end == to.end;
    });
  }

  void make_over(const Update& update) {
    const TensorId root = program_.root(update.value).tensor;
    program_.tensors[root].place = Tensor::View{update.variable};
    for (InstanceId writer : writers_[root]) commits(writer, update.variable);
  }

  void copy_at_end(const Update& update) { commits(add_copy(update.value, update.variable), update.variable); }

  /// Instance `writer` writes `variable`, once nothing can fail any more and the old value has been read.
  void commits(InstanceId writer, TensorId variable) {
    Instance& instance = program_.instances[writer];
    instance.commits = true;
    instance.after.insert(instance.after.end(), may_fail_.begin(), may_fail_.end());
    const Bytes over = written(instance, variable);
    for (InstanceId reader : readers_[variable]) {
      if (reader != writer && meet(over, read(program_.instances[reader], variable))) instance.after.push_back(reader);
    }
  }

  BoundProgram& program_;
  const BindContext& context_;
  IdVector<TensorId, std::vector<InstanceId>> readers_, writers_;  ///< by root, in order
  std::vector<InstanceId> may_fail_;                               ///< in order
  std::vector<Update> copies_;
};

}  // namespace

Result<void> place_updates(BoundProgram& program, const BindContext& context) {
  if (!program.updates.empty()) UpdatePlacement(program, context).run();
  return {};
}

}  // namespace sheaf
