// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/testing/watchdog.h"

#include "belfry/backend/stall_watch.h"
#include "belfry/belfry.h"
#include "belfry/sim/backend.h"
#include "belfry/testing/thread_group.h"
#include "sanitizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

namespace belfry::testing::watchdog_test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::KilledBySignal;
using ::testing::Not;

constexpr CallSite kSite{"train.cc", 41};

// The environment variable, for the lifetime of the object.
class Variable {
 public:
  explicit Variable(const char* value) { ::setenv(kName, value, 1); }
  ~Variable() { ::unsetenv(kName); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  static constexpr const char* kName = "BELFRY_WATCHDOG_S";
};

TEST(Watchdog, HasTheLimitOfTheEnvironment) {
  EXPECT_EQ(watchdog_options().limit_s, 120);
  const auto limit_of = [](const char* word) {
    const Variable set(word);
    return watchdog_options().limit_s;
  };
  EXPECT_EQ(limit_of(""), 120);
  EXPECT_EQ(limit_of("2.5"), 2.5);
  EXPECT_EQ(limit_of("0"), 0);
  for (const char* const word : {"soon", "1s", "-1", "1e300", "nan", " 1"}) {
    const Variable set(word);
    EXPECT_THROW(watchdog_options(), std::invalid_argument) << word;
  }
}

TEST(Watchdog, RefusesALimitThatIsNoTime) {
  EXPECT_THROW(Watchdog({.limit_s = -1}), std::invalid_argument);
  EXPECT_THROW(Watchdog({.limit_s = std::numeric_limits<double>::quiet_NaN()}),
               std::invalid_argument);
  EXPECT_EQ(stall_watch(), nullptr);
}

TEST(Watchdog, IsOfTheThreadAndOfTheInnermostScope) {
  EXPECT_EQ(Watchdog::options_of_thread().limit_s, 0);
  {
    const Watchdog outer({.limit_s = 30});
    EXPECT_EQ(Watchdog::options_of_thread().limit_s, 30);
    {
      const Watchdog inner({.limit_s = 40});
      EXPECT_EQ(Watchdog::options_of_thread().limit_s, 40);
    }
    {
      const Watchdog off({.limit_s = 0});
      EXPECT_EQ(stall_watch(), nullptr);
    }
    EXPECT_EQ(Watchdog::options_of_thread().limit_s, 30);
  }
  EXPECT_EQ(stall_watch(), nullptr);
}

TEST(Watchdog, IsHandedToTheThreadsOfAGroup) {
  const Watchdog watchdog({.limit_s = 30});
  std::vector<double> limits(3);
  run_processes(3, [&](ProcessGroup& group) {
    limits[static_cast<std::size_t>(group.rank())] = Watchdog::options_of_thread().limit_s;
  });
  EXPECT_THAT(limits, Each(30.0));
}

TEST(Watchdog, ChangesNoLogAndNoToken) {
  const auto run = [] {
    sim::Backend backend{{.devices = 3, .seed = 5}};
    MirroredStrategy strategy{backend};
    strategy.run([](ReplicaContext& replica) {
      const auto own = Tensor<float>::full({4}, static_cast<float>(replica.replica_id()));
      return replica.all_reduce(ReduceOp::kSum, own).to_host();
    });
    return std::pair(backend.hash(), backend.replay_token());
  };
  const auto expected = run();
  const Watchdog watchdog({.limit_s = 30});
  EXPECT_EQ(run(), expected);
}

// The exit code of a process, with or without a debugger, whose replica takes no step for six
// limits.
int code_of_slow_process(bool traced) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (traced) ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    const Watchdog watchdog({.limit_s = 0.1});
    sim::Backend backend{{.devices = 1}};
    MirroredStrategy strategy{backend};
    strategy.run([](ReplicaContext&) {
      const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(600);
      while (std::chrono::steady_clock::now() < end) {
      }
    });
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Watchdog, IsOffInADebugger) {
  if (kDelaysSignals) GTEST_SKIP() << "ThreadSanitizer starts no threads after a fork";
  EXPECT_EQ(code_of_slow_process(true), 0);
  EXPECT_EQ(code_of_slow_process(false), kStallExitCode);
}

// Uses the whole stack, page by page. Each frame reads the frame above: no compiler can make a loop
// of the recursion.
__attribute__((noinline)) int use_stack(int pages, volatile char* above = nullptr) {
  volatile char page[3800];
  page[0] = above == nullptr ? 1 : *above;
  page[sizeof(page) - 1] = 1;
  return (pages > 1 ? use_stack(pages - 1, page) : 0) + page[0];
}

void overflow(sim::Carrier carrier) {
  const Watchdog watchdog({.limit_s = 30});
  sim::Backend backend{{.devices = 3,
                        .schedule = sim::Schedule::fixed(),
                        .carrier = carrier,
                        .stack_bytes = std::size_t{64} << 10}};
  MirroredStrategy strategy{backend};
  strategy.run([](ReplicaContext& replica) {
    replica.all_reduce(ReduceOp::kSum, 1, detail::MergePlace(kSite));
    if (replica.replica_id() == 1) use_stack(1000);
    replica.all_reduce(ReduceOp::kSum, 1);
  });
}

class OverflowDeathTest : public ::testing::Test {
 protected:
  OverflowDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
  void SetUp() override {
    if (kReportsFaults) GTEST_SKIP() << "the sanitizer reports stack overflows itself";
  }
};

TEST_F(OverflowDeathTest, OnAFiberNamesTheReplicaAndTheStack) {
  EXPECT_EXIT(overflow(sim::Carrier::kFiber), KilledBySignal(SIGSEGV),
              AllOf(HasSubstr("BF-067 replica 1 used more stack than the 64 KiB it has"),
                    HasSubstr("after merge #1, train.cc:41"),
                    HasSubstr("ask for larger stacks (stack_bytes")));
}

TEST_F(OverflowDeathTest, IsNotReportedForAnyOtherFault) {
  const auto writes_to_null = [] {
    const Watchdog watchdog({.limit_s = 30});
    sim::Backend backend{{.devices = 2}};
    MirroredStrategy strategy{backend};
    strategy.run([](ReplicaContext&) { *static_cast<volatile int*>(nullptr) = 1; });
  };
  EXPECT_EXIT(writes_to_null(), KilledBySignal(SIGSEGV), Not(HasSubstr("more stack")));
}

}  // namespace
}  // namespace belfry::testing::watchdog_test
