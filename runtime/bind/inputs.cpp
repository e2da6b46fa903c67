// What asynchronous lanes read from the caller's memory. It is there from the start, so it is brought before all else: in
// between, it would cut in two what can be recorded. Transfers cost the host some microseconds each whatever their size:
// a batch's labels, the learning rate and the like come in one.
#include "runtime/bind/arena.h"
#include "runtime/bind/order.h"

#include <algorithm>

namespace sheaf {
namespace {

constexpr size_t kMostBytes = size_t{64} << 10;  // of one transfer

size_t index_of(int i) { return static_cast<size_t>(i); }

/// A copy of the caller's memory, which no instance writes, on a lane whose queue only enqueues.
bool brings_input(const Graph& graph, const Instance& instance, const DeviceSet& devices) {
  return instance.kind == Instance::copy && !instance.elided && devices.device(instance.lane).info().asynchronous &&
         graph.tensors[index_of(graph.root(instance.inputs[0]).tensor)].input >= 0;
}

/// One run of bytes to all of a tensor that has memory of its own.
bool fits_in_block(const Graph& graph, const Instance& copy) {
  const Tensor& target = graph.tensors[index_of(copy.outputs[0])];
  return copy.copy_shape.rows == 1 && copy.target_offset == 0 && target.base < 0 && graph.planned(copy.outputs[0]) &&
         copy.copy_shape.row_bytes == target.spec.bytes && target.spec.bytes <= kMostBytes / 2;
}

/// `copies`, the first of which becomes the transfer of all. Its parts are aligned as in an arena.
void join(Graph& graph, const std::vector<int>& copies, size_t alignment) {
  Tensor block;
  Instance& first = graph.instances[index_of(copies[0])];
  block.name = "inputs";
  block.lane = first.lane;
  block.writers = {copies[0]};
  const int id = static_cast<int>(graph.tensors.size());
  Instance transfer;
  transfer.kind = Instance::fetch;
  transfer.early = true;
  transfer.entry = first.entry;
  transfer.lane = first.lane;
  transfer.outputs = {id};
  transfer.reason = std::to_string(copies.size()) + " inputs in one transfer";
  std::vector<Tensor> sources;
  size_t bytes = 0;
  for (int copy : copies) {
    const Instance& part = graph.instances[index_of(copy)];
    Tensor& target = graph.tensors[index_of(part.outputs[0])];
    target.base = id;
    target.delta = bytes;
    transfer.inputs.push_back(id + 1 + static_cast<int>(sources.size()));
    transfer.parts.push_back({bytes, target.spec.bytes});
    bytes += arena_size(target.spec.bytes, alignment);
    Tensor source;  // the rows of a chunk
    source.spec = target.spec;
    source.name = graph.tensors[index_of(part.inputs[0])].name;
    source.lane = graph.tensors[index_of(part.inputs[0])].lane;
    source.base = part.inputs[0];
    source.delta = part.source_offset;
    sources.push_back(std::move(source));
  }
  block.spec = plain_tensor(DType::uint8, {static_cast<int64_t>(bytes)});
  graph.tensors.push_back(std::move(block));
  for (Tensor& source : sources) graph.tensors.push_back(std::move(source));
  first = std::move(transfer);
}

}  // namespace

Result<void> fetch_inputs(Graph& graph, const BindContext& context) {
  struct Block {
    std::vector<int> copies;
    size_t bytes = 0;
  };
  const auto alignment_of = [&](int lane) { return context.devices.device(lane).info().alignment; };
  std::vector<std::vector<Block>> blocks(index_of(context.devices.lanes()));
  for (size_t i = 0; i < graph.instances.size(); ++i) {
    Instance& instance = graph.instances[i];
    if (!brings_input(graph, instance, context.devices)) continue;
    instance.early = true;
    if (!fits_in_block(graph, instance)) continue;
    auto& of_lane = blocks[index_of(instance.lane)];
    const size_t bytes = arena_size(instance.copy_shape.row_bytes, alignment_of(instance.lane));
    if (of_lane.empty() || of_lane.back().bytes + bytes > kMostBytes) of_lane.emplace_back();
    of_lane.back().copies.push_back(static_cast<int>(i));
    of_lane.back().bytes += bytes;
  }
  std::vector<int> instead = stand_alone(graph).instead;
  bool any = false;
  for (const auto& of_lane : blocks) {
    for (const Block& block : of_lane) {
      if (block.copies.size() < 2) continue;
      any = true;
      join(graph, block.copies, alignment_of(graph.instances[index_of(block.copies[0])].lane));
      for (int copy : block.copies) instead[index_of(copy)] = block.copies[0];
    }
  }
  return any ? rearrange(graph, {}, instead) : Result<void>();
}

}  // namespace sheaf
