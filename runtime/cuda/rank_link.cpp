#include "runtime/cuda/rank_link.h"

#include "runtime/cuda/operation.h"
#include "runtime/machine/blocked_signals.h"
#include "runtime/world/process_world.h"

#include <algorithm>
#include <cstdio>
#include <system_error>

namespace sheaf::cuda {
namespace {

using Clock = std::chrono::steady_clock;

/// Within it the world has found out about any rank that is gone.
constexpr Seconds kWorldsTime = ProcessWorld::kSilence + Seconds(2);
constexpr std::chrono::milliseconds kBetweenLooks(10);
/// How long an end in good order may take.
constexpr Seconds kFinishing{1};
/// In one operation. NCCL goes on with so many at once; what is beyond waits for them, which may wait for it.
constexpr size_t kMostMessages = 8;

std::string name_of(const RankMessage& message) {
  return "message '" + message.what + "' " + (message.sends ? "to" : "from") + " rank " + std::to_string(message.peer);
}

Error ended() { return Error("the link between the ranks' GPUs was ended after a failure"); }

class Exchange final : public Operation {
 public:
  Exchange(std::shared_ptr<CudaRankLink> link, std::vector<RankMessage> messages)
      : link_(std::move(link)), messages_(std::move(messages)) {
    for (const RankMessage& message : messages_) operands.push_back({message.bytes, !message.sends});
    what = messages_.size() == 1 ? name_of(messages_[0]) : std::to_string(messages_.size()) + " messages between ranks";
  }
  Result<void> enqueue(const Enqueue& at) override { return link_->exchange(messages_, at.buffers, at.stream, at.deadline); }
  /// Members meet in it: it stays out of graphs, which belong to one lane.
  bool recordable() const override { return false; }

  const std::shared_ptr<CudaRankLink>& link() const { return link_; }
  const std::vector<RankMessage>& messages() const { return messages_; }

 private:
  std::shared_ptr<CudaRankLink> link_;
  std::vector<RankMessage> messages_;
};

}  // namespace

Result<std::shared_ptr<CudaRankLink>> CudaRankLink::join(std::shared_ptr<BackendState> state, int device,
                                                         const std::string& name, const WorldMember& member, Seconds limit) {
  std::shared_ptr<CudaRankLink> link(new CudaRankLink(std::move(state), member.world));
  SHEAF_ASSIGN(link->communicator_, link->state_->backend().join_ranks(device, name, member.rank, member.world->size()));
  link->state_->keep(link.get());
  SHEAF_TRY(link->settle(limit, "not all ranks' GPUs have joined"));
  const BlockedSignals signals;
  try {
    link->watcher_ = std::thread([it = link.get()] { it->watch(); });
  } catch (const std::system_error& error) {
    return Error(std::string("the thread that watches the link between GPUs can't be started: ") + error.what());
  }
  return link;
}

CudaRankLink::~CudaRankLink() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stopping_.notify_all();
  const bool joined = watcher_.joinable();
  if (joined) watcher_.join();
  state_->forget(this);
  if (!communicator_ || aborted_) return;
  if (joined && communicator_->finish() && settle(kFinishing, "")) return;
  communicator_->abort();
}

void CudaRankLink::abort(const Error& why) {
  world_->fail(why);  // of a failure that it knows, it takes no second cause
  const std::lock_guard lock(mutex_);
  if (aborted_ || !communicator_) return;
  aborted_ = true;
  communicator_->abort();
}

Result<void> CudaRankLink::settle(Seconds limit, const std::string& what) {
  const auto begin = Clock::now();
  for (int round = 0;; ++round) {
    {
      const std::lock_guard lock(mutex_);
      if (aborted_) break;
      auto ready = communicator_->ready();
      if (!ready) return std::move(ready.error());
      if (*ready) return {};
    }
    if (auto cause = world_->failure()) return *std::move(cause);
    if (const Seconds passed = Clock::now() - begin; passed >= limit) {
      char seconds[32];
      std::snprintf(seconds, sizeof seconds, "%g", limit.count());
      return Error(what + " within " + seconds + " s");
    }
    if (round >= 20) std::this_thread::sleep_for(std::chrono::microseconds(round < 200 ? 20 : 200));
  }
  const Error* lost = state_->lost();
  return lost ? *lost : ended();
}

Result<void> CudaRankLink::exchange(std::span<const RankMessage> messages, void* const* buffers, Stream stream,
                                    Seconds deadline) {
  Result<void> done;
  {
    const std::lock_guard lock(mutex_);
    if (!aborted_) done = communicator_->exchange(messages, buffers, stream);
  }
  if (done) done = settle(deadline, name_of(messages[0]) + " wasn't taken");
  return done ? done : Result<void>(cause_of(std::move(done.error())));
}

Error CudaRankLink::cause_of(Error reported) {
  const auto until = Clock::now() + kWorldsTime;
  std::unique_lock lock(mutex_);
  for (;;) {
    if (auto cause = world_->failure()) return *std::move(cause);
    if (stop_ || aborted_ || Clock::now() >= until) return reported;
    stopping_.wait_for(lock, kBetweenLooks);
  }
}

void CudaRankLink::watch() {
  for (;;) {
    Result<bool> ready = true;
    {
      std::unique_lock lock(mutex_);
      stopping_.wait_for(lock, kBetweenLooks);
      if (stop_ || aborted_) return;
      ready = communicator_->ready();
    }
    auto cause = world_->failure();
    if (!cause && !ready) cause = cause_of(std::move(ready.error()));
    if (!cause) continue;
    {
      const std::lock_guard lock(mutex_);
      if (stop_) return;
    }
    // What the messages should have brought is missing: guarded work must do nothing before the streams go on.
    state_->lose(*std::move(cause));
    return;
  }
}

std::unique_ptr<Executable> CudaRankLink::operation(RankMessage message) {
  return std::make_unique<Exchange>(shared_from_this(), std::vector{std::move(message)});
}

std::unique_ptr<Executable> CudaRankLink::send(int to, size_t bytes, const std::string& what) {
  return operation({true, to, bytes, what});
}

std::unique_ptr<Executable> CudaRankLink::receive(int from, size_t bytes, const std::string& what) {
  return operation({false, from, bytes, what});
}

std::unique_ptr<Executable> merge_messages(std::span<Executable* const> parts) {
  std::shared_ptr<CudaRankLink> link;
  std::vector<RankMessage> messages;
  for (Executable* part : parts) {
    const auto* exchange = dynamic_cast<const Exchange*>(part);
    if (!exchange || (link && exchange->link() != link)) return nullptr;
    link = exchange->link();
    for (const RankMessage& message : exchange->messages()) {
      const auto alike = [&](const RankMessage& other) { return other.sends == message.sends && other.peer == message.peer; };
      // NCCL puts a second message behind all others of a group.
      if (messages.size() == kMostMessages || std::ranges::any_of(messages, alike)) return nullptr;
      messages.push_back(message);
    }
  }
  return link ? std::make_unique<Exchange>(std::move(link), std::move(messages)) : nullptr;
}

}  // namespace sheaf::cuda
