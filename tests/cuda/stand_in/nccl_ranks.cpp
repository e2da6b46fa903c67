// The stand-in NCCL's communicators whose members join one by one, as those of several processes do. They don't block: each call is
// carried out only after some questions, and a new connection only when both of its ends have asked for it.
#include "tests/cuda/stand_in/nccl.h"

#include <algorithm>
#include <cstring>

namespace stand_in {
namespace {

constexpr int kQuestions = 2;

std::map<std::string, std::shared_ptr<Clique>>& cliques() {
  static auto& made = *new std::map<std::string, std::shared_ptr<Clique>>;
  return made;
}

bool all_have_joined(const Clique& clique) {
  return std::all_of(clique.devices.begin(), clique.devices.end(), [](int device) { return device >= 0; });
}

/// Both ends have asked for what the call is the first to need.
bool connects(const NcclCall& call, Clique& clique) {
  const std::string key = connection(call);
  if (clique.connections.count(key)) return true;
  const auto other = clique.separate[size_t(call.other)].lock();
  if (!other || std::none_of(other->pending.begin(), other->pending.end(),
                             [&](const Issued& theirs) { return connection(*theirs.call) == key; }))
    return false;
  clique.connections.insert(key);
  return true;
}

}  // namespace

bool is_free(const Rank& rank) {
  if (rank.clique->separate.empty()) return true;
  return all_have_joined(*rank.clique) && rank.questions == 0 && rank.pending.empty() && !rank.finishes;
}

ncclResult_t take(const std::vector<Issued>& calls) {
  Rank& rank = *calls[0].rank;
  if (std::any_of(calls.begin(), calls.end(), [&](const Issued& one) { return one.rank.get() != &rank; }))
    return refuse("ncclGroupEnd: a group of members of several processes");
  rank.pending = calls;
  rank.questions = kQuestions;
  return ncclInProgress;
}

ncclResult_t ask(Rank& rank) {
  Clique& clique = *rank.clique;
  if (clique.separate.empty()) return ncclSuccess;
  if (!all_have_joined(clique) || (rank.questions > 0 && --rank.questions > 0)) return ncclInProgress;
  for (const Issued& one : rank.pending)
    if (!connects(*one.call, clique)) return ncclInProgress;
  enqueue(std::exchange(rank.pending, {}));
  return rank.finishes && clique.finished < int(clique.devices.size()) ? ncclInProgress : ncclSuccess;
}

}  // namespace stand_in

using namespace stand_in;

extern "C" {

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  const Lock lock(machine());
  const std::string name = "communicator " + std::to_string(cliques().size());
  std::memset(id, 0xc5, sizeof *id);  // not text
  std::memcpy(id->internal, name.c_str(), name.size() + 1);
  cliques()[name] = std::make_shared<Clique>();
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int count, ncclUniqueId id, int rank, ncclConfig_t* config) {
  const Lock lock(machine());
  const std::string call = "ncclCommInitRankConfig: ";
  const ncclConfig_t expected = NCCL_CONFIG_INITIALIZER;
  if (!config || config->size != expected.size || config->magic != expected.magic || config->version != expected.version)
    return refuse(call + "a configuration that wasn't initialized");
  if (config->blocking != 0) return refuse(call + "a communicator that blocks would wait for the other processes");
  const std::string name(id.internal, strnlen(id.internal, sizeof id.internal));
  const bool whole = id.internal[sizeof id.internal - 1] == char(0xc5);
  const auto found = cliques().find(name);
  if (found == cliques().end() || !whole) return refuse(call + "an id that ncclGetUniqueId didn't make");
  const auto& clique = found->second;
  if (clique->devices.empty()) {
    clique->devices.assign(size_t(count), -1);
    clique->separate.resize(size_t(count));
    clique->calls.resize(size_t(count));
    clique->pairs.resize(size_t(count));
  }
  if (int(clique->devices.size()) != count || rank < 0 || rank >= count || clique->devices[size_t(rank)] >= 0)
    return refuse(call + "rank " + std::to_string(rank) + " of " + std::to_string(count) + ", twice or not there");
  const int device = current_device();
  if (device < 0) return refuse(call + "no device is current");
  if (std::count(clique->devices.begin(), clique->devices.end(), device) > 0) return refuse(call + "a device twice");
  clique->devices[size_t(rank)] = device;
  auto made = std::make_shared<Rank>(Rank{clique, rank});
  made->questions = kQuestions;
  clique->separate[size_t(rank)] = made;
  *comm = reinterpret_cast<ncclComm_t>(ranks().make(std::move(made)));
  return ncclInProgress;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  const Lock lock(machine());
  const auto rank = ranks().find(comm, "ncclCommFinalize");
  if (!rank) return ncclInvalidArgument;
  if (!is_free(*rank)) return refuse("ncclCommFinalize: before the last call was carried out");
  rank->finishes = true;
  rank->questions = kQuestions;
  ++rank->clique->finished;
  return ncclInProgress;
}

}  // extern "C"
