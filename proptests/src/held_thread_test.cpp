// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "held_thread.h"

#include "sanitizer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>

namespace belfry::testing::held_thread_test {
namespace {

// A thread that counts until it is told to end.
class Counter {
 public:
  ~Counter() {
    ends_ = true;
    thread_.join();
  }
  pthread_t handle() { return thread_.native_handle(); }
  std::uint64_t count() const { return count_; }
  void wait_for_more() const {
    const std::uint64_t before = count_;
    while (count_ == before) {
    }
  }

 private:
  std::atomic<bool> ends_{false};
  std::atomic<std::uint64_t> count_{0};
  std::thread thread_{[this] {
    while (!ends_) ++count_;
  }};
};

TEST(HeldThread, StandsStillAndGoesOnAgain) {
  Counter counter;
  counter.wait_for_more();
  for (int i = 0; i < 200; ++i) {
    {
      const HeldThread held(counter.handle());
      ASSERT_EQ(held.is_held(), !kDelaysSignals);
      if (!held.is_held()) return;
      EXPECT_FALSE(held.calls().empty());
      const std::uint64_t count = counter.count();
      for (int k = 0; k < 1000; ++k) ASSERT_EQ(counter.count(), count);
    }
    counter.wait_for_more();
  }
}

TEST(HeldThread, IsFoundInAWaitOfTheSystem) {
  if (kDelaysSignals) GTEST_SKIP() << "ThreadSanitizer delays signals: no thread is held";
  std::atomic<bool> ends{false};
  std::thread waiting([&] { ends.wait(false); });
  for (int i = 0; i < 20; ++i) {
    const HeldThread held(waiting.native_handle());
    EXPECT_TRUE(held.is_held());
  }
  ends = true;
  ends.notify_all();
  waiting.join();
}

}  // namespace
}  // namespace belfry::testing::held_thread_test
