// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/testing/rendezvous_baselines.h"

#include "backend/stack_pool.h"
#include "backend/testing/paired.h"

#include <boost/context/detail/fcontext.hpp>
#include <sched.h>

#include <barrier>
#include <condition_variable>
#include <latch>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

namespace belfry::testing {
namespace {

using boost::context::detail::fcontext_t;
using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;
using boost::context::detail::transfer_t;

// Keeps the calling thread, and threads started by the calling thread, on the first CPU it may use.
class PinnedScope {
 public:
  explicit PinnedScope(Cpus cpus) : pinned_(cpus == Cpus::kOne) {
    if (!pinned_) return;
    ::sched_getaffinity(0, sizeof(before_), &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (!CPU_ISSET(cpu, &before_)) continue;
      CPU_SET(cpu, &one);
      break;
    }
    ::sched_setaffinity(0, sizeof(one), &one);
  }
  ~PinnedScope() {
    if (pinned_) ::sched_setaffinity(0, sizeof(before_), &before_);
  }
  PinnedScope(const PinnedScope&) = delete;
  PinnedScope& operator=(const PinnedScope&) = delete;

 private:
  bool pinned_;
  cpu_set_t before_{};
};

double sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// Starts the threads, releases them together, and measures the time from the release to the end of
// all.
template <class Body>
double threads_seconds(int replicas, const Body& body) {
  std::latch ready(replicas + 1);
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(replicas));
  for (int i = 0; i < replicas; ++i) {
    threads.emplace_back([&, i] {
      ready.arrive_and_wait();
      body(i);
    });
  }
  ready.arrive_and_wait();
  return seconds([&] {
    for (std::thread& thread : threads) thread.join();
  });
}

void come_and_go(transfer_t transfer) {
  for (;;) transfer = jump_fcontext(transfer.fctx, nullptr);
}

// Set once, waited for once, many times over.
class Event {
 public:
  void set() {
    {
      const std::lock_guard lock(mutex_);
      set_ = true;
    }
    changed_.notify_one();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return set_; });
    set_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool set_ = false;
};

}  // namespace

double bare_switch_seconds(int replicas, int rounds) {
  detail::StackCache stacks(detail::StackPool::shared(), std::size_t{512} << 10);
  const auto count = static_cast<std::size_t>(replicas);
  stacks.promise(count);
  std::vector<detail::Stack> used(count);
  std::vector<fcontext_t> fibers(count);
  for (std::size_t i = 0; i < count; ++i) {
    used[i] = stacks.take();
    const auto bytes = static_cast<std::size_t>(used[i].high - used[i].low);
    fibers[i] = make_fcontext(used[i].high - (i % 16) * 64, bytes - 1024, come_and_go);
    fibers[i] = jump_fcontext(fibers[i], nullptr).fctx;
  }
  const double total = cpu_seconds([&] {
    for (int round = 0; round < rounds; ++round) {
      for (fcontext_t& fiber : fibers) fiber = jump_fcontext(fiber, nullptr).fctx;
    }
  });
  for (const detail::Stack& stack : used) stacks.give(stack);
  return total / rounds;
}

double condvar_seconds(int replicas, int rounds, Cpus cpus) {
  const PinnedScope pinned(cpus);
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<double> values(static_cast<std::size_t>(replicas));
  int arrived = 0;
  int round = 0;
  double result = 0;
  return threads_seconds(replicas,
                         [&](int replica) {
                           for (int i = 0; i < rounds; ++i) {
                             std::unique_lock lock(mutex);
                             values[static_cast<std::size_t>(replica)] = i + replica;
                             if (++arrived == replicas) {
                               result = sum(values);
                               arrived = 0;
                               ++round;
                               changed.notify_all();
                             } else {
                               changed.wait(lock, [&, mine = round] { return round != mine; });
                             }
                             benchmark::DoNotOptimize(result);
                           }
                         }) /
         rounds;
}

double barrier_seconds(int replicas, int rounds, Cpus cpus) {
  const PinnedScope pinned(cpus);
  std::vector<double> values(static_cast<std::size_t>(replicas));
  double result = 0;
  std::barrier barrier(replicas, [&]() noexcept { result = sum(values); });
  return threads_seconds(replicas,
                         [&](int replica) {
                           for (int i = 0; i < rounds; ++i) {
                             values[static_cast<std::size_t>(replica)] = i + replica;
                             barrier.arrive_and_wait();
                             benchmark::DoNotOptimize(result);
                           }
                         }) /
         rounds;
}

double event_pair_run_seconds(int replicas, int rounds, Cpus cpus) {
  const PinnedScope pinned(cpus);
  const auto count = static_cast<std::size_t>(replicas);
  return seconds([&] {
    std::vector<Event> go(count);
    std::vector<Event> paused(count);
    std::vector<double> values(count);
    double result = 0;
    std::vector<std::thread> threads;
    threads.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      threads.emplace_back([&, i] {
        go[i].wait();
        for (int round = 0; round < rounds; ++round) {
          values[i] = static_cast<double>(i) + round;
          paused[i].set();
          go[i].wait();
          benchmark::DoNotOptimize(result);
        }
        paused[i].set();
      });
    }
    for (int round = 0; round <= rounds; ++round) {
      for (std::size_t i = 0; i < count; ++i) {
        go[i].set();
        paused[i].wait();
      }
      result = sum(values);
    }
    for (std::thread& thread : threads) thread.join();
  });
}

}  // namespace belfry::testing
