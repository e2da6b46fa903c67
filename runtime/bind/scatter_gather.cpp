// scatter and gather: a tensor cut into the replicas' chunks along a dimension, and joined from them.
#include "runtime/bind/expand.h"

namespace sheaf {
namespace {

size_t index_of(int i) { return static_cast<size_t>(i); }

/// A tensor's extent before, along and after a dimension, the last in bytes.
struct Split {
  size_t outer = 1;
  size_t along = 1;
  size_t inner_bytes = 1;
};

Split split_at(const TensorSpec& spec, int dim) {
  Split split;
  split.inner_bytes = size_of(spec.dtype);
  for (int i = 0; i < static_cast<int>(spec.dims.size()); ++i) {
    const auto extent = static_cast<size_t>(spec.dims[index_of(i)]);
    if (i < dim) split.outer *= extent;
    if (i == dim) split.along = extent;
    if (i > dim) split.inner_bytes *= extent;
  }
  return split;
}

Result<int> dimension(const Step& step, size_t rank) {
  const auto dim = step.attributes.value("dim", int64_t{0});
  const auto size = static_cast<int64_t>(rank);
  if (dim < -size || dim >= size) {
    return Error("layer '" + step.layer + "' splits or joins along dimension " + std::to_string(dim) +
                 " of a tensor that has " + std::to_string(rank));
  }
  return static_cast<int>(dim < 0 ? dim + size : dim);
}

}  // namespace

Result<void> Expansion::scatter(int index) {
  const Step& step = context_.program.steps[index_of(index)];
  SHEAF_ASSIGN(auto places, spots(step.place, step.layer, step.location));
  Spot source;
  const int whole = at(step.inputs[0], 0);
  source.lane = graph_.tensors[index_of(whole)].lane;
  SHEAF_ASSIGN(auto plain, in_plain(whole, index, source));
  SHEAF_ASSIGN(auto dim, dimension(step, graph_.tensors[index_of(plain)].spec.dims.size()));
  const bool scalars = step.attributes.value("scalar", false);
  size_t row = 0;
  for (const Spot& spot : places) {
    SHEAF_ASSIGN(auto spec, value_spec(step.outputs[0], spot.replica));
    define(step.outputs[0], spot.replica, add_chunk(index, plain, dim, row, spec, spot));
    row += scalars ? 1 : static_cast<size_t>(spec.dims[index_of(dim)]);
  }
  return {};
}

int Expansion::add_chunk(int index, int plain, int dim, size_t first, const TensorSpec& spec, const Spot& to) {
  const std::string& name = context_.program.values[index_of(context_.program.steps[index_of(index)].outputs[0])].name;
  if (spec.bytes == 0) return add_tensor(spec, name, to.lane);
  const Split split = split_at(graph_.tensors[index_of(plain)].spec, dim);
  const size_t chunk_bytes = spec.bytes / split.outer, offset = first * split.inner_bytes;  // a run's
  const int lane = graph_.tensors[index_of(plain)].lane;
  const bool contiguous = split.outer == 1 || chunk_bytes == split.along * split.inner_bytes;
  if (contiguous && same_memory(lane, to.lane) && may_lie_at(graph_.root(plain).offset + offset, to.lane))
    return add_view(plain, offset, spec, name, to.lane);
  const int chunk = add_tensor(spec, name, to.lane);
  graph_.tensors[index_of(chunk)].writers = {static_cast<int>(graph_.instances.size())};
  Instance& instance = add_instance(Instance::copy, index, who_copies(to, lane));
  instance.inputs = {plain};
  instance.outputs = {chunk};
  instance.source_offset = offset;
  instance.copy_shape = {chunk_bytes, split.outer, split.along * split.inner_bytes, chunk_bytes};
  return chunk;
}

Result<void> Expansion::gather(int index) {
  const Step& step = context_.program.steps[index_of(index)];
  const int source_value = step.inputs[0];
  const std::string& name = context_.program.values[index_of(step.outputs[0])].name;
  SHEAF_ASSIGN(auto sources, spots(context_.program.values[index_of(source_value)].place, step.layer, step.location));
  SHEAF_ASSIGN(auto targets, spots(step.place, step.layer, step.location));
  const Spot& target = targets.front();
  SHEAF_ASSIGN(auto spec, value_spec(step.outputs[0], 0));
  const bool scalars = step.attributes.value("scalar", false);
  graph_.gathers_scalars |= scalars && !context_.devices.host_only();
  SHEAF_ASSIGN(auto dim, dimension(step, spec.dims.size()));
  const Split whole = split_at(spec, dim);

  if (sources.size() == 1 && same_memory(sources.front().lane, target.lane)) {  // one chunk is the whole
    SHEAF_ASSIGN(auto plain, in_plain(at(source_value, 0), index, sources.front()));
    define(step.outputs[0], 0, add_view(plain, 0, spec, name, target.lane));
    return {};
  }
  const int gathered = add_tensor(spec, name, target.lane);
  define(step.outputs[0], 0, gathered);
  size_t row = 0;
  for (const Spot& spot : sources) {
    SHEAF_ASSIGN(auto plain, in_plain(at(source_value, spot.replica), index, spot));
    const TensorSpec& part = graph_.tensors[index_of(plain)].spec;
    const size_t rows = scalars ? 1 : static_cast<size_t>(part.dims[index_of(dim)]);
    const size_t offset = row * whole.inner_bytes;
    row += rows;
    if (part.bytes == 0) continue;
    // Each replica's lane delivers its own part, to another memory too where it reaches that; the target's lane waits for it.
    graph_.tensors[index_of(gathered)].writers.push_back(static_cast<int>(graph_.instances.size()));
    const size_t part_row = rows * whole.inner_bytes;
    Instance& instance = add_instance(Instance::copy, index, who_copies(spot, target.lane));
    instance.inputs = {plain};
    instance.outputs = {gathered};
    instance.target_offset = offset;
    instance.copy_shape = {part_row, whole.outer, part_row, whole.along * whole.inner_bytes};
    if (whole.outer == 1) instance.copy_shape = {part_row, 1, 0, 0};
    instance.placeable = whole.outer == 1 && same_memory(spot.lane, target.lane) && may_lie_at(offset, spot.lane);
  }
  return {};
}

}  // namespace sheaf
