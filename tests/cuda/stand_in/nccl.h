// What the files of the stand-in NCCL share, and what tests tell it.
#pragma once

#include "tests/cuda/stand_in/machine.h"

#include <nccl.h>

namespace stand_in {

/// From now on every communicator's background threads report this.
void set_async_error(ncclResult_t error);

/// A rank's part of a collective, or a send or receive.
struct NcclCall {
  enum Kind { broadcast, reduce, send, receive } kind = broadcast;
  const char* from = nullptr;
  char* to = nullptr;
  size_t count = 0;
  ncclDataType_t type = ncclInt8;
  ncclRedOp_t op = ncclSum;
  int other = 0;  ///< root or peer
  int rank = 0;
  bool there = false, done = false;  ///< its stream has come to it; its data have moved

  bool collective() const { return kind == broadcast || kind == reduce; }
};
using NcclCalls = std::vector<std::shared_ptr<NcclCall>>;
std::string to_string(const NcclCall& call);
size_t bytes_of(const NcclCall& call);

struct Rank;
/// A call as it was made.
struct Issued {
  std::shared_ptr<Rank> rank;
  CUstream stream = nullptr;
  std::shared_ptr<NcclCall> call;
};

/// All ranks of a communicator.
struct Clique {
  std::vector<int> devices;                   ///< by rank; -1: it has not joined
  std::vector<std::weak_ptr<Rank>> separate;  ///< by rank, of members that join one by one, as those of several processes do
  int finished = 0;                           ///< of them, those that ncclCommFinalize was called for
  std::vector<NcclCalls> calls;               ///< by rank, collectives, in the order of the ranks' calls
  std::vector<NcclCalls> pairs;               ///< by rank, sends and receives
  std::set<std::string> connections;          ///< that were made
  /// Moves the data of all calls whose every part is there.
  void move();
  void drop_done();
};
struct Rank {
  std::shared_ptr<Clique> clique;
  int rank = 0;
  bool aborted = false;
  // Of a separate member, which doesn't block: what it was asked for last and is yet to be carried out.
  std::vector<Issued> pending = {};
  int questions = 0;  ///< that are answered with "in progress" before
  bool finishes = false;
  int device() const { return clique->devices[size_t(rank)]; }
};

ncclResult_t refuse(const std::string& why);
Handles<Rank>& ranks();
/// What the first call of a kind sets up.
std::string connection(const NcclCall& call);
/// Into their streams.
void enqueue(const std::vector<Issued>& calls);
/// Of a separate member: whether its last call was carried out; a question brings it forward.
ncclResult_t ask(Rank& rank);
/// Whether it may be given another call.
bool is_free(const Rank& rank);
/// Takes a group's calls, all of one separate member.
ncclResult_t take(const std::vector<Issued>& calls);

}  // namespace stand_in
