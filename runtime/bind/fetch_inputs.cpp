// Fetches what asynchronous lanes read from the caller's memory. It is there from the start, so it is fetched before everything
// else: later, it would cut recordable work in two. A transfer costs the host some microseconds whatever its size, so a batch's
// labels, the learning rate and the like are fetched in one.
#include "runtime/bind/arena.h"
#include "runtime/bind/order.h"
#include "runtime/bind/rewrites.h"

namespace sheaf {
namespace {

constexpr size_t kMostTransferBytes = size_t{64} << 10;

/// Copies that go together, and the bytes they take.
struct Block {
  std::vector<InstanceId> copies;
  size_t bytes = 0;
};

/// A copy from the caller's memory, which no instance writes, on a lane whose queue only enqueues.
bool brings_input(const BoundProgram& program, const Instance& instance, const BindContext& context) {
  if (!instance.is<Instance::Copy>() || instance.left_out() || !context.devices.device(instance.lane).info().asynchronous)
    return false;
  const auto* given = program.home(instance.inputs[0]).lies<Tensor::Given>();
  // In a run of two parts, the inputs of the second part aren't there from the start.
  return given && (context.parts.outputs == 0 || static_cast<size_t>(given->input) < context.parts.inputs);
}

/// Copies one run of bytes to the whole of a tensor that has its own memory.
bool fits_in_block(const BoundProgram& program, const Instance& instance) {
  const auto& copy = *instance.is<Instance::Copy>();
  const size_t bytes = program.tensors[instance.outputs[0]].spec.bytes;
  return copy.shape.rows == 1 && copy.target_offset == 0 && program.planned(instance.outputs[0]) &&
         copy.shape.row_bytes == bytes && bytes <= kMostTransferBytes / 2;
}

/// All of a tensor that has its own memory, which nothing else writes.
bool can_come_ahead(const BoundProgram& program, const Instance& instance) {
  const Tensor& target = program.tensors[instance.outputs[0]];
  const CopyShape& shape = instance.is<Instance::Copy>()->shape;
  return program.planned(instance.outputs[0]) && target.writers.size() == 1 &&
         shape.row_bytes * shape.rows == target.spec.bytes;
}

/// Twins of the tensors that `copies` fill: the next run's data come while a run still reads its own.
void add_twins(BoundProgram& program, const std::vector<InstanceId>& copies) {
  for (InstanceId i : copies) {
    Instance& copy = program.instances[i];
    std::get<Instance::Copy>(copy.work).ahead = true;
    Tensor twin = program.tensors[copy.outputs[0]];
    program.tensors[copy.outputs[0]].twin = program.tensors.next();
    twin.writers.clear();
    program.tensors.push_back(std::move(twin));
  }
}

/// `copies`, the first of which becomes the transfer of all. Its parts are aligned as in an arena.
void join(BoundProgram& program, const std::vector<InstanceId>& copies, size_t alignment) {
  Instance& first = program.instances[copies[0]];
  const TensorId id = program.tensors.next();
  Instance transfer;
  Instance::Fetch fetch;
  transfer.early = true;
  transfer.entry = first.entry;
  transfer.lane = first.lane;
  transfer.outputs = {id};
  std::vector<Tensor> sources;
  size_t bytes = 0;
  for (InstanceId copy : copies) {
    const Instance& part = program.instances[copy];
    Tensor& target = program.tensors[part.outputs[0]];
    const Tensor& from = program.tensors[part.inputs[0]];
    target.place = Tensor::View{id, bytes};
    transfer.inputs.push_back(TensorId(id.index() + 1 + sources.size()));
    fetch.parts.push_back({bytes, target.spec.bytes});
    bytes += arena_size(target.spec.bytes, alignment);
    // The rows of a chunk.
    sources.push_back(
        {target.spec, from.name, from.lane, Tensor::View{part.inputs[0], part.is<Instance::Copy>()->source_offset}});
  }
  transfer.work = std::move(fetch);
  program.tensors.push_back(
      {plain_tensor(DType::uint8, {static_cast<int64_t>(bytes)}), "inputs", first.lane, Tensor::Planned{}, {copies[0]}});
  for (Tensor& source : sources) program.tensors.push_back(std::move(source));
  first = std::move(transfer);
}

}  // namespace

Result<void> fetch_inputs(BoundProgram& program, const BindContext& context) {
  const auto alignment_of = [&](LaneId lane) { return context.devices.device(lane).info().alignment; };
  IdVector<LaneId, std::vector<Block>> blocks(context.devices.lanes().size());
  std::vector<InstanceId> ahead;
  for (InstanceId i : program.instances.ids()) {
    Instance& instance = program.instances[i];
    if (!brings_input(program, instance, context)) continue;
    instance.early = true;
    if (!fits_in_block(program, instance)) {
      if (context.brings_ahead() && can_come_ahead(program, instance)) ahead.push_back(i);
      continue;
    }
    auto& of_lane = blocks[instance.lane];
    const size_t bytes = arena_size(instance.is<Instance::Copy>()->shape.row_bytes, alignment_of(instance.lane));
    if (of_lane.empty() || of_lane.back().bytes + bytes > kMostTransferBytes) of_lane.emplace_back();
    of_lane.back().copies.push_back(i);
    of_lane.back().bytes += bytes;
  }
  add_twins(program, ahead);
  auto instead = stand_alone(program).instead;
  bool any = false;
  for (LaneId lane : blocks.ids()) {
    for (const Block& block : blocks[lane]) {
      if (block.copies.size() < 2) continue;
      any = true;
      join(program, block.copies, alignment_of(lane));
      for (InstanceId copy : block.copies) instead[copy] = block.copies[0];
    }
  }
  return any ? rearrange(program, {}, instead) : Result<void>();
}

}  // namespace sheaf
