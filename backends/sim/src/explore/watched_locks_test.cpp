// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Mutexes in watched code. Replicas and bodies take turns on one thread: a lock that could never
// end is an error with the lines of both locks.
#include "belfry/belfry.h"
#include "belfry/launch.h"
#include "belfry/sim/explore.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <system_error>
#include <vector>

namespace belfry::sim::watched_locks_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kReplicas = 3;

std::string at(int line) { return "watched_locks_test.cpp:" + std::to_string(line); }

/// y = 5, under a lock.
struct Locks {
  static constexpr int kLine = __LINE__ + 3;
  std::mutex* mutex;
  void on_host(std::span<float> y) const {
    const std::lock_guard lock(*mutex);
    y[0] = 5;
  }
};

constexpr int kHolder = __LINE__ + 6;
// The replica `odd` holds the mutex across a launch, and the body takes the mutex.
float held_across_launch(Backend& backend, std::mutex& mutex, int odd) {
  MirroredStrategy strategy{backend};
  return strategy.run([&](ReplicaContext& replica) {
    std::unique_lock lock(mutex, std::defer_lock);
    auto y = Tensor<float>::full({1}, 1.0F);
    if (replica.replica_id() == odd) lock.lock();
    launch(Locks{&mutex}, updates(y));
    if (lock) lock.unlock();
    return y.item();
  })[0];
}

// The text of the error; empty without an error.
template <class Body>
std::string error_of(const Body& body) {
  try {
    body();
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.code(), ErrorCode::kDeadlock);
    return error.what();
  }
  return {};
}

TEST(WatchedLocks, OfBodiesNameTheLockAroundTheLaunch) {
  for (int odd = 0; odd < kReplicas; ++odd) {
    int errors = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      Backend backend{{.devices = kReplicas, .seed = seed}};
      std::mutex mutex;
      const std::string text =
          error_of([&] { EXPECT_EQ(held_across_launch(backend, mutex, odd), 5); });
      EXPECT_TRUE(mutex.try_lock());  // Nobody has the mutex any more.
      mutex.unlock();
      if (text.empty()) continue;
      ++errors;
      EXPECT_THAT(text, AllOf(HasSubstr("kernel Locks: a mutex that replica " +
                                        std::to_string(odd) + " has locked at " + at(kHolder + 1)),
                              HasSubstr("is locked again at " + at(Locks::kLine) +
                                        " by the body of a kernel"),
                              HasSubstr(at(kHolder + 2))));
    }
    EXPECT_GT(errors, 0) << odd;
    EXPECT_LT(errors, 20) << odd;  // The schedule decides.
  }
}

// A replica has the mutex from before the first merge until after the second, and the others want
// the mutex in between.
TEST(WatchedLocks, OfReplicasNameTheLockAroundTheMerge) {
  for (int odd = 0; odd < kReplicas; ++odd) {
    Backend backend{{.devices = kReplicas}};
    MirroredStrategy strategy{backend};
    std::mutex mutex;
    const int line = __LINE__ + 5;
    const std::string text = error_of([&] {
      strategy.run([&](ReplicaContext& replica) {
        const auto merge = [&] { replica.merge_call([](CrossReplicaContext&) {}); };
        std::unique_lock lock(mutex, std::defer_lock);
        if (replica.replica_id() == odd) lock.lock();
        merge();
        if (!lock) lock.lock();
        merge();
      });
    });
    EXPECT_THAT(text, AllOf(HasSubstr("a mutex that replica " + std::to_string(odd) +
                                      " has locked at " + at(line)),
                            HasSubstr("is locked again at " + at(line + 2) + " by replica ")));
  }
}

TEST(WatchedLocks, OfTheProgramAroundARunAreNamed) {
  Backend backend{{.devices = kReplicas}};
  MirroredStrategy strategy{backend};
  std::mutex mutex;
  const int line = __LINE__ + 2;
  const std::string text = error_of([&] {
    const std::lock_guard lock(mutex);
    strategy.run([&](ReplicaContext&) { const std::lock_guard again(mutex); });
  });
  EXPECT_THAT(text, AllOf(HasSubstr("a mutex that the program has locked at " + at(line)),
                          HasSubstr("locked again at " + at(line + 1) + " by replica ")));
}

TEST(WatchedLocks, ThatEndAreNoErrors) {
  Backend backend{{.devices = kReplicas}};
  MirroredStrategy strategy{backend};
  std::mutex mutex;
  std::recursive_mutex recursive;
  std::set<int> seen;
  strategy.run([&](ReplicaContext& replica) {
    const std::scoped_lock outer(recursive);
    const std::scoped_lock inner(recursive);
    {
      const std::lock_guard lock(mutex);
      seen.insert(replica.replica_id());
    }
    auto y = Tensor<float>::full({1}, 1.0F);
    launch(Locks{&mutex}, updates(y));
    EXPECT_EQ(y.item(), 5);
  });
  EXPECT_THAT(seen, ElementsAre(0, 1, 2));
  // Owners of a mutex have errors of their own.
  std::unique_lock lock(mutex);
  EXPECT_THROW(lock.lock(), std::system_error);
}

// The mutex is locked in some schedules for ever, and in others not.
TEST(WatchedLocks, ThatSomeSchedulesNeverEndAreRefuted) {
  const Verdict verdict = explore({.devices = kReplicas}, [](Backend& backend) {
    std::mutex mutex;
    return held_across_launch(backend, mutex, 0);
  });
  EXPECT_EQ(verdict.level(), VerdictLevel::kRefuted) << explain(verdict);
}

}  // namespace
}  // namespace belfry::sim::watched_locks_test
