// Pictures are bytes on disk; as float32 they would be four times what has to cross the bus. An input whose data are bytes
// (BindOptions::bytes) is copied to the devices as such, and there its numbers are looked up, rounded where a layer reads bf16 or f16.
#include "runtime/bind/rewrites.h"
#include "runtime/plan/pattern.h"

#include <algorithm>
#include <optional>

namespace sheaf {
namespace {

/// Bytes of float32 for each byte.
constexpr size_t kFactor = sizeof(float);

/// By number of a program's input, target or setting: what its bytes stand for; null: it is given as the program declares it.
std::vector<const ByteNumbers*> numbers_of_inputs(const BindContext& context) {
  std::vector<const ByteNumbers*> all;
  for (const Value& value : context.program.values) {
    if (value.role != Value::input && value.role != Value::target && value.role != Value::setting) continue;
    const auto found = context.bytes->find(value.name);
    all.push_back(value.role != Value::setting && found != context.bytes->end() ? &found->second : nullptr);
  }
  return all;
}

class Fetching {
 public:
  Fetching(BoundProgram& program, const BindContext& context, int input, const ByteNumbers& numbers)
      : program_(program), context_(context), input_(input), numbers_(numbers) {}

  /// Adds what has to follow copies, by copy.
  Result<void> run(IdVector<InstanceId, std::optional<Instance>>& followers) {
    std::vector<InstanceId> copies;
    for (InstanceId i : program_.instances.ids()) {
      const Instance& instance = program_.instances[i];
      if (instance.is<Instance::Print>() || !std::ranges::any_of(instance.inputs, [&](TensorId t) { return given(t); }))
        continue;
      if (!brings_numbers(instance)) return {};
      copies.push_back(i);
    }
    if (std::ranges::any_of(program_.outputs, [&](TensorId output) { return given(output); })) return {};
    for (TensorId id : program_.tensors.ids()) {
      Tensor& tensor = program_.tensors[id];
      if (!given(id)) continue;
      tensor.spec = plain_tensor(DType::uint8, tensor.spec.dims);
      if (auto* view = std::get_if<Tensor::View>(&tensor.place)) view->offset /= kFactor;
    }
    for (InstanceId i : copies) {
      SHEAF_ASSIGN(followers[i], fetched(i));
    }
    return {};
  }

 private:
  bool given(TensorId tensor) const {
    const auto* lies = program_.home(tensor).lies<Tensor::Given>();
    return lies && lies->input == input_;
  }

  /// It copies to all of a tensor of its own on a device that looks up numbers.
  bool brings_numbers(const Instance& instance) const {
    const auto* copy = instance.is<Instance::Copy>();
    if (!copy || copy->left_out || copy->target_offset != 0) return false;
    const TensorId id = instance.outputs[0];
    const Tensor& target = program_.tensors[id];
    return context_.devices.device(instance.lane).info().looks_up_numbers && target.lane == instance.lane &&
           program_.planned(id) && target.writers.size() == 1 && target.spec.plain() && target.spec.dtype == DType::float32 &&
           copy->shape.row_bytes * copy->shape.rows == target.spec.bytes;
  }

  /// The kernel that only converts `numbers` to bf16 or f16, on the same device and from start to end, if nothing else reads them; else none.
  InstanceId conversion(TensorId numbers) const {
    InstanceId reader;
    for (InstanceId i : program_.instances.ids())
      for (TensorId input : program_.instances[i].inputs)
        if (program_.root(input).tensor == numbers) {
          if (reader) return {};
          reader = i;
        }
    if (!reader || std::ranges::any_of(program_.outputs, [&](TensorId o) { return program_.root(o).tensor == numbers; }))
      return {};
    const Instance& instance = program_.instances[reader];
    if (!instance.is<Instance::KernelCall>() || !has_pattern(context_.step(instance.step), "cast")) return {};
    const TensorId made = instance.outputs[0];
    const Tensor &from = program_.tensors[numbers], &to = program_.tensors[made];
    const bool narrow = to.spec.dtype == DType::bfloat16 || to.spec.dtype == DType::float16;
    const bool whole = instance.inputs[0] == numbers && instance.lane == from.lane && to.lane == from.lane;
    return narrow && whole && program_.planned(made) && to.writers.size() == 1 && to.spec.plain() &&
                   to.spec.dims == from.spec.dims
               ? reader
               : InstanceId();
  }

  /// Makes `i` bring bytes. Looks up their numbers in place of the kernel that converts them, if there is one: the bytes take the numbers' place. Else
  /// bytes get a tensor of theirs.
  Result<std::optional<Instance>> fetched(InstanceId i) {
    const TensorId numbers = program_.instances[i].outputs[0];
    if (const InstanceId converts = conversion(numbers)) {
      Tensor& tensor = program_.tensors[numbers];
      tensor.spec = plain_tensor(DType::uint8, tensor.spec.dims);
      bring_bytes(i, numbers);
      Instance& instance = program_.instances[converts];
      SHEAF_ASSIGN(instance.work, look_up(instance.lane, numbers, instance.outputs[0]));
      return std::optional<Instance>();
    }
    const TensorId bytes = program_.tensors.next();
    const Tensor& target = program_.tensors[numbers];
    program_.tensors.push_back(
        {plain_tensor(DType::uint8, target.spec.dims), target.name, target.lane, Tensor::Planned{}, {i}});
    bring_bytes(i, bytes);
    const Instance& instance = program_.instances[i];
    Instance follower;
    follower.step = instance.step;
    follower.replica = instance.replica;
    follower.entry = instance.entry;
    follower.lane = instance.lane;
    SHEAF_ASSIGN(follower.work, look_up(instance.lane, bytes, numbers));
    follower.inputs = {bytes};
    follower.outputs = {numbers};
    return std::optional<Instance>(std::move(follower));
  }

  /// Makes the copy `i` one of bytes, to all of `bytes`.
  void bring_bytes(InstanceId i, TensorId bytes) {
    Instance& instance = program_.instances[i];
    auto& copy = std::get<Instance::Copy>(instance.work);
    for (size_t* size : {&copy.shape.row_bytes, &copy.shape.source_pitch, &copy.shape.target_pitch, &copy.source_offset})
      *size /= kFactor;
    copy.placeable = false;
    instance.outputs = {bytes};
  }

  Result<Instance::Work> look_up(LaneId lane, TensorId bytes, TensorId numbers) {
    const Tensor &from = program_.tensors[bytes], &to = program_.tensors[numbers];
    SHEAF_ASSIGN(auto prepared, context_.devices.device(lane).prepare_numbers(from.spec, to.spec, numbers_));
    Instance::Reorder work;
    work.executable = std::move(prepared.executable);
    work.scratch_bytes = prepared.scratch_bytes;
    work.implementation = "bytes to numbers";
    work.reason = "'" + from.name + "' are bytes, which cross the bus as such: a quarter of what float32 takes";
    if (to.spec.dtype != DType::float32) work.reason += "; their numbers are rounded as they are looked up";
    return Instance::Work(std::move(work));
  }

  BoundProgram& program_;
  const BindContext& context_;
  const int input_;
  const ByteNumbers& numbers_;
};

/// Each follower right behind its instance. What was there after the instance is there after its follower.
void insert(BoundProgram& program, IdVector<InstanceId, std::optional<Instance>> followers) {
  IdVector<InstanceId, InstanceId> done(program.instances.size());
  IdVector<InstanceId, Instance> instances;
  for (InstanceId old : program.instances.ids()) {
    done[old] = instances.next();
    instances.push_back(std::move(program.instances[old]));
    if (!followers[old]) continue;
    done[old] = instances.next();
    instances.push_back(*std::move(followers[old]));
  }
  const auto renumber = [&](std::vector<InstanceId>& ids) {
    for (InstanceId& id : ids) id = done[id];
  };
  program.instances = std::move(instances);
  for (Instance& instance : program.instances) renumber(instance.after);
  for (Tensor& tensor : program.tensors) renumber(tensor.writers);
  if (program.guard) program.guard = done[program.guard];
  for (InstanceId old : followers.ids())
    if (followers[old]) program.tensors[program.instances[done[old]].inputs[0]].writers = {InstanceId(done[old].index() - 1)};
}

}  // namespace

Result<void> fetch_bytes(BoundProgram& program, const BindContext& context) {
  if (!context.bytes || context.bytes->empty() || context.observe) return {};
  // On a list with other devices too, an input's rows may go to these alone in one batch and not in another. The lanes for messages
  // between ranks, which are on hosts, never read an input: each process has its own.
  const DeviceSet& devices = context.devices;
  for (LaneId lane : devices.lanes())
    if (lane != kHostLane && !devices.messenger(lane) && !devices.device(lane).info().looks_up_numbers) return {};
  const auto numbers = numbers_of_inputs(context);
  IdVector<InstanceId, std::optional<Instance>> followers(program.instances.size());
  for (size_t input = 0; input < numbers.size(); ++input) {
    if (!numbers[input]) continue;
    SHEAF_TRY(Fetching(program, context, static_cast<int>(input), *numbers[input]).run(followers));
  }
  if (std::ranges::any_of(followers, [](const auto& follower) { return follower.has_value(); }))
    insert(program, std::move(followers));
  return {};
}

}  // namespace sheaf
