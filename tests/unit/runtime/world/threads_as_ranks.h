// Ranks that are threads of this process: an engine of messages in memory, so that a world can be tested without a launcher.
#pragma once

#include "runtime/world/process_world.h"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace sheaf::test {

/// What the engines of all ranks share.
struct Mail {
  explicit Mail(int size) : ranks(size) {}
  const int ranks;
  std::mutex mutex;
  struct Letter {
    int from;
    std::vector<std::byte> bytes;
  };
  std::map<std::pair<int, int>, std::deque<Letter>> boxes;  ///< by channel and receiver
  int silent = -1;                                          ///< a rank whose notes get lost
};

class MailMessages : public Messages {
 public:
  MailMessages(std::shared_ptr<Mail> mail, int rank) : mail_(std::move(mail)), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return mail_->ranks; }
  std::string library() const override { return "mail"; }

  int send(Channel channel, int to, const void* bytes, size_t size) override {
    const auto* first = static_cast<const std::byte*>(bytes);
    const std::lock_guard lock(mail_->mutex);
    if (channel == data || mail_->silent != rank_) mail_->boxes[{channel, to}].push_back({rank_, {first, first + size}});
    operations_.push_back({});
    return static_cast<int>(operations_.size()) - 1;
  }
  int receive(Channel channel, int from, void* bytes, size_t size) override {
    operations_.push_back({true, channel, from, bytes, size});
    return static_cast<int>(operations_.size()) - 1;
  }
  State state(int operation) override {
    const Operation& one = operations_[static_cast<size_t>(operation)];
    if (!one.receives) return {true, false, 0, {}};
    const std::lock_guard lock(mail_->mutex);
    auto& box = mail_->boxes[{one.channel, rank_}];
    for (auto letter = box.begin(); letter != box.end(); ++letter) {
      if (one.from != kAny && letter->from != one.from) continue;
      const size_t bytes = letter->bytes.size();
      if (bytes > one.bytes) return {true, true, 0, "the message is too long"};
      if (bytes > 0) std::memcpy(one.target, letter->bytes.data(), bytes);
      box.erase(letter);
      return {true, false, bytes, {}};
    }
    return {};
  }
  void abandon(int) override {}
  void leave() override {}

 private:
  struct Operation {
    bool receives = false;
    Channel channel = data;
    int from = 0;
    void* target = nullptr;
    size_t bytes = 0;
  };
  std::shared_ptr<Mail> mail_;
  const int rank_;
  std::vector<Operation> operations_;
};

/// Calls `work` as each rank of a world, each on its own thread. It takes the world, or a shared pointer to it.
template <typename Work>
void as_ranks(std::shared_ptr<Mail> mail, const Work& work, std::chrono::duration<double> silence = ProcessWorld::kSilence) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < mail->ranks; ++rank) {
    threads.emplace_back([&, rank] {
      auto world = ProcessWorld::open([&](std::string&) { return new MailMessages(mail, rank); }, silence);
      ASSERT_TRUE(world) << to_string(world.error());
      if constexpr (std::is_invocable_v<const Work&, ProcessWorld&>) work(**world);
      else work(*world);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace sheaf::test
