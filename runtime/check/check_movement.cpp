// Scatter, replicate, gather, transfer, reduce, first, and the collectives among replicas: the only steps whose operands may live
// elsewhere than their results, or on other replicas.
#include "runtime/check/step_check.h"
#include "runtime/ops/traits.h"
#include "runtime/plan/op_list.h"

namespace sheaf {

namespace {

const Symbol* find_symbol(const CheckScope& scope, const std::string& name) {
  const auto found = scope.symbols.find(name);
  return found == scope.symbols.end() ? nullptr : found->second;
}

/// The chunk symbol of `region` that `extent` is, if it is a single one.
const Symbol* chunk_of(const CheckScope& scope, const Extent& extent, int region) {
  if (extent.constant != 0 || extent.terms.size() != 1 || extent.terms.begin()->second != 1) return nullptr;
  const Symbol* symbol = find_symbol(scope, extent.terms.begin()->first);
  return symbol && symbol->kind == Symbol::chunk && symbol->region == region ? symbol : nullptr;
}

/// What the sizes `part` of the replicas of `region` add up to; empty if that isn't linear in the symbols.
std::optional<Extent> sum_over_replicas(const CheckScope& scope, const Extent& part, int region) {
  Extent sum;
  for (const auto& [name, coefficient] : part.terms) {
    const Symbol* symbol = find_symbol(scope, name);
    if (!symbol || symbol->kind != Symbol::chunk) return std::nullopt;
    sum = sum + symbol->of * coefficient;
  }
  if (part.constant == 0) return sum;
  for (const Symbol& symbol : scope.program.symbols)
    if (symbol.kind == Symbol::replicas && symbol.region == region) return sum + Extent::symbol(symbol.name, part.constant);
  return std::nullopt;
}

int into_region(StepCheck& check) {
  const Step& step = check.step();
  if (step.place.kind != Place::region)
    check.fail("'" + to_string(step.op) + "' puts its result into a region, not " + to_string(step.place));
  if (check.input(0).place.kind == Place::region)
    check.fail("'" + to_string(step.op) + "' takes a value from outside of regions");
  if (check.integer("region", 0, INT32_MAX) != step.place.index) check.fail("'region' is not that of the step's place");
  return step.place.index;
}

void check_scatter(StepCheck& check) {
  check.attributes({"dim", "region"}, {"scalar"});
  const int region = into_region(check);
  const Shape& whole = check.input(0).shape;
  const size_t dim = check.dim(whole.size());
  if (check.failed()) return;
  const Value& part = check.output(0);
  const bool scalar = check.step().attributes.contains("scalar") && check.boolean("scalar");
  if (scalar != part.shape.empty()) check.fail("'scalar' must be true for a result without dimensions, and only there");
  check.rank(part, scalar ? 0 : whole.size());
  if (check.failed()) return;
  // A chunk of the whole, or, in the backward pass, the part that a gather put there.
  const Extent size = scalar ? Extent(1) : part.shape[dim];
  const auto sum = sum_over_replicas(check.scope(), size, region);
  if (!sum || *sum != whole[dim])
    return check.fail("dimension " + std::to_string(dim) + " of '" + part.name + "' is " + to_string(size) +
                      "; expected region " + std::to_string(region) + "'s chunk of " + to_string(whole[dim]));
  Shape expected = whole;
  expected[dim] = size;
  check.shape(part, scalar ? Shape() : expected);
}

void check_replicate(StepCheck& check) {
  check.attributes({"region"});
  into_region(check);
  check.shape(check.output(0), check.input(0).shape);
}

void check_gather(StepCheck& check) {
  check.attributes({"dim", "region"}, {"scalar"});
  const Value& part = check.input(0);
  const Value& whole = check.output(0);
  if (check.step().place.kind == Place::region) check.fail("'gather' puts its result outside of regions");
  if (part.place.kind != Place::region) return check.fail("'gather' takes a value of a region");
  const int region = part.place.index;
  if (check.integer("region", 0, INT32_MAX) != region) check.fail("'region' is not that of the input's place");
  const bool scalar = check.step().attributes.contains("scalar") && check.boolean("scalar");
  if (scalar != part.shape.empty()) check.fail("'scalar' must be true for a value without dimensions, and only there");
  Shape expected = scalar ? Shape{Extent(1)} : part.shape;
  const size_t dim = check.dim(expected.size());
  if (check.failed()) return;
  const auto sum = sum_over_replicas(check.scope(), expected[dim], region);
  if (!sum)
    return check.fail("the chunks of '" + part.name + "' along dimension " + std::to_string(dim) +
                      " have no sum that is linear in the program's symbols");
  expected[dim] = *sum;
  check.shape(whole, expected);
}

/// `reduce`: the sum of the replicas' values; `first`: replica 0's. All have the result's shape.
void check_to_one(StepCheck& check) {
  check.attributes({"region"});
  const Value& part = check.input(0);
  if (check.step().place.kind == Place::region)
    check.fail("'" + to_string(check.step().op) + "' puts its result outside of regions");
  if (part.place.kind != Place::region) return check.fail("'" + to_string(check.step().op) + "' takes a value of a region");
  if (check.integer("region", 0, INT32_MAX) != part.place.index) check.fail("'region' is not that of the input's place");
  check.shape(check.output(0), part.shape);
  if (traits(check.step().op).movement.carries == Carries::summands) check.floating(part);
}

/// Between layouts of one shape in one region.
void check_among(StepCheck& check) {
  check.attributes({"region"});
  const Value &part = check.input(0), &made = check.output(0);
  const Op op = check.step().op;
  const std::string name = "'" + to_string(op) + "'";
  if (check.step().place.kind != Place::region || part.place != check.step().place)
    return check.fail(name + " takes a value of the region that its result is in");
  if (check.integer("region", 0, INT32_MAX) != part.place.index) check.fail("'region' is not that of the step's place");
  const bool sums = traits(op).movement.carries == Carries::summands;
  const auto from = op == Op::shard ? ValueLayout::replicated : ValueLayout::sharded;
  const auto to = op == Op::all_reduce || op == Op::all_gather ? ValueLayout::replicated : ValueLayout::sharded;
  if (made.layout.kind != to)
    check.fail("what " + name + " gives is " + (to == ValueLayout::sharded ? "in shares" : "the same on each replica"));
  if (!sums && part.layout.kind != from)
    check.fail("what " + name + " takes is " + (from == ValueLayout::sharded ? "in shares" : "the same on each replica"));
  if (sums && part.layout.kind == ValueLayout::sharded) check.fail(name + " adds up what replicas have, not their shares");
  if (sums) check.floating(part);
  check.shape(made, part.shape);
}

/// From one region to another, replica by replica: the same devices and the same chunks.
void check_between_regions(StepCheck& check) {
  const Value& from = check.input(0);
  const Value& to = check.output(0);
  const auto& regions = check.scope().plan.regions;
  if (from.place == to.place) return check.shape(to, from.shape);
  if (regions[static_cast<size_t>(from.place.index)].device_ids != regions[static_cast<size_t>(to.place.index)].device_ids)
    check.fail("a transfer between regions needs the same device_ids in both");
  check.rank(to, from.shape.size());
  bool split = false;
  for (size_t i = 0; i < from.shape.size() && !check.failed(); ++i) {
    const Symbol* a = chunk_of(check.scope(), from.shape[i], from.place.index);
    const Symbol* b = chunk_of(check.scope(), to.shape[i], to.place.index);
    const bool alike = a && b ? a->of == b->of : !a && !b && from.shape[i] == to.shape[i];
    if (!alike) check.fail("a transfer between regions needs the same chunks in both");
    split |= a != nullptr;
  }
  // Only a split value ties the numbers of replicas of the two regions together.
  if (!split) check.fail("a transfer between regions takes a value that is split");
}

void check_transfer(StepCheck& check) {
  check.attributes({});
  const bool from_region = check.input(0).place.kind == Place::region;
  const bool to_region = check.step().place.kind == Place::region;
  if (from_region != to_region)
    return check.fail("'transfer' doesn't enter or leave a region: scatter, replicate and gather do");
  if (from_region) return check_between_regions(check);
  check.shape(check.output(0), check.input(0).shape);
}

}  // namespace

void check_movement(StepCheck& check) {
  if (!check.inputs(1) || !check.outputs(1)) return;
  if (check.input(0).dtype != check.output(0).dtype)
    check.fail("'" + to_string(check.step().op) + "' doesn't change the dtype");
  const Movement movement = traits(check.step().op).movement;
  const bool among = movement.route == Route::among || movement.route == Route::within;
  if (!among && (check.input(0).layout.kind == ValueLayout::sharded || check.output(0).layout.kind == ValueLayout::sharded))
    return check.fail("'" + to_string(check.step().op) + "' doesn't move shares: all_gather makes them whole");
  switch (movement.route) {
    case Route::none: return;
    case Route::between: return check_transfer(check);
    case Route::among:
    case Route::within: return check_among(check);
    case Route::to_replicas: return movement.carries == Carries::chunks ? check_scatter(check) : check_replicate(check);
    case Route::to_one: return movement.carries == Carries::chunks ? check_gather(check) : check_to_one(check);
  }
}

}  // namespace sheaf
