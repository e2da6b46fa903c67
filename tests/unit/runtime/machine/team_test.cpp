// Teams: every share is taken once, whoever takes it; a member without a core holds nobody up.
#include "runtime/machine/openmp.h"
#include "runtime/machine/team.h"
#include "runtime/machine/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

namespace sheaf {
namespace {

template <typename Body>
void run(Team& team, int shares, Body body) {
  team.run(shares, [](void* data) { (*static_cast<Body*>(data))(Team::share()); }, &body);
}

TEST(Team, EachShareIsTakenOnceInEachWork) {
  Team& team = Team::own();
  for (int work = 0; work < 2000; ++work) {
    const int shares = 2 + work * 7 % 5;
    std::vector<std::atomic<int>> taken(static_cast<size_t>(shares));
    run(team, shares, [&](const Team::Share& share) {
      EXPECT_EQ(share.count, shares);
      ++taken[static_cast<size_t>(share.index)];
    });
    for (const auto& count : taken) ASSERT_EQ(count, 1) << "work " << work << " of " << shares << " shares";
  }
  EXPECT_EQ(Team::share().team, nullptr);
}

TEST(Team, SharesThatWaitForEachOtherAllArrive) {
  Team& team = Team::own();
  for (int work = 0; work < 200; ++work) {
    std::atomic<int> before{0};
    std::atomic<int> early{0};
    run(team, 4, [&](const Team::Share& share) {
      for (int phase = 1; phase <= 3; ++phase) {
        ++before;
        share.team->wait_for_all();
        early += before < 4 * phase;
        share.team->wait_for_all();
      }
    });
    ASSERT_EQ(early, 0);
  }
}

std::atomic<bool> held{false}, released{false};

void hold(int) {
  held = true;
  while (!released) {
  }
}

/// In the thread that has a team of two.
void run_without_the_other() {
  Team& team = Team::own();
  pthread_t member{};
  std::atomic<int> there{0};
  run(team, 2, [&](const Team::Share& share) {
    if (share.index == 1) {
      member = pthread_self();
      sigset_t wanted;  // members take no signals of their own accord
      sigemptyset(&wanted);
      sigaddset(&wanted, SIGUSR1);
      pthread_sigmask(SIG_UNBLOCK, &wanted, nullptr);
    }
    for (++there; there < 2;) {  // so that each is on a thread of its own
    }
  });
  ASSERT_FALSE(pthread_equal(member, pthread_self()));
  struct sigaction action{}, before{};
  action.sa_handler = hold;
  ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
  ASSERT_EQ(pthread_kill(member, SIGUSR1), 0);
  while (!held) {
  }
  std::vector<int> taken;
  for (int work = 0; work < 3; ++work) run(team, 2, [&](const Team::Share& share) { taken.push_back(share.index); });
  released = true;
  EXPECT_EQ(taken, (std::vector<int>{0, 1, 0, 1, 0, 1}));
  std::atomic<int> again{0};
  run(team, 2, [&](const Team::Share&) { ++again; });
  EXPECT_EQ(again, 2);
  sigaction(SIGUSR1, &before, nullptr);
}

TEST(Team, AMemberWithoutACoreHoldsNobodyUp) { std::thread(run_without_the_other).join(); }

TEST(Team, AChildOfForkHasATeamOfItsOwn) {
#if defined(__has_feature) && __has_feature(thread_sanitizer)
  GTEST_SKIP() << "ThreadSanitizer allows no threads in a child of a process that has some";
#endif
  run(Team::own(), 3, [](const Team::Share&) {});
  const pid_t child = fork();
  if (child == 0) {
    std::atomic<int> taken{0};
    for (int work = 0; work < 10; ++work) run(Team::own(), 3, [&](const Team::Share&) { ++taken; });
    _exit(taken == 30 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(ThreadPool, OnednnsWorkRunsOnTeams) { EXPECT_TRUE(serves_openmp()); }

TEST(ThreadPool, WorkWithinWorkIsDoneByWhoeverStartsIt) {
  std::atomic<int> parts{0};
  parallel_for(4, 1, 4, [&](int64_t, int64_t) {
    EXPECT_TRUE(in_openmp());
    parallel_for(100, 1, 4, [&](int64_t begin, int64_t end) {
      EXPECT_EQ(end - begin, 100);
      ++parts;
    });
  });
  EXPECT_EQ(parts, 4);
  EXPECT_FALSE(in_openmp());
}

TEST(ThreadPool, EachItemIsMadeOnceByAMemberOfTheTeam) {
  for (const int threads : {1, 3}) {
    for (const int64_t count : {0, 2, 50}) {
      std::vector<std::atomic<int>> made(static_cast<size_t>(count));
      parallel_items(count, threads, [&](int64_t member, int64_t item) {
        EXPECT_GE(member, 0);
        EXPECT_LT(member, threads);
        ++made[static_cast<size_t>(item)];
      });
      for (const std::atomic<int>& times : made) EXPECT_EQ(times, 1);
    }
  }
}

TEST(ThreadPool, AMemberThatIsHeldUpLeavesItsItemsToTheOthers) {
  constexpr int64_t items = 20;
  std::atomic<int64_t> others{0};
  parallel_items(items, 2, [&](int64_t, int64_t item) {
    if (item > 0) ++others;
    else
      while (others < items - 1) std::this_thread::yield();
  });
  EXPECT_EQ(others, items - 1);
}

}  // namespace
}  // namespace sheaf
