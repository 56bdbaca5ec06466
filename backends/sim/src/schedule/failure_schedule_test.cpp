// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Errors of failed runs have the schedule, and the schedule repeats the failure (SEM-79).
#include "belfry/belfry.h"
#include "belfry/sim/backend.h"
#include "belfry/testing/asserts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace belfry::sim::failure_schedule_test {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// A run whose error depends on the order of the replicas' steps: text and tag of the error are the
// order in which five replicas get through three merges.
ErrorReport failure_under(const Options& options) {
  Backend backend(options);
  MirroredStrategy strategy(backend);
  std::mutex mutex;
  std::string order;
  try {
    strategy.run([&](ReplicaContext& replica) {
      for (int step = 0; step < 3; ++step) {
        {
          const std::lock_guard lock(mutex);
          order += std::to_string(replica.replica_id());
        }
        replica.all_reduce(ReduceOp::kSum, 1);
      }
      const std::lock_guard lock(mutex);
      if (replica.replica_id() == 2) throw InvalidArgumentError(ErrorCode::kInvalidArgument, order);
    });
  } catch (const Error& error) {
    EXPECT_EQ(backend.replay_token(), error.report().schedule.value().token);
    return error.report();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

TEST(FailureSchedule, RepeatsTheFailure) {
  belfry::testing::asserts("SEM-79");
  std::vector<std::string> orders;
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
    const ErrorReport first = failure_under({.devices = 5, .seed = seed});
    EXPECT_EQ(first.schedule->seed, seed);
    const Schedule replay = Schedule::replay(first.schedule->token);
    const ErrorReport again = failure_under({.devices = 5, .schedule = replay});
    EXPECT_EQ(again.summary, first.summary);
    EXPECT_EQ(again.schedule->token, first.schedule->token);
    orders.push_back(first.summary);
  }
  EXPECT_NE(orders[0], orders[1]);  // The order does depend on the schedule.
}

TEST(FailureSchedule, IsPartOfTheDescriptionAndNotOfTheText) {
  const ErrorReport report = failure_under({.devices = 5, .seed = 41});
  EXPECT_THAT(to_string(report), Not(HasSubstr("41")));
  EXPECT_EQ(describe(report),
            to_string(report) + "\n  seed: 41\n  replay: " + report.schedule->token);
  EXPECT_THAT(report.schedule->token, StartsWith("bf1."));
}

TEST(FailureSchedule, IsInTheLastFailureOfAUsersException) {
  belfry::testing::asserts("SEM-79");
  Backend backend{{.devices = 2, .seed = 5}};
  MirroredStrategy strategy(backend);
  const auto body = [](ReplicaContext&) { throw std::runtime_error("mine"); };
  EXPECT_THROW(strategy.run(body), std::runtime_error);
  const ErrorReport& last = strategy.last_failure().value();
  EXPECT_EQ(last.schedule.value().seed, 5U);
  EXPECT_EQ(last.schedule->token, backend.replay_token());
}

// A run in a merge ends before the run around it: the error of the outer run has all choices.
TEST(FailureSchedule, OfANestedRunReachesTheEndOfTheOuterRun) {
  Backend backend{{.devices = 3, .seed = 9}};
  MirroredStrategy strategy(backend);
  try {
    strategy.run([&](ReplicaContext& replica) {
      replica.merge_call([&](CrossReplicaContext&) {
        strategy.run([](ReplicaContext& inner) {
          if (inner.replica_id() == 1) inner.merge_call([](CrossReplicaContext&) {});
        });
      });
    });
    FAIL() << "nothing was thrown";
  } catch (const MergeMismatchError& error) {
    EXPECT_EQ(error.report().schedule.value().token, backend.replay_token());
  }
}

// The hook works on a device after the failure of its replicas, and the work asks the Chooser.
class WorksAfterFailures final : public Strategy {
 public:
  explicit WorksAfterFailures(Backend& backend)
      : Strategy(backend, {}, CallSite::here()), place_{&backend, 0} {}

 private:
  void do_run(StrategyStep& step) override {
    try {
      Strategy::do_run(step);
    } catch (...) {
      for (int i = 0; i < 3; ++i) Tensor<float>::full({1}, 1.0F, place_).to_host();
      throw;
    }
  }

  Placement place_;
};

TEST(FailureSchedule, OfTheErrorAndOfTheLastFailureIsTheScheduleAtTheEndOfTheRun) {
  belfry::testing::asserts("SEM-79");
  Backend backend{{.devices = 2, .seed = 5}};
  WorksAfterFailures strategy(backend);
  std::array<std::string, 2> before;
  try {
    strategy.run([&](ReplicaContext& replica) {
      replica.all_reduce(ReduceOp::kSum, 1);
      before.at(replica.replica_id()) = backend.replay_token();
      throw InvalidArgumentError(ErrorCode::kInvalidArgument, "mine");
    });
    FAIL() << "nothing was thrown";
  } catch (const InvalidArgumentError& error) {
    const std::string token = backend.replay_token();
    for (const std::string& of_replica : before) {
      EXPECT_GT(token.size(), of_replica.size());  // The hook did make choices.
    }
    EXPECT_EQ(error.report().schedule.value().token, token);
    EXPECT_EQ(strategy.last_failure()->schedule.value().token, token);
  }
}

std::optional<ScheduleReport> schedule_of_failure(const Options& options) {
  Backend backend(options);
  MirroredStrategy strategy(backend);
  const auto body = [](ReplicaContext& replica) {
    replica.all_reduce(ReduceOp::kSum, 1);
    if (replica.replica_id() == 0) replica.all_reduce(ReduceOp::kSum, 1);
  };
  try {
    strategy.run(body);
  } catch (const MergeMismatchError& error) {
    return error.report().schedule;
  }
  return std::nullopt;
}

// No token is better than a token that repeats another run.
TEST(FailureSchedule, HasNoTokenOfARunThatCannotBeRepeated) {
  belfry::testing::asserts("SEM-79");
  for (const Options& options :
       {Options{.devices = 3, .record = false, .seed = 8},
        Options{.devices = 3, .record_limit = 1, .seed = 8},
        Options{.devices = 3, .carrier = Carrier::kConcurrent, .seed = 8}}) {
    SCOPED_TRACE(to_string(options));
    const auto schedule = schedule_of_failure(options);
    ASSERT_TRUE(schedule);
    EXPECT_EQ(schedule->seed, 8U);
    EXPECT_EQ(schedule->token, "");
    EXPECT_THAT(describe({.code = ErrorCode::kInternal,
                          .summary = "s",
                          .site = {},
                          .replicas = {},
                          .expected = {},
                          .hint = {},
                          .schedule = schedule}),
                EndsWith("\n  seed: 8"));
  }
}

}  // namespace
}  // namespace belfry::sim::failure_schedule_test
