#include "tests/sim/sim_rank_communicator.h"

#include "runtime/machine/blocked_signals.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>

namespace sheaf::sim {
namespace {

constexpr int kMostRanks = 8;
constexpr int kQuestions = 3;  ///< a call is carried out only after so many

}  // namespace

/// From one rank to another, one message at a time. What the sender puts in, the receiver takes out.
struct SimRankCommunicator::Box {
  std::atomic<bool> full;
  uint64_t number, bytes;
  char what[200];
  size_t here;  ///< bytes
  std::byte data[size_t{64} << 10];
};

struct SimRankCommunicator::Shared {
  std::atomic<int> joined, finished;
  Box boxes[kMostRanks][kMostRanks];
};

std::string new_exchange_file() {
  static std::atomic<int> made{0};
  return "/sheaf-sim-" + std::to_string(getpid()) + "-" + std::to_string(made++);
}

Result<std::unique_ptr<SimRankCommunicator>> SimRankCommunicator::join(SimDriver& driver, const std::string& file, int rank,
                                                                       int ranks, const RankLinkOptions& options) {
  if (ranks > kMostRanks) return Error("virtual GPUs of more ranks than " + std::to_string(kMostRanks));
  std::unique_ptr<SimRankCommunicator> made(new SimRankCommunicator(driver, rank, ranks, options));
  // Zeros are a good beginning, whoever comes first.
  const int handle = shm_open(file.c_str(), O_RDWR | O_CREAT, 0600);
  if (handle < 0 || ftruncate(handle, sizeof(Shared)) != 0) return Error("no memory that processes share");
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, handle, 0);
  close(handle);
  if (memory == MAP_FAILED) return Error("no memory that processes share");
  made->shared_ = static_cast<Shared*>(memory);
  made->file_ = file;
  if (!options.absent && ++made->shared_->joined == ranks) shm_unlink(file.c_str());
  const BlockedSignals signals;
  made->alone_ = std::thread([it = made.get()] {
    while (!it->stop_) {
      it->driver_.go_on_alone();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  return made;
}

SimRankCommunicator::~SimRankCommunicator() {
  stop_ = true;
  if (alone_.joinable()) alone_.join();
  if (!*aborted_ && (!finishing_ || !asked_.empty())) driver_.violation("a communicator of ranks is dropped, not finished");
  *aborted_ = true;                  // enqueued work must not touch the memory from here on,
  (void)driver_.calls(Call::query);  // nor what the driver is at under its lock
  if (shared_ && shared_->joined < ranks_) shm_unlink(file_.c_str());
  if (shared_) munmap(shared_, sizeof(Shared));
}

SimRankCommunicator::Box& SimRankCommunicator::box(int from, int to) const { return shared_->boxes[from][to]; }

Result<bool> SimRankCommunicator::ready() {
  if (joining_ && shared_->joined < ranks_) return false;
  joining_ = false;
  if (finishing_) return shared_->finished >= ranks_;
  if (questions_ > 0 && --questions_ > 0) return false;
  if (!asked_.empty()) SHEAF_TRY(launch());
  return true;
}

Result<void> SimRankCommunicator::exchange(std::span<const cuda::RankMessage> messages, void* const* buffers,
                                           cuda::Stream stream) {
  if (joining_ || finishing_ || !asked_.empty()) driver_.violation("ranks exchange before the last call was carried out");
  if (messages.empty()) driver_.violation("ranks exchange nothing");
  for (size_t i = 0; i < messages.size(); ++i) {
    Part part{messages[i], buffers[i]};
    if (part.message.peer < 0 || part.message.peer >= ranks_ || part.message.peer == rank_)
      return Error("ncclSend: invalid argument");
    part.number = numbers_[static_cast<size_t>(part.message.peer + (part.message.sends ? 0 : ranks_))]++;
    asked_.push_back(std::move(part));
  }
  stream_ = stream;
  questions_ = kQuestions;
  return {};
}

Result<void> SimRankCommunicator::launch() {
  auto parts = std::make_shared<std::vector<Part>>(std::exchange(asked_, {}));
  for (Part& part : *parts) {
    if (!options_.swaps || !part.message.sends) continue;
    if (part.number == *options_.swaps || part.number == *options_.swaps + 1)
      part.number = 2 * *options_.swaps + 1 - part.number;
  }
  // NCCL begins a second message of one direction with one rank when all that it began with are done.
  std::map<std::pair<bool, int>, int> batches;
  for (Part& part : *parts) part.batch = batches[{part.message.sends, part.message.peer}]++;
  std::vector<cuda::Access> accesses;
  for (const Part& part : *parts) accesses.push_back({part.buffer, part.message.bytes, !part.message.sends});
  const std::string what = parts->size() == 1 ? "message '" + parts->front().message.what + "'" : "a group of messages";
  return driver_.exchange(
      stream_, what,
      [this, parts, aborted = aborted_]() -> Result<bool> {
        if (*aborted) return true;
        int batch = std::numeric_limits<int>::max();
        for (const Part& part : *parts)
          if (!part.done) batch = std::min(batch, part.batch);
        bool done = true;
        for (Part& part : *parts) {
          if (part.batch == batch) SHEAF_TRY(go_on(part));
          done = done && part.done;
        }
        return done;
      },
      std::move(accesses));
}

Result<void> SimRankCommunicator::go_on(Part& part) const {
  if (part.done) return {};
  return part.message.sends ? send(part, box(rank_, part.message.peer)) : receive(part, box(part.message.peer, rank_));
}

/// Ends when the receiver has taken all.
Result<void> SimRankCommunicator::send(Part& part, Box& box) const {
  if (box.full) return {};
  if (part.begun && part.moved == part.message.bytes) {
    part.done = true;
    return {};
  }
  const std::byte* from = driver_.member_memory(part.buffer, part.message.bytes, false, part.message.what);
  if (!from) return Error("an illegal memory access was encountered");
  part.begun = true;
  box.number = part.number;
  box.bytes = part.message.bytes;
  std::memset(box.what, 0, sizeof box.what);
  std::memcpy(box.what, part.message.what.data(), std::min(part.message.what.size(), sizeof box.what - 1));
  box.here = std::min(part.message.bytes - part.moved, sizeof box.data);
  std::memcpy(box.data, from + part.moved, box.here);
  part.moved += box.here;
  box.full = true;
  return {};
}

Result<void> SimRankCommunicator::receive(Part& part, Box& box) const {
  if (!box.full) return {};
  if (box.number != part.number || box.bytes != part.message.bytes ||
      part.message.what.compare(0, sizeof box.what - 1, box.what) != 0)
    return Error("messages don't match: rank " + std::to_string(part.message.peer) + " sends '" + box.what + "' of " +
                 std::to_string(box.bytes) + " bytes as its message " + std::to_string(box.number) + " where rank " +
                 std::to_string(rank_) + " expects '" + part.message.what + "' of " + std::to_string(part.message.bytes) +
                 " bytes as message " + std::to_string(part.number));
  std::byte* to = driver_.member_memory(part.buffer, part.message.bytes, true, part.message.what);
  if (!to) return Error("an illegal memory access was encountered");
  std::memcpy(to + part.moved, box.data, box.here);
  part.moved += box.here;
  part.done = part.moved == part.message.bytes;
  box.full = false;
  return {};
}

Result<void> SimRankCommunicator::finish() {
  if (joining_ || finishing_ || !asked_.empty())
    driver_.violation("a communicator of ranks ends before the last call was carried out");
  finishing_ = true;
  ++shared_->finished;
  return {};
}

void SimRankCommunicator::abort() {
  *aborted_ = true;
  driver_.call_off({});
}

}  // namespace sheaf::sim
