// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The requirements, messages and limits of compare_functions.
#include "belfry/testing/compare_functions.h"

#include "belfry/testing/asserts.h"
#include "captures_support_test.h"

#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace belfry::testing::compare_functions_test {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

// The first program of the README, with the gradient captured instead of brought and reduced.
TEST(CompareFunctions, NamesTheLineOfTheMergeAndTheFormToWrite) {
  testing::asserts("SEM-136");
  int line = 0;
  const auto body = [&](sim::Backend& backend) {
    MirroredStrategy strategy{backend};
    auto weight = strategy.mirrored_variable(10.0);
    return strategy.run([&](ReplicaContext& replica) {
      const double gradient = 1.0 + replica.replica_id();
      if (replica.replica_id() == 0) line = __LINE__ + 1;
      replica.merge_call([&](CrossReplicaContext& cross) {
        cross.update(weight, [gradient](double& w) { w -= gradient; });
      });
      return weight.on(replica) * gradient;
    });
  };
  try {
    compare_functions({.devices = 2, .seed = 7}, body);
    FAIL() << "no finding";
  } catch (const InvalidArgumentError& error) {
    const ErrorReport& report = error.report();
    EXPECT_EQ(report.code, ErrorCode::kCapturedValue);
    EXPECT_EQ(report.site.line, line);
    EXPECT_THAT(report.site.file, EndsWith("compare_functions_test.cpp"));
    EXPECT_EQ(report.summary,
              "with the functions of replica 1 values differ after merge #1 of run 1");
    ASSERT_EQ(report.replicas.size(), 2u);
    // 10 - 1 and 10 - 2, times the replica's gradient.
    EXPECT_EQ(report.replicas[0].what, "with its functions the body returns {9, 18}");
    EXPECT_EQ(report.replicas[1].what, "with its functions the body returns {8, 16}");
    EXPECT_EQ(report.expected, "the same values whichever replica's functions the merges take");
    EXPECT_THAT(report.hint, HasSubstr("bring captured values as arguments of the merge"));
  }
}

TEST(CompareFunctions, RunsReplica0sFunctionsTwiceAndEveryOtherReplicasOnce) {
  std::vector<int> functions_of;
  compare_functions({.devices = 4, .functions_of = 3}, [&](sim::Backend& backend) {
    functions_of.push_back(backend.options().functions_of);
  });
  EXPECT_THAT(functions_of, ::testing::ElementsAre(0, 0, 1, 2, 3));
}

TEST(CompareFunctions, SaysThatABodyIsNotDeterministic) {
  testing::asserts("SEM-136");
  int runs = 0;
  const auto counting = [&](MirroredStrategy& strategy) {
    const int run = ++runs;
    return strategy.run(
        [run](ReplicaContext& replica) { return replica.all_reduce(ReduceOp::kSum, run); })[0];
  };
  const auto report = finding({.devices = 2}, counting);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->code, ErrorCode::kNotDeterministic);
  EXPECT_THAT(report->summary, EndsWith("functions of replica 0 differ before the first merge"));
  EXPECT_EQ(runs, 2);
  // Only the result shows the difference.
  const auto result = finding({.devices = 2}, [&](MirroredStrategy&) { return ++runs; });
  ASSERT_TRUE(result);
  EXPECT_EQ(result->code, ErrorCode::kNotDeterministic);
  EXPECT_THAT(result->summary, HasSubstr("in the result of the body"));
}

TEST(CompareFunctions, RethrowsExceptionsOfTheBody) {
  testing::asserts("SEM-136");
  const auto throwing = [](sim::Backend&) { throw std::out_of_range("label 12"); };
  EXPECT_THROW(compare_functions({.devices = 2}, throwing), std::out_of_range);
}

// Replica 2 stops the body with the same error, whichever function runs.
TEST(CompareFunctions, LetsABodyPassThatHandlesItsErrors) {
  expect_none([](MirroredStrategy& strategy) {
    try {
      strategy.run([](ReplicaContext& replica) {
        if (replica.replica_id() == 2) throw std::out_of_range("label 12");
        replica.all_reduce(ReduceOp::kSum, 1);
      });
    } catch (const std::out_of_range& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  });
}

template <class Body>
ErrorReport refusal(const sim::Options& options, const Body& body) {
  try {
    compare_functions(options, body);
  } catch (const InvalidArgumentError& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    return error.report();
  }
  ADD_FAILURE() << "not refused";
  return {};
}

TEST(CompareFunctions, RefusesWhatItCannotCompare) {
  const auto nothing = [](sim::Backend&) {};
  EXPECT_THAT(refusal({.devices = 1}, nothing).summary, HasSubstr("fewer than two replicas"));
  EXPECT_THAT(refusal({.devices = 2, .carrier = sim::Carrier::kBaton}, nothing).summary,
              HasSubstr("fibers alone"));
  EXPECT_THAT(refusal({.devices = 2, .carrier = sim::Carrier::kConcurrent}, nothing).summary,
              HasSubstr("fibers alone"));
  sim::Options replayed{.devices = 2};
  replayed.schedule.kind = sim::ScheduleKind::kReplayed;
  EXPECT_THAT(refusal(replayed, nothing).summary, HasSubstr("replayed schedule"));
}

// 2^20 operations are kept at least; three a replica and merge, and the merge, are made.
TEST(CompareFunctions, RefusesALogThatIsTooLong) {
  const auto longest = [](sim::Backend& backend) {
    MirroredStrategy strategy{backend};
    strategy.run([](ReplicaContext& replica) {
      for (int round = 0; round < (1 << 20) / 5 + 1; ++round) {
        replica.merge_call([](CrossReplicaContext&) {});
      }
    });
  };
  const ErrorReport report = refusal({.devices = 2}, longest);
  EXPECT_THAT(report.summary, HasSubstr("of which 1048576 are kept"));
  EXPECT_THAT(report.hint, HasSubstr("Options::record_limit"));
}

TEST(CompareFunctions, TakesANaNAsEqualToItself) {
  expect_none([](MirroredStrategy& strategy) {
    return strategy.run([](ReplicaContext&) { return std::numeric_limits<double>::quiet_NaN(); });
  });
  expect_none([](MirroredStrategy&) {
    return std::vector<double>{1, std::numeric_limits<double>::quiet_NaN()};
  });
}

}  // namespace
}  // namespace belfry::testing::compare_functions_test
