// A GPU's link to those of a world's other processes: messages as operations of its queues, and their end if a process fails.
#pragma once

#include "runtime/cuda/backend_state.h"
#include "runtime/device/rank_link.h"

#include <condition_variable>
#include <optional>
#include <thread>

namespace sheaf::cuda {

/// Messages wait for other ranks in streams alone; what the host does for them ends when a rank fails. A thread watches the world and the
/// communicator. If a rank fails, it loses the process's devices (BackendState::lose()), and with them the link: that ends the work
/// that waits in streams. If a device of this process fails, the link tells the world at once. The first cause is the world's: what the communicator reports counts only if the world finds none
/// for as long as a silent rank may take to be found.
class CudaRankLink final : public RankLink, public std::enable_shared_from_this<CudaRankLink> {
 public:
  /// All ranks together. Errors: the communicator's; the world's; not all have joined within `limit`.
  static Result<std::shared_ptr<CudaRankLink>> join(std::shared_ptr<BackendState> state, int device, const std::string& name,
                                                    const WorldMember& member, Seconds limit);
  /// Waits a little for the other ranks to end, too.
  ~CudaRankLink() override;

  std::unique_ptr<Executable> send(int to, size_t bytes, const std::string& what) override;
  std::unique_ptr<Executable> receive(int from, size_t bytes, const std::string& what) override;

  /// Puts messages into a stream. Returns when they are there, or the link has ended.
  Result<void> exchange(std::span<const RankMessage> messages, void* const* buffers, Stream stream, Seconds deadline);
  /// Because of `why`, which the other ranks are told: they may wait for messages that now don't come. From any thread.
  void abort(const Error& why);

 private:
  CudaRankLink(std::shared_ptr<BackendState> state, std::shared_ptr<World> world)
      : state_(std::move(state)), world_(std::move(world)) {}
  std::unique_ptr<Executable> operation(RankMessage message);
  /// Returns when the communicator is ready. `what`: what it does until then.
  Result<void> settle(Seconds limit, const std::string& what);
  void watch();
  /// The world's reason for what the communicator reports, or else that.
  Error cause_of(Error reported);

  std::shared_ptr<BackendState> state_;
  std::shared_ptr<World> world_;
  std::mutex mutex_;  ///< of these; never held while waiting:
  std::condition_variable stopping_;
  std::unique_ptr<RankCommunicator> communicator_;
  bool aborted_ = false;
  bool stop_ = false;
  std::thread watcher_;
};

/// One operation for messages of one link that may go on beside each other. Null: `parts` aren't such.
std::unique_ptr<Executable> merge_messages(std::span<Executable* const> parts);

}  // namespace sheaf::cuda
