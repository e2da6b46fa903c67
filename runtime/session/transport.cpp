#include "runtime/session/transport.h"

#include "runtime/plan/plan.h"

#include <algorithm>

namespace sheaf {
namespace {

/// The first of a rank's entries.
LaneId first_lane(const DeviceSet& devices, int rank) {
  int entry = 0;
  while (devices.rank(devices.lane_of_entry(entry)) != rank) ++entry;
  return devices.lane_of_entry(entry);
}

/// Some rank has a device with a memory of its own.
bool any_apart(const DeviceSet& devices) {
  bool any = false;
  for (const LaneId lane : devices.lanes()) any |= !devices.in_host_memory(lane);
  return any;
}

LinkOffer offer_of(const DeviceSet& devices, int rank) {
  const LaneId lane = first_lane(devices, rank);
  LinkOffer offer;
  offer.device = devices.name(lane);
  if (auto identity = devices.device(lane).link_identity()) offer.identity = std::move(*identity);
  else offer.why_not = identity.error().message();
  return offer;
}

std::string text_of(const LinkOffer& offer) {
  return Json{{"name", offer.device},
              {"device", offer.identity.device},
              {"library", offer.identity.library},
              {"why_not", offer.why_not}}
      .dump();
}

LinkOffer offer_from(const std::string& text) {
  const Json json = Json::parse(text);
  return {json.at("name"), {json.at("device"), json.at("library")}, json.at("why_not")};
}

/// What a step of opening the link made on a rank, for the others: its text, or why it failed.
Result<std::vector<std::string>> exchanged(World& world, const Result<std::string>& mine, std::string& why_not) {
  SHEAF_ASSIGN(const auto all,
               world.exchange(Json{{"done", bool(mine)}, {"text", mine ? *mine : mine.error().message()}}.dump()));
  std::vector<std::string> texts;
  for (size_t rank = 0; rank < all.size(); ++rank) {
    const Json one = Json::parse(all[rank]);
    texts.push_back(one.at("text"));
    if (!one.at("done").get<bool>() && why_not.empty()) why_not = "rank " + std::to_string(rank) + ": " + texts.back();
  }
  return texts;
}

}  // namespace

std::string why_not_linked(const std::vector<LinkOffer>& offers) {
  for (const LinkOffer& offer : offers)
    if (!offer.why_not.empty()) return offer.device + " can't be linked: " + offer.why_not;
  for (size_t rank = 1; rank < offers.size(); ++rank) {
    const LinkIdentity &mine = offers[rank].identity, &first = offers[0].identity;
    if (mine.library != first.library)
      return "rank " + std::to_string(rank) + " has " + mine.library + ", and rank 0 has " + first.library;
    for (size_t other = 0; other < rank; ++other)
      if (offers[other].identity.device == mine.device)
        return offers[other].device + " and " + offers[rank].device + " are the same device, " + mine.device;
  }
  return "";
}

Result<Transport> agree_on_transport(const DeviceSet& devices, const WorldMember& own, Seconds limit) {
  Transport transport;
  if (!any_apart(devices)) return transport;
  World& world = *own.world;
  SHEAF_ASSIGN(const auto texts, world.exchange(text_of(offer_of(devices, own.rank))));
  std::vector<LinkOffer> offers;
  for (const std::string& text : texts) offers.push_back(offer_from(text));
  transport.why_not = why_not_linked(offers);
  if (!transport.why_not.empty()) return transport;
  Device& device = devices.device(first_lane(devices, own.rank));
  SHEAF_ASSIGN(const auto names,
               exchanged(world, own.rank == 0 ? device.new_link() : Result<std::string>(""), transport.why_not));
  if (!transport.why_not.empty()) return transport;
  auto link = device.join_link(names[0], own, limit);
  SHEAF_ASSIGN(const auto joined,
               exchanged(world, link ? Result<std::string>("") : Result<std::string>(link.error()), transport.why_not));
  if (!transport.why_not.empty()) return transport;
  transport.direct = true;
  transport.library = offers[0].identity.library;
  transport.link = std::move(*link);
  return transport;
}

Transport planned_transport(const DeviceSet& devices) {
  Transport transport;
  if (!devices.world() || !any_apart(devices)) return transport;
  for (int rank = 0; rank < devices.world()->size(); ++rank) {
    const LaneId lane = first_lane(devices, rank);
    if (!devices.device(lane).info().links_ranks) transport.why_not = devices.name(lane) + " can't be linked";
    if (!transport.why_not.empty()) return transport;
  }
  transport.direct = true;
  transport.library = "NCCL";
  return transport;
}

}  // namespace sheaf
