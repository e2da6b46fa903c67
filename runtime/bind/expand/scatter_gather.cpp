#include "runtime/bind/expand/movements.h"

namespace sheaf {
namespace {

/// A tensor's extents before, along and after a dimension, the last in bytes.
struct Split {
  size_t outer = 1;
  size_t along = 1;
  size_t inner_bytes = 1;
};

Split split_at(const TensorSpec& spec, size_t dim) {
  Split split;
  split.inner_bytes = size_of(spec.dtype);
  for (size_t i = 0; i < spec.dims.size(); ++i) {
    const auto extent = static_cast<size_t>(spec.dims[i]);
    if (i < dim) split.outer *= extent;
    if (i == dim) split.along = extent;
    if (i > dim) split.inner_bytes *= extent;
  }
  return split;
}

}  // namespace

Result<size_t> Movements::dimension(const Step& step, size_t rank) {
  const auto dim = step.attributes.value("dim", int64_t{0});
  const auto size = static_cast<int64_t>(rank);
  if (dim < -size || dim >= size) {
    return Error("layer '" + step.layer + "' splits or joins along dimension " + std::to_string(dim) +
                 " of a tensor that has " + std::to_string(rank));
  }
  return static_cast<size_t>(dim < 0 ? dim + size : dim);
}

Result<void> Movements::scatter(StepId id) {
  const Step& step = builder_.step(id);
  const ValueId result(step.outputs[0]);
  SHEAF_ASSIGN(const auto places, replicas_.spots(step));
  const TensorId whole = builder_.at(ValueId(step.inputs[0]), 0);
  Spot source;
  source.lane = builder_.tensor(whole).lane;
  SHEAF_ASSIGN(const auto plain, formats_.in_plain(whole, id, source));
  SHEAF_ASSIGN(const auto dim, dimension(step, builder_.spec(plain).dims.size()));
  const bool scalars = step.attributes.value("scalar", false);
  size_t row = 0;
  for (const Spot& spot : places) {
    SHEAF_ASSIGN(const auto spec, replicas_.spec(result, spot.replica));
    builder_.define(result, spot.replica, add_chunk(id, plain, dim, row, spec, spot));
    row += scalars ? 1 : static_cast<size_t>(spec.dims[dim]);
  }
  return {};
}

TensorId Movements::add_chunk(StepId id, TensorId plain, size_t dim, size_t first, const TensorSpec& spec, const Spot& to,
                              LaneId by) {
  const std::string& name = builder_.name(ValueId(builder_.step(id).outputs[0]));
  if (spec.bytes == 0) return builder_.add(spec, name, to.lane);
  const Split split = split_at(builder_.spec(plain), dim);
  const size_t run = spec.bytes / split.outer, offset = first * split.inner_bytes;
  const LaneId lane = builder_.tensor(plain).lane;
  const bool contiguous = split.outer == 1 || run == split.along * split.inner_bytes;
  if (contiguous && there_for(plain, to.lane) && may_lie_at(builder_.program.root(plain).offset + offset, to.lane))
    return builder_.add_view(plain, offset, spec, name, to.lane);
  if (crosses(plain, to.lane)) {
    Spot source = to;
    source.lane = lane;
    return messages_.sent(add_chunk(id, plain, dim, first, spec, source), name, id, to);
  }
  const TensorId chunk = builder_.add(spec, name, to.lane);
  builder_.add(Instance::Copy{{run, split.outer, split.along * split.inner_bytes, run}, offset}, id, copier(to, by, lane),
               {plain}, {chunk});
  return chunk;
}

Result<void> Movements::gather(StepId id) {
  const Step& step = builder_.step(id);
  const ValueId value(step.inputs[0]), result(step.outputs[0]);
  const std::string& name = builder_.name(result);
  SHEAF_ASSIGN(const auto sources, replicas_.spots(builder_.context().value(value).place, step.layer, step.location));
  SHEAF_ASSIGN(const auto targets, replicas_.spots(step));
  const Spot& target = targets.front();
  SHEAF_ASSIGN(const auto spec, replicas_.spec(result, 0));
  const bool scalars = step.attributes.value("scalar", false);
  builder_.program.gathers_scalars |= scalars && !builder_.devices().host_only();
  SHEAF_ASSIGN(const auto dim, dimension(step, spec.dims.size()));
  const Split whole = split_at(spec, dim);

  if (sources.size() == 1 && builder_.same_memory(sources.front().lane, target.lane)) {  // one chunk is the whole
    SHEAF_ASSIGN(const auto plain, formats_.in_plain(builder_.at(value, 0), id, sources.front()));
    builder_.define(result, 0, builder_.add_view(plain, 0, spec, name, target.lane));
    return {};
  }
  const TensorId gathered = builder_.add(spec, name, target.lane);
  builder_.define(result, 0, gathered);
  std::vector<TensorId> parts;
  for (const Spot& spot : sources) parts.push_back(builder_.at(value, spot.replica));
  size_t row = 0;
  for (Spot spot : sources) {
    SHEAF_ASSIGN(auto plain, formats_.in_plain(builder_.at(value, spot.replica), id, spot));
    if (messages_.between(spot.lane, target.lane)) {
      plain = messages_.sent(plain, builder_.name(value), id, target);
      messages_.receive_after(plain, parts);
      spot.lane = target.lane;
    }
    const TensorSpec& part = builder_.spec(plain);
    const size_t rows = scalars ? 1 : static_cast<size_t>(part.dims[dim]);
    const size_t offset = row * whole.inner_bytes, run = rows * whole.inner_bytes;
    row += rows;
    if (part.bytes == 0) continue;
    // Each replica's lane delivers its own part, even to another memory if it can reach that; the target's lane waits for it.
    Instance::Copy copy{{run, whole.outer, run, whole.along * whole.inner_bytes}, 0, offset};
    if (whole.outer == 1) copy.shape = {run, 1, 0, 0};
    copy.placeable = whole.outer == 1 && builder_.same_memory(spot.lane, target.lane) && may_lie_at(offset, spot.lane);
    builder_.add(copy, id, who_copies(spot, target.lane), {plain}, {gathered});
  }
  return {};
}

}  // namespace sheaf
