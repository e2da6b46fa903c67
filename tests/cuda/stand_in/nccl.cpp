// A stand-in libnccl.so.2: communicators and groups with what must hold of them. Includes nccl.h, so that its functions have the real
// ones' names and types.
#include "tests/cuda/stand_in/nccl.h"

#include <algorithm>
#include <utility>

namespace stand_in {
namespace {

struct Nccl {
  Handles<Rank> ranks{"communicator"};
  ncclResult_t async_error = ncclSuccess;
};
Nccl& nccl() {
  static auto& made = *new Nccl;
  return made;
}

thread_local std::string last_error;
thread_local int depth = 0;
thread_local ncclResult_t group_result = ncclSuccess;
thread_local std::vector<Issued> group;

/// A group with a call that failed fails as a whole.
ncclResult_t failed(ncclResult_t result) {
  if (depth != 0) group_result = result;
  return result;
}

}  // namespace

ncclResult_t refuse(const std::string& why) {
  fault(why);
  last_error = why;
  return failed(ncclInvalidUsage);
}

Handles<Rank>& ranks() { return nccl().ranks; }

std::string connection(const NcclCall& call) {
  const int from = call.kind == NcclCall::send ? call.rank : call.other,
            to = call.kind == NcclCall::send ? call.other : call.rank;
  return call.collective() ? (call.kind == NcclCall::broadcast ? "broadcast" : "reduce")
                           : std::to_string(from) + " to " + std::to_string(to);
}

namespace {

/// All that a call connects must take part in its group: from the host's side they would wait for each other.
ncclResult_t connect(const std::vector<Issued>& all) {
  for (const Issued& one : all) {
    Clique& clique = *one.rank->clique;
    const std::string key = connection(*one.call);
    if (clique.connections.count(key)) continue;
    std::set<int> here;
    for (const Issued& other : all)
      if (other.rank->clique == one.rank->clique && connection(*other.call) == key) here.insert(other.call->rank);
    if (here.size() != (one.call->collective() ? clique.devices.size() : 2))
      return refuse("ncclGroupEnd: the first " + to_string(*one.call) + " is in a group without the others that it connects");
    clique.connections.insert(key);
  }
  return ncclSuccess;
}

/// Puts a rank's call behind its earlier ones; it must be what the others' are.
ncclResult_t line_up(const Issued& one) {
  Clique& clique = *one.rank->clique;
  const NcclCall& call = *one.call;
  const auto differs = [&](const NcclCall& other) {
    return refuse("ncclGroupEnd: rank " + std::to_string(call.rank) + " has a " + to_string(call) + " where rank " +
                  std::to_string(other.rank) + " has a " + to_string(other));
  };
  if (call.collective()) {
    NcclCalls& own = clique.calls[size_t(call.rank)];
    for (const NcclCalls& others : clique.calls) {
      if (&others == &own || others.size() <= own.size()) continue;
      const NcclCall& other = *others[own.size()];
      if (other.kind != call.kind || other.count != call.count || other.type != call.type || other.op != call.op ||
          other.other != call.other)
        return differs(other);
    }
    own.push_back(one.call);
    return ncclSuccess;
  }
  // As many calls of this direction are before it as before its partner.
  const auto is = [](const NcclCall& with, NcclCall::Kind kind, int other) { return with.kind == kind && with.other == other; };
  NcclCalls& own = clique.pairs[size_t(call.rank)];
  const auto before = std::count_if(own.begin(), own.end(), [&](const auto& mine) { return is(*mine, call.kind, call.other); });
  auto wanted = before;
  for (const auto& other : clique.pairs[size_t(call.other)]) {
    if (!is(*other, call.kind == NcclCall::send ? NcclCall::receive : NcclCall::send, call.rank) || wanted-- != 0) continue;
    if (bytes_of(*other) != bytes_of(call) || other->type != call.type) return differs(*other);
  }
  own.push_back(one.call);
  return ncclSuccess;
}

}  // namespace

void enqueue(const std::vector<Issued>& all) {
  // A rank's calls on one stream go on together.
  std::map<std::pair<Rank*, CUstream>, std::vector<Issued>> streams;
  for (const Issued& one : all) streams[{one.rank.get(), one.stream}].push_back(one);
  for (const auto& [to, calls] : streams) {
    put(*find_stream(to.second, "ncclGroupEnd"), [calls] {
      Rank& rank = *calls[0].rank;
      if (rank.aborted) return true;
      for (const Issued& one : calls) one.call->there = true;
      rank.clique->move();
      return std::all_of(calls.begin(), calls.end(), [](const Issued& one) { return one.call->done; });
    });
  }
}

namespace {

ncclResult_t launch(const std::vector<Issued>& all) {
  const bool separate = !all.empty() && !all[0].rank->clique->separate.empty();
  if (const auto result = separate ? ncclSuccess : connect(all); result != ncclSuccess) return result;
  for (const Issued& one : all) {
    if (const auto result = line_up(one); result != ncclSuccess) return result;
  }
  if (separate) return take(all);
  enqueue(all);
  return ncclSuccess;
}

ncclResult_t issue(const char* name, ncclComm_t comm, cudaStream_t to, NcclCall call) {
  const Lock lock(machine());
  const auto rank = nccl().ranks.find(comm, name);
  const auto stream = find_stream(reinterpret_cast<CUstream>(to), name);
  if (!rank || !stream) return failed(ncclInvalidArgument);
  if (!is_free(*rank)) return refuse(std::string(name) + ": before the last call was carried out");
  call.rank = rank->rank;
  const int ranks = int(rank->clique->devices.size());
  if (stream->device != rank->device()) return refuse(std::string(name) + ": a stream of another device than its rank's");
  if (stream->capturing) return refuse(std::string(name) + ": members of a communicator in one lane's capture");
  if (call.other < 0 || call.other >= ranks || (!call.collective() && call.other == call.rank))
    return refuse(std::string(name) + ": no rank " + std::to_string(call.other));
  const size_t bytes = bytes_of(call);
  const bool receives = call.kind == NcclCall::receive || call.kind == NcclCall::broadcast || call.other == call.rank;
  const bool sends = call.kind != NcclCall::receive && (call.kind != NcclCall::broadcast || call.other == call.rank);
  if ((sends && device_of(call.from, bytes) != rank->device()) ||
      (call.kind != NcclCall::send && receives && device_of(call.to, bytes) != rank->device()))
    return refuse(std::string(name) + ": a buffer that is not in the memory of its rank's device");
  group.push_back({rank, reinterpret_cast<CUstream>(to), std::make_shared<NcclCall>(call)});
  if (depth != 0) return ncclSuccess;
  ++depth;
  return ncclGroupEnd();
}

}  // namespace

void set_async_error(ncclResult_t error) {
  const Lock lock(machine());
  nccl().async_error = error;
}

}  // namespace stand_in

using namespace stand_in;

extern "C" {

ncclResult_t ncclGetVersion(int* version) { return *version = 22809, ncclSuccess; }
const char* ncclGetErrorString(ncclResult_t result) {
  return result == ncclSuccess           ? "no error"
         : result == ncclInvalidUsage    ? "invalid usage"
         : result == ncclInvalidArgument ? "invalid argument"
         : result == ncclRemoteError     ? "remote process exited or there was a network error"
                                         : "unhandled error";
}
const char* ncclGetLastError(ncclComm_t) { return last_error.c_str(); }

ncclResult_t ncclCommInitAll(ncclComm_t* comms, int count, const int* devices) {
  const Lock lock(machine());
  auto clique = std::make_shared<Clique>();
  for (int i = 0; i < count; ++i) {
    const int device = devices ? devices[i] : i;
    const auto& known = clique->devices;
    if (device < 0 || device >= kDevices || std::find(known.begin(), known.end(), device) != known.end())
      return refuse("ncclCommInitAll: a device twice, or none");
    clique->devices.push_back(device);
  }
  clique->calls.resize(size_t(count));
  clique->pairs.resize(size_t(count));
  for (int i = 0; i < count; ++i)
    comms[i] = reinterpret_cast<ncclComm_t>(nccl().ranks.make(std::make_shared<Rank>(Rank{clique, i, false})));
  return ncclSuccess;
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  const Lock lock(machine());
  const auto rank = nccl().ranks.find(comm, "ncclCommDestroy");
  if (!rank) return ncclInvalidArgument;
  const auto& own = rank->clique->calls[size_t(rank->rank)];
  if (!own.empty() || !rank->clique->pairs[size_t(rank->rank)].empty())
    fault("ncclCommDestroy: it waits for a collective that isn't done");
  if (!rank->clique->separate.empty() && (!rank->finishes || ask(*rank) != ncclSuccess))
    fault("ncclCommDestroy: before ncclCommFinalize was carried out");
  return nccl().ranks.destroy(comm, "ncclCommDestroy"), ncclSuccess;
}
/// Frees the communicator too.
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  const Lock lock(machine());
  const auto rank = nccl().ranks.find(comm, "ncclCommAbort");
  if (!rank) return ncclInvalidArgument;
  rank->aborted = true;
  rank->pending.clear();
  nccl().ranks.destroy(comm, "ncclCommAbort");
  return run(), ncclSuccess;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  const Lock lock(machine());
  const auto rank = nccl().ranks.find(comm, "ncclCommGetAsyncError");
  if (!rank) return ncclInvalidArgument;
  return *error = nccl().async_error != ncclSuccess ? nccl().async_error : ask(*rank), ncclSuccess;
}

ncclResult_t ncclGroupStart() { return ++depth, ncclSuccess; }
ncclResult_t ncclGroupEnd() {
  const Lock lock(machine());
  if (depth == 0) return refuse("ncclGroupEnd: no group has begun");
  if (--depth != 0) return ncclSuccess;
  const auto all = std::exchange(group, {});
  const auto before = std::exchange(group_result, ncclSuccess);
  if (before != ncclSuccess) return before;
  return launch(all);
}

ncclResult_t ncclBroadcast(const void* from, void* to, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                           cudaStream_t stream) {
  return issue(__func__, comm, stream,
               {NcclCall::broadcast, static_cast<const char*>(from), static_cast<char*>(to), count, type, ncclSum, root});
}
ncclResult_t ncclReduce(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
                        ncclComm_t comm, cudaStream_t stream) {
  if (op != ncclSum) return refuse("ncclReduce: this stand-in only adds");
  return issue(__func__, comm, stream,
               {NcclCall::reduce, static_cast<const char*>(from), static_cast<char*>(to), count, type, op, root});
}
ncclResult_t ncclSend(const void* from, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream) {
  return issue(__func__, comm, stream, {NcclCall::send, static_cast<const char*>(from), nullptr, count, type, ncclSum, peer});
}
ncclResult_t ncclRecv(void* to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream) {
  return issue(__func__, comm, stream, {NcclCall::receive, nullptr, static_cast<char*>(to), count, type, ncclSum, peer});
}

}  // extern "C"
