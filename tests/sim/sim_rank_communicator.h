// What virtual GPUs of several processes exchange: messages in memory that the processes share. It checks for what NCCL would punish
// with a hang or wrong data: both sides of a message must call it the same and have the same size, in one order, and nothing may be
// asked for before the last call was carried out.
#pragma once

#include "runtime/cuda/library.h"
#include "tests/sim/sim_driver.h"

#include <atomic>
#include <optional>
#include <thread>

namespace sheaf::sim {

struct RankLinkOptions {
  std::string library = "virtual link 1.0";  ///< empty: there is none
  bool absent = false;                       ///< this process never joins
  std::optional<uint64_t> swaps;             ///< the message to a rank, counted from 0, that it puts behind the next one
};

/// A file that processes of this machine map, for a communicator's messages.
std::string new_exchange_file();

class SimRankCommunicator final : public cuda::RankCommunicator {
 public:
  static Result<std::unique_ptr<SimRankCommunicator>> join(SimDriver& driver, const std::string& file, int rank, int ranks,
                                                           const RankLinkOptions& options);
  ~SimRankCommunicator() override;

  Result<bool> ready() override;
  Result<void> exchange(std::span<const cuda::RankMessage> messages, void* const* buffers, cuda::Stream stream) override;
  Result<void> finish() override;
  void abort() override;

 private:
  struct Shared;
  struct Box;
  /// A message on its way.
  struct Part {
    cuda::RankMessage message;
    void* buffer = nullptr;
    uint64_t number = 0;  ///< among those from one rank to the other
    int batch = 0;        ///< of its group: goes on once those before it are done
    size_t moved = 0;     ///< bytes, of a sender those in the box too
    bool begun = false, done = false;
  };
  SimRankCommunicator(SimDriver& driver, int rank, int ranks, const RankLinkOptions& options)
      : driver_(driver), rank_(rank), ranks_(ranks), options_(options), numbers_(2 * static_cast<size_t>(ranks)) {}
  Box& box(int from, int to) const;
  Result<void> go_on(Part& part) const;
  Result<void> send(Part& part, Box& box) const;
  Result<void> receive(Part& part, Box& box) const;
  /// Puts what exchange() was asked for into its stream.
  Result<void> launch();

  SimDriver& driver_;
  const int rank_, ranks_;
  const RankLinkOptions options_;
  Shared* shared_ = nullptr;
  std::string file_;
  std::vector<uint64_t> numbers_;  ///< of the next message to each rank, then from each
  int questions_ = 0;              ///< until what was asked for last is carried out
  std::vector<Part> asked_;
  cuda::Stream stream_ = nullptr;
  bool joining_ = true, finishing_ = false;
  std::shared_ptr<std::atomic<bool>> aborted_ = std::make_shared<std::atomic<bool>>(false);
  std::atomic<bool> stop_{false};
  std::thread alone_;  ///< lets the devices go on while nobody asks
};

}  // namespace sheaf::sim
