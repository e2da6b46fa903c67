#include "runtime/bind/expand/owners_sums.h"

#include "runtime/bind/buckets.h"
#include "runtime/plan/op_list.h"

#include <algorithm>
#include <iterator>

namespace sheaf {
namespace {

constexpr size_t kAlignment = 64;  ///< of a bucket's members, and of its owners' runs

}  // namespace

Result<std::vector<Spot>> OwnersSums::sources(const Step& step) const {
  return replicas_.spots(builder_.context().value(ValueId(step.inputs[0])).place, step.layer, step.location);
}

Result<bool> OwnersSums::takes(StepId id) const {
  const DeviceSet& devices = builder_.devices();
  if (!devices.has_messengers()) return false;
  SHEAF_ASSIGN(const auto from, sources(builder_.step(id)));
  SHEAF_ASSIGN(const auto to, replicas_.spots(builder_.step(id)));
  const auto elsewhere = [&](const Spot& spot) { return !devices.together(spot.lane, from.front().lane); };
  const auto linked = [&](const Spot& spot) { return devices.world() || devices.messenger_for(spot.lane) != spot.lane; };
  return (std::ranges::any_of(from, elsewhere) || std::ranges::any_of(to, elsewhere)) && std::ranges::all_of(from, linked) &&
         std::ranges::all_of(to, linked);
}

Result<void> OwnersSums::add(StepId id) {
  const Step& step = builder_.step(id);
  const ValueId value(step.inputs[0]);
  const TensorSpec format = builder_.spec(builder_.at(value, 0));
  if (!bucket_.empty()) {
    const Member& member = bucket_.members().front();
    const bool alike = builder_.step(member.step).place == step.place && builder_.spec(member.parts[0]).dtype == format.dtype;
    if (!alike) SHEAF_TRY(make_all());
  }
  Member member;
  member.step = id;
  SHEAF_ASSIGN(const auto from, sources(step));
  for (const Spot& spot : from) {  // each replica's lane converts its own part into the format of the first one's
    auto part = formats_.in_format(builder_.at(value, spot.replica), format, id, spot);
    if (!part) return replicas_.located(std::move(part.error()), step, spot);
    member.parts.push_back(*part);
  }
  member.offset = (bucket_.bytes() + kAlignment - 1) / kAlignment * kAlignment;
  const size_t more = member.offset + format.bytes - bucket_.bytes();
  bucket_.add(std::move(member), step.outputs[0], more);
  const std::span<const size_t> limits =
      builder_.devices().world() ? std::span(kMessageBucketLimits) : std::span(kBucketLimits);
  return bucket_.full(limits) ? make_all() : Result<void>();
}

Result<void> OwnersSums::make_inputs(const Step& step) { return bucket_.makes_any(step.inputs) ? make_all() : Result<void>(); }

std::vector<TensorId> OwnersSums::side_by_side(const std::vector<Spot>& sources, const TensorSpec& bucket) {
  const std::string name = "bucket " + std::to_string(bucket_.number());
  std::vector<TensorId> made;
  for (size_t s = 0; s < sources.size(); ++s) {
    const TensorId whole = builder_.add(bucket, name, sources[s].lane);
    Spot filler = sources[s];  // where the replica's lane would come to it only after what it computes next
    filler.lane = builder_.devices().messenger_for(filler.lane);
    size_t end = 0;
    for (const Member& member : bucket_.members()) {
      builder_.fill(whole, end, member.offset, member.step, filler);
      Instance::Copy copy{{builder_.spec(member.parts[s]).bytes, 1, 0, 0}, 0, member.offset};
      copy.placeable = true;  // it is made there
      builder_.add(copy, member.step, filler, {member.parts[s]}, {whole});
      end = member.offset + builder_.spec(member.parts[s]).bytes;
    }
    made.push_back(whole);
  }
  return made;
}

std::vector<OwnersSums::Owner> OwnersSums::owners(const std::vector<Spot>& targets, int64_t elements, size_t size) const {
  const DeviceSet& devices = builder_.devices();
  std::vector<Owner> owners;
  for (const Spot& spot : targets) {
    if (owner_for(spot, owners) != owners.end()) continue;
    Owner owner;
    owner.spot = owner.messages = spot;
    owner.messages.lane = devices.messenger_for(spot.lane);
    owners.push_back(owner);
  }
  const int64_t unit = static_cast<int64_t>(kAlignment / size), units = (elements + unit - 1) / unit;
  for (size_t i = 0; i < owners.size(); ++i) {
    const Run run = run_of(units, static_cast<int64_t>(owners.size()), static_cast<int64_t>(i));
    const int64_t begin = std::min(run.begin * unit, elements);
    owners[i].run = {begin, std::min((run.begin + run.count) * unit, elements) - begin};
  }
  return owners;
}

Result<void> OwnersSums::add_up(Owner& owner, std::vector<TensorId> parts) {
  if (parts.size() == 1) {
    owner.sum = parts[0];
    return {};
  }
  const StepId id = bucket_.members().front().step;
  Step sum;
  sum.op = Op::reduce;
  sum.layer = builder_.step(id).layer;
  for (size_t i = 0; i < parts.size(); ++i) sum.roles.push_back("x" + std::to_string(i));
  sum.inputs.assign(parts.size(), builder_.step(id).inputs[0]);
  sum.outputs = builder_.step(id).outputs;
  auto prepared = calls_.prepare(sum, parts, {builder_.spec(parts[0])}, id, owner.messages);
  if (!prepared) return replicas_.located(std::move(prepared.error()), builder_.step(id), owner.spot);
  owner.sum = builder_.add(prepared->outputs[0], "sums of bucket " + std::to_string(bucket_.number()), owner.spot.lane);
  builder_.add(Instance::LibraryCall{call_of(std::move(*prepared))}, id, owner.messages, std::move(parts), {owner.sum});
  return {};
}

Result<void> OwnersSums::gather(std::vector<Owner>& owners, const TensorSpec& bucket) {
  const StepId id = bucket_.members().front().step;
  const size_t size = size_of(bucket.dtype);
  for (Owner& owner : owners)
    owner.whole = builder_.add(bucket, "sums of bucket " + std::to_string(bucket_.number()), owner.spot.lane);
  for (const Owner& from : owners) {
    if (from.run.count == 0) continue;
    for (const Owner& to : owners) {
      const std::string name = builder_.tensor(from.sum).name;
      SHEAF_ASSIGN(const auto part, movement_.moved(from.sum, name, id, to.spot, to.messages.lane));
      Instance::Copy copy{{builder_.spec(part).bytes, 1, 0, 0}, 0, static_cast<size_t>(from.run.begin) * size};
      copy.placeable = true;
      builder_.add(copy, id, to.messages, {part}, {to.whole});
    }
  }
  return {};
}

Result<void> OwnersSums::make_all() {
  if (bucket_.empty()) return {};
  const StepId id = bucket_.members().front().step;
  const DType dtype = builder_.spec(bucket_.members().front().parts[0]).dtype;
  const size_t size = size_of(dtype);
  const TensorSpec bucket = plain_tensor(dtype, {static_cast<int64_t>((bucket_.bytes() + size - 1) / size)});
  SHEAF_ASSIGN(const auto from, sources(builder_.step(id)));
  SHEAF_ASSIGN(const auto to, replicas_.spots(builder_.step(id)));
  const std::vector<TensorId> summands = side_by_side(from, bucket);
  std::vector<Owner> each = owners(to, bucket.dims[0], size);
  std::vector<TensorId> summed;
  for (const Member& member : bucket_.members()) summed.insert(summed.end(), member.parts.begin(), member.parts.end());
  // All sends come before all sums, so that no rank's sum delays another's summands.
  std::vector<std::vector<TensorId>> parts(each.size());
  for (size_t o = 0; o < each.size(); ++o) {
    const TensorSpec run = plain_tensor(dtype, {each[o].run.count});
    for (size_t s = 0; s < from.size() && each[o].run.count > 0; ++s) {
      const std::string name = builder_.tensor(summands[s]).name;
      const TensorId mine =
          builder_.add_view(summands[s], static_cast<size_t>(each[o].run.begin) * size, run, name, from[s].lane);
      SHEAF_ASSIGN(const auto local, movement_.moved(mine, name, id, each[o].spot, each[o].messages.lane));
      messages_.receive_after(local, summed);
      parts[o].push_back(local);
    }
  }
  for (size_t o = 0; o < each.size(); ++o)
    if (each[o].run.count > 0) SHEAF_TRY(add_up(each[o], std::move(parts[o])));
  SHEAF_TRY(gather(each, bucket));
  for (const Member& member : bucket_.members()) {
    const ValueId result(builder_.step(member.step).outputs[0]);
    for (const Spot& spot : to) {
      const auto owner = owner_for(spot, each);
      const std::string& name = builder_.name(result);
      const bool here = builder_.same_memory(owner->spot.lane, spot.lane);
      TensorId sum = builder_.add_view(owner->whole, member.offset, builder_.spec(member.parts[0]), name,
                                       here ? spot.lane : owner->spot.lane);
      if (!here) {
        SHEAF_ASSIGN(sum, movement_.moved(sum, name, member.step, spot));
      }
      builder_.define(result, spot.replica, sum);
    }
  }
  bucket_.close();
  return {};
}

}  // namespace sheaf
