// The nodes of scatter, replicate, gather, transfer, reduce, first and the collectives among replicas: what they cut and how
// much moves from device to device.
#include "runtime/plan/op_list.h"
#include "tools/inspect/graph_builder.h"

#include <algorithm>

namespace sheaf {

namespace {

/// Whether entry `device` of the list belongs to the region's group, whatever the list.
bool in_group(const Region& region, int device) {
  if (!region.device_ids) return true;
  return std::find(region.device_ids->begin(), region.device_ids->end(), device) != region.device_ids->end();
}

/// Only replica 0's value moves.
bool takes_first(const Step& step) {
  const Movement movement = traits(step.op).movement;
  return movement.route == Route::to_one && movement.carries == Carries::whole;
}

/// How many times the whole value each replica but one moves in a collective. A sum goes from each to one of them, or each
/// share of it to its replica; a gathered value goes to each. An all_reduce does both.
int64_t moved_among(const Step& step) { return step.op == Op::all_reduce ? 2 : 1; }

const std::string& replicas_symbol(const Program& program, int region) {
  static const std::string kDefault = "replicas";
  for (const Symbol& symbol : program.symbols)
    if (symbol.kind == Symbol::replicas && symbol.region == region) return symbol.name;
  return kDefault;
}

}  // namespace

int GraphBuilder::movement_node(size_t index) {
  const Step& step = program_.steps[index];
  const Place& from = value(step.inputs[0]).place;
  const bool parameters =
      std::all_of(step.inputs.begin(), step.inputs.end(), [&](int v) { return parameter_[static_cast<size_t>(v)]; });
  // A module's parameters are replicated together (as in torch's replicate), and a layer's are transferred together: one node
  // for all the steps the compiler made.
  const Movement movement = traits(step.op).movement;
  const bool to_all = movement.route == Route::to_replicas && movement.carries == Carries::whole;
  const std::string key = to_string(step.op) + '\n' + to_string(from) + '\n' + to_string(step.place) + '\n' +
                          (to_all ? std::string() : step.layer) + '\n' + std::string(name_of(step.phase));
  if (parameters && shared_.contains(key)) return shared_[key];

  PlacementNode node;
  node.id = "s" + std::to_string(index);
  node.op = to_string(step.op);
  node.movement = movement;
  node.layer = step.layer;
  node.reason = step.reason;
  node.phase = step.phase;
  node.location = step.location;
  node.inserted = true;
  node.attributes = step.attributes;
  node.bytes_moved = Extent(0);
  const bool outward = movement.route == Route::to_replicas;
  node.device = device(outward ? from : step.place, 0);
  if (step.place.kind == Place::region) node.region = step.place.index;
  else if (from.kind == Place::region) node.region = from.index;
  if (parameters && to_all && node.region >= 0) node.layer = plan_.regions[static_cast<size_t>(node.region)].name;
  const int at = static_cast<int>(graph_.nodes.size());
  graph_.nodes.push_back(std::move(node));
  if (parameters) shared_[key] = at;
  return at;
}

Result<void> GraphBuilder::add_movement(size_t index) {
  const Step& step = program_.steps[index];
  const int at = movement_node(index);
  for (size_t i = 0; i < step.outputs.size() && i < step.inputs.size(); ++i) {
    const int input = step.inputs[i], output = step.outputs[i];
    for (int r = 0; r < (takes_first(step) ? 1 : replicas(value(input).place)); ++r) SHEAF_TRY(connect(at, input, r));
    SHEAF_ASSIGN(auto made, tensor(output, 0));
    Result<Extent> bytes = Extent(0);
    std::optional<Extent> symbolic;
    if (sizes_) {
      bytes = moved(step, input, output);
      if (!bytes) return bytes.error();
      symbolic = *bytes;
    } else {
      symbolic = moved_symbolically(step, input, output);
    }
    PlacementNode& node = graph_.nodes[static_cast<size_t>(at)];
    node.results.push_back(std::move(made));
    if (node.bytes_moved && symbolic) node.bytes_moved = *node.bytes_moved + *symbolic;
    else node.bytes_moved.reset();
    producers_[static_cast<size_t>(output)].assign(static_cast<size_t>(replicas(value(output).place)), at);
    parameter_[static_cast<size_t>(output)] = parameter_[static_cast<size_t>(input)];
  }
  return set_chunks(graph_.nodes[static_cast<size_t>(at)], step);
}

Result<Extent> GraphBuilder::moved(const Step& step, int input, int output) const {
  // One side is a single place; each replica on the other side moves its part unless it is on the same device. For moves among
  // replicas, see moved_among().
  const Movement movement = traits(step.op).movement;
  const bool outward = movement.route == Route::to_replicas, among = movement.route == Route::among;
  const int many = outward || (among && movement.carries == Carries::chunks) ? output : input;
  const std::string single = device(value(outward ? input : output).place, 0);
  Extent sum(0);
  for (int r = 0; r < (takes_first(step) ? 1 : replicas(value(many).place)); ++r) {
    if (device(value(many).place, r) == single) continue;
    SHEAF_ASSIGN(auto part, tensor(many, r));
    sum = sum + *part.bytes * (among ? moved_among(step) : 1);
  }
  return sum;
}

std::optional<Extent> GraphBuilder::moved_symbolically(const Step& step, int input, int output) const {
  const Route route = traits(step.op).movement.route;
  const bool outward = route == Route::to_replicas;
  const int one = outward ? input : output, many = outward ? output : input;
  const Place& single = value(one).place;
  const std::optional<Extent> whole = tensor(one, 0)->bytes, part = tensor(many, 0)->bytes;
  if (value(many).place.kind != Place::region || !whole || !part) return whole;
  const int region = value(many).place.index;
  const std::optional<std::vector<int>>& group = plan_.regions[static_cast<size_t>(region)].device_ids;
  if (takes_first(step)) {
    const int home = group ? group->front() : 0;
    return single == Place{Place::device, home} ? Extent(0) : *whole;
  }
  if (route == Route::among) {
    if (!whole->is_static()) return std::nullopt;
    const int64_t times = moved_among(step);
    return Extent::symbol(replicas_symbol(program_, region), times * whole->constant) + *whole * -times;
  }
  // A part that is already on the single device stays; the entries of the list are assumed to be distinct.
  const bool stays = single.kind == Place::device && in_group(plan_.regions[static_cast<size_t>(region)], single.index);
  const bool whole_each = traits(step.op).movement.carries != Carries::chunks;
  if (!whole_each) return stays ? *whole + *part * -1 : *whole;
  if (!whole->is_static()) return std::nullopt;
  return Extent::symbol(replicas_symbol(program_, region), whole->constant) + *whole * (stays ? -1 : 0);
}

Result<void> GraphBuilder::set_chunks(PlacementNode& node, const Step& step) const {
  if (!sizes_ || node.region < 0) return {};
  const Value &from = value(step.inputs[0]), &to = value(step.outputs[0]);
  for (const Value* shares : {&from, &to}) {
    if (shares->layout.kind != ValueLayout::sharded) continue;
    node.chunks.clear();
    for (int r = 0; r < replicas(shares->place); ++r) node.chunks.push_back(sizes_->symbols.run(*shares, r).count);
    return {};
  }
  if (traits(step.op).movement.carries != Carries::chunks) return {};
  const int many = traits(step.op).movement.route == Route::to_one ? step.inputs[0] : step.outputs[0];
  const int rank = static_cast<int>(value(many).shape.size());
  int dim = plan_.regions[static_cast<size_t>(node.region)].dim;
  if (step.attributes.contains("dim") && step.attributes["dim"].is_number_integer()) dim = step.attributes["dim"].get<int>();
  if (dim < 0) dim += rank;
  node.chunks.clear();
  for (int r = 0; r < replicas(value(many).place); ++r) {
    SHEAF_ASSIGN(auto part, tensor(many, r));
    // Each replica's scalar becomes one element of a vector.
    node.chunks.push_back(dim >= 0 && dim < rank ? part.shape[static_cast<size_t>(dim)].constant : 1);
  }
  return {};
}

}  // namespace sheaf
