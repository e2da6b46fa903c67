// A world of processes: messages, operations of all ranks together, and failures.
#include "tests/unit/runtime/world/threads_as_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <semaphore>

namespace sheaf {
namespace {

using test::as_ranks;
using test::Mail;
using testing::ElementsAre;
using testing::HasSubstr;

std::string letter(int rank) { return std::string(static_cast<size_t>(rank), static_cast<char>('a' + rank)); }

TEST(ProcessWorld, AllRanksExchangeTextsOfAnyLength) {
  for (const int size : {2, 3, 4, 5}) {
    as_ranks(std::make_shared<Mail>(size), [&](ProcessWorld& world) {
      std::vector<std::string> expected;
      for (int rank = 0; rank < size; ++rank) expected.push_back(letter(rank));
      const auto found = world.exchange(letter(world.rank()));
      ASSERT_TRUE(found);
      EXPECT_EQ(*found, expected);
      EXPECT_TRUE(world.leave());
    });
  }
}

TEST(ProcessWorld, AnEngineThatWaitsForARankThatNeverComesIsGivenUp) {
  static std::binary_semaphore never(0);  // the engine's thread outlives the test
  const auto opened = ProcessWorld::open(
      [](std::string&) -> Messages* {
        never.acquire();
        return nullptr;
      },
      ProcessWorld::kSilence, std::chrono::milliseconds(50));
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message(), HasSubstr("not all of them have come within 0.05 s"));
}

TEST(ProcessWorld, AProcessBesideThisOneThatIsStoppedIsNotWaitedFor) {
  const pid_t stopped = fork();
  if (stopped == 0) {
    raise(SIGSTOP);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(stopped, &status, WUNTRACED), stopped);
  ASSERT_TRUE(WIFSTOPPED(status));
  const pid_t waits = fork();  // this process is the launcher of both
  if (waits == 0) {
    static std::binary_semaphore never(0);
    const auto opened = ProcessWorld::open(
        [](std::string&) -> Messages* {
          never.acquire();
          return nullptr;
        },
        std::chrono::milliseconds(200), std::chrono::seconds(20));
    const std::string wanted = "process " + std::to_string(stopped) + " has been stopped for 0.2 s";
    _exit(!opened && opened.error().message().find(wanted) != std::string::npos ? 0 : 1);
  }
  EXPECT_EQ(waitpid(waits, &status, 0), waits);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  kill(stopped, SIGKILL);
  EXPECT_EQ(waitpid(stopped, &status, 0), stopped);
}

TEST(ProcessWorld, ABroadcastReachesAllFromAnyRank) {
  for (const int size : {2, 3, 5}) {
    as_ranks(std::make_shared<Mail>(size), [&](ProcessWorld& world) {
      for (int root = 0; root < size; ++root) {
        int value = world.rank() == root ? 100 + root : 0;
        ASSERT_TRUE(world.broadcast(root, &value, sizeof value));
        EXPECT_EQ(value, 100 + root);
      }
      EXPECT_TRUE(world.leave());
    });
  }
}

TEST(ProcessWorld, MessagesOfARankComeInOrder) {
  as_ranks(std::make_shared<Mail>(2), [](ProcessWorld& world) {
    for (int i = 0; i < 50; ++i) {
      int value = i;
      if (world.rank() == 0) ASSERT_TRUE(world.send(0, 1, &value, sizeof value));
      if (world.rank() == 1) ASSERT_TRUE(world.receive(1, 0, &value, sizeof value));
      EXPECT_EQ(value, i);
    }
    EXPECT_TRUE(world.leave());
  });
}

TEST(ProcessWorld, WhatOneRankSaysSomeRankSays) {
  as_ranks(std::make_shared<Mail>(3), [](ProcessWorld& world) {
    EXPECT_TRUE(*world.any(world.rank() == 2));
    EXPECT_FALSE(*world.any(false));
    EXPECT_TRUE(world.leave());
  });
}

TEST(ProcessWorld, ARankThatFailsEndsAfterTheOthersHaveReportedIt) {
  std::atomic<int> reported = 0;
  as_ranks(std::make_shared<Mail>(3), [&](std::shared_ptr<ProcessWorld>& world) {
    if (world->rank() == 1) {
      world->fail(Error("damaged"));
    } else {
      int never = 0;
      EXPECT_FALSE(world->receive(world->rank(), 1, &never, sizeof never));
      std::this_thread::sleep_for(std::chrono::milliseconds(world->rank() * 100));
    }
    ++reported;
    world.reset();
    EXPECT_EQ(reported, 3);
  });
}

TEST(ProcessWorld, ARankThatFailsWaitsForNoneThatIsGone) {
  const auto begun = std::chrono::steady_clock::now();
  auto mail = std::make_shared<Mail>(2);
  mail->silent = 0;
  as_ranks(
      mail,
      [](std::shared_ptr<ProcessWorld>& world) {
        int never = 0;
        EXPECT_FALSE(world->receive(world->rank(), 1 - world->rank(), &never, sizeof never));
      },
      std::chrono::milliseconds(300));
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::milliseconds(2000));
}

TEST(ProcessWorld, AFailureEndsTheWaitsOfAllOthersWithItsCause) {
  as_ranks(std::make_shared<Mail>(3), [](ProcessWorld& world) {
    if (world.rank() == 1) {
      world.fail(Error({"a.png", 0, 0}, "damaged").note("needed for step 1"));
      EXPECT_FALSE(world.failure());
      return;
    }
    int never = 0;
    const auto waited = world.receive(world.rank(), 1, &never, sizeof never);
    ASSERT_FALSE(waited);
    EXPECT_EQ(waited.error().message(), "rank 1: a.png: error: damaged");
    EXPECT_FALSE(world.exchange("")) << "nothing goes on";
  });
}

TEST(ProcessWorld, ASilentRankIsMissedByAll) {
  auto mail = std::make_shared<Mail>(3);
  mail->silent = 2;
  as_ranks(
      mail,
      [](ProcessWorld& world) {
        int never = 0;
        const auto waited = world.receive(world.rank(), (world.rank() + 1) % 3, &never, sizeof never);
        ASSERT_FALSE(waited);
        if (world.rank() != 2) EXPECT_THAT(waited.error().message(), HasSubstr("rank 2: it has given no sign of life"));
      },
      std::chrono::duration<double>(1.5));
}

TEST(ProcessWorld, AMessageOfAnotherSizeIsAnError) {
  as_ranks(std::make_shared<Mail>(2), [](ProcessWorld& world) {
    int64_t value = 0;
    if (world.rank() == 0) ASSERT_TRUE(world.send(0, 1, &value, 4));
    if (world.rank() != 1) return;
    const auto received = world.receive(1, 0, &value, 8);
    ASSERT_FALSE(received);
    EXPECT_EQ(received.error().message(), "rank 0: it sent 4 bytes where rank 1 expects 8");
  });
}

TEST(ProcessWorld, AnEngineThatDoesNotOpenSaysWhy) {
  const auto world = ProcessWorld::open([](std::string& why) {
    why = "no fabric";
    return static_cast<Messages*>(nullptr);
  });
  ASSERT_FALSE(world);
  EXPECT_THAT(world.error().message(), HasSubstr("no fabric"));
}

}  // namespace
}  // namespace sheaf
