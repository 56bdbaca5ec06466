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
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

namespace belfry::testing::watchdog_test {
namespace {

using ::testing::Each;

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

}  // namespace
}  // namespace belfry::testing::watchdog_test
