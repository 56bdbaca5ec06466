// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Several host threads in one engine.
#include "belfry/error.h"
#include "engine/engine.h"
#include "engine/testing/engine_world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <optional>
#include <thread>
#include <utility>

namespace belfry::engine::engine_threads_test {
namespace {

using engine::testing::EngineWorld;
using ::testing::ElementsAre;

// Signals the first wait of a host. The host holds the engine from the report to its sleep.
class FirstHostWait final : public OperationSink {
 public:
  void on_operation(const Operation& operation) override {
    if (operation.kind == OperationKind::kHostWait && !std::exchange(told_, true)) {
      begun_.set_value();
    }
  }
  void await() { begun_.get_future().wait(); }

 private:
  bool told_ = false;
  std::promise<void> begun_;
};

// The engine's knowledge of threads that do not wait.
enum class Others : std::uint8_t {
  kMayEnqueue,  // There is another thread.
  kEnqueueNow,  // No other thread is counted, but one is enqueuing.
};

// A thread that waits for a collective after the first of its two members.
class WaitingThread {
 public:
  explicit WaitingThread(Others others = Others::kMayEnqueue) {
    if (others == Others::kEnqueueNow) enqueuing.emplace(*world.engine);
    if (others == Others::kMayEnqueue) world.engine->set_host_threads(2);
    collective->command = world.work("all_reduce");
    thread_ = std::thread([this] {
      world.engine->join(world.queue(0), collective, 0);
      try {
        world.engine->synchronize(world.queue(0));
        ended_.set_value(std::nullopt);
      } catch (const Error& error) {
        ended_.set_value(error.code());
      }
    });
    sink.await();
  }
  ~WaitingThread() {
    // Wakes a thread that a test has failed to wake.
    world.engine->join(world.queue(1), std::make_shared<Collective>(2), 0);
    world.engine->set_host_threads(1);
    enqueuing.reset();
    thread_.join();
  }
  WaitingThread(const WaitingThread&) = delete;
  WaitingThread& operator=(const WaitingThread&) = delete;

  /// Whether the wait ends with this code, or without an error. The time limit ends the test of an
  /// engine that never wakes the thread.
  bool ends_with(std::optional<ErrorCode> code) {
    auto ended = ended_.get_future();
    return ended.wait_for(std::chrono::seconds(20)) == std::future_status::ready &&
           ended.get() == code;
  }

  FirstHostWait sink;
  EngineWorld world{2, {.sink = &sink}};
  std::optional<Engine::Enqueuing> enqueuing;
  CollectivePtr collective = std::make_shared<Collective>(2);

 private:
  std::promise<std::optional<ErrorCode>> ended_;
  std::thread thread_;
};

TEST(EngineThreads, AThreadThatSleepsHearsOfWhatAnotherEnqueues) {
  WaitingThread waiting;
  waiting.world.engine->join(waiting.world.queue(1), waiting.collective, 1);
  EXPECT_TRUE(waiting.ends_with(std::nullopt));
  EXPECT_THAT(waiting.world.done, ElementsAre("all_reduce"));
}

TEST(EngineThreads, TheLastThreadThatIsLeftHearsThatItWaitsForNobody) {
  WaitingThread waiting;
  waiting.world.engine->set_host_threads(1);
  EXPECT_TRUE(waiting.ends_with(ErrorCode::kDeadlock));
}

TEST(EngineThreads, AWaitIsNoDeadlockWhileAThreadEnqueues) {
  WaitingThread waiting(Others::kEnqueueNow);
  waiting.world.engine->join(waiting.world.queue(1), waiting.collective, 1);
  waiting.enqueuing.reset();
  EXPECT_TRUE(waiting.ends_with(std::nullopt));
  EXPECT_THAT(waiting.world.done, ElementsAre("all_reduce"));
}

TEST(EngineThreads, AWaitIsADeadlockOnceAThreadHasEnqueuedTooLittle) {
  WaitingThread waiting(Others::kEnqueueNow);
  waiting.enqueuing.reset();
  EXPECT_TRUE(waiting.ends_with(ErrorCode::kDeadlock));
}

TEST(EngineThreads, AHostThreadWaitsForWhatAnotherEnqueues) {
  EngineWorld world(2);
  world.engine->set_host_threads(2);
  const auto collective = std::make_shared<Collective>(2);
  collective->command = world.work("all_reduce");
  std::thread other([&] {
    world.engine->join(world.queue(1), collective, 1);
    world.engine->synchronize(world.queue(1));
  });
  world.engine->join(world.queue(0), collective, 0);
  world.engine->synchronize(world.queue(0));
  other.join();
  EXPECT_THAT(world.done, ElementsAre("all_reduce"));
}

TEST(EngineThreads, HostThreadsThatWaitForEachOtherAllLearnOfIt) {
  EngineWorld world(2);
  world.engine->set_host_threads(2);
  const auto wait_for_half = [&](int queue) {
    const auto collective = std::make_shared<Collective>(2);
    collective->command = world.work("all_reduce");
    world.engine->join(world.queue(queue), collective, 0);
    EXPECT_THROW(world.engine->synchronize(world.queue(queue)), DeviceError);
  };
  std::thread other(wait_for_half, 1);
  wait_for_half(0);
  other.join();
}

TEST(EngineThreads, ForOneThreadRefusesASecondThatComesIn) {
  EngineWorld world(1, {.threads = false});
  std::promise<void> inside;
  std::promise<void> refused;
  Command slow = world.work("slow");
  slow.run = [&](const Command&) {
    inside.set_value();
    refused.get_future().wait();
  };
  world.engine->enqueue(world.queue(0), std::move(slow));
  std::thread first([&] { world.engine->synchronize(world.queue(0)); });
  inside.get_future().wait();
  const std::function<void()> calls[] = {
      [&] { world.enqueue(0, "refused"); },
      [&] { world.engine->synchronize(world.queue(0)); },
      [&] { world.engine->query(world.queue(0)); },
      [&] { world.engine->tell({.kind = OperationKind::kAllocate}); },
  };
  for (const auto& call : calls) {
    ErrorCode code{};
    try {
      call();
    } catch (const ContextError& error) {
      code = error.code();
    }
    EXPECT_EQ(code, ErrorCode::kStrategyBusy);
  }
  refused.set_value();
  first.join();
  world.enqueue(0, "later");
  world.engine->synchronize(world.queue(0));
  EXPECT_THAT(world.done, ElementsAre("later"));
}

}  // namespace
}  // namespace belfry::engine::engine_threads_test
