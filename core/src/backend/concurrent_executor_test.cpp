// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/testing/scripted_job.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <set>
#include <thread>

namespace belfry::concurrent_executor_test {
namespace {

using testing::ScriptedJob;

TEST(ConcurrentExecutor, AllReplicasRunAtOnce) {
  const auto executor = make_concurrent_executor({});
  std::latch all(4);
  std::atomic<int> passed = 0;
  // Replicas that run in turn would wait here for ever.
  ScriptedJob job(*executor, 4, [&](ScriptedJob&, int) {
    all.arrive_and_wait();
    ++passed;
  });
  job.run();
  EXPECT_EQ(passed, 4);
}

TEST(ConcurrentExecutor, ThreadsAreKeptBetweenRuns) {
  const auto executor = make_concurrent_executor({});
  std::mutex mutex;
  std::set<std::thread::id> threads;
  for (int i = 0; i < 5; ++i) {
    ScriptedJob job(*executor, 3, [&](ScriptedJob& self, int replica) {
      self.meet(replica);
      const std::lock_guard lock(mutex);
      threads.insert(std::this_thread::get_id());
    });
    job.run(i % 2 == 0);
  }
  EXPECT_EQ(threads.size(), 3U);
}

TEST(ConcurrentExecutor, AReplicaMayOpenTheGateOfAnother) {
  const auto executor = make_concurrent_executor({});
  Gate gate;
  std::atomic<bool> released = false;
  ScriptedJob job(*executor, 2, [&](ScriptedJob& self, int replica) {
    if (replica == 0) {
      self.wait_at(replica, gate);
      released = true;
    }
    // Early calls may find the gate without a waiting replica.
    while (replica == 1 && !released) {
      executor->open(gate);
      std::this_thread::yield();
    }
  });
  job.run();
  EXPECT_TRUE(job.deadlocks.empty());
  EXPECT_TRUE(released);
}

}  // namespace
}  // namespace belfry::concurrent_executor_test
