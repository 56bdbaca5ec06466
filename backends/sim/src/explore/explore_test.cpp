// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/sim/explore.h"

#include "belfry/belfry.h"
#include "belfry/sim/cluster.h"
#include "belfry/sim/verdict_json.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/certified.h"
#include "testing/broken_conditions.h"
#include "testing/host_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace belfry::sim::explore_test {
namespace {

using ::testing::AllOf;
using testing::broken_conditions;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using testing::HostMemory;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::Not;
using ::testing::SizeIs;

const Options kTwo{.devices = 2, .seed = 7};

// Host memory is watched, and without a conflict unless a test writes a report.
class Explore : public ::testing::Test {
 protected:
  Explore() { host_.reset(); }

  HostMemory& host_ = HostMemory::attached();
};

double captured(Backend& backend) {
  MirroredStrategy strategy{backend};
  double total = 0;
  strategy.run([&](ReplicaContext& replica) { total = 10 * total + replica.replica_id(); });
  return total;
}

double reduced_by_one(Backend& backend) {
  MirroredStrategy strategy{backend};
  return strategy.run(
      [](ReplicaContext& replica) { return replica.all_reduce(ReduceOp::kSum, 0.5); })[0];
}

double reduced(Backend& backend) {
  MirroredStrategy strategy{backend};
  return strategy.run([](ReplicaContext& replica) {
    return replica.all_reduce(ReduceOp::kSum, replica.replica_id() + 1.5);
  })[1];
}

TEST_F(Explore, CertifiesAReduction) {
  belfry::testing::asserts("SEM-191");
  const Verdict verdict = explore(kTwo, reduced);
  EXPECT_CERTIFIED(verdict);
  // The serial schedule and its reverse differ. Replicas have two orders before the merge, and two
  // after.
  EXPECT_THAT(verdict.report().schedules, AllOf(Ge(2), Le(4)));
  ASSERT_THAT(verdict.report().outcomes, SizeIs(1));
  EXPECT_EQ(verdict.report().outcomes[0].outcome, "4");
  EXPECT_EQ(to_string(verdict), "CERTIFIED");
  EXPECT_THAT(verdict.report().conditions, SizeIs(9));
}

TEST_F(Explore, CertifiesAnException) {
  belfry::testing::asserts("SEM-190");
  for (int odd = 0; odd < 3; ++odd) {
    const Verdict verdict = explore({.devices = 3}, [odd](Backend& backend) {
      MirroredStrategy strategy{backend};
      strategy.run([odd](ReplicaContext& replica) {
        if (replica.replica_id() == odd) throw std::runtime_error("of " + std::to_string(odd));
        replica.merge_call([](CrossReplicaContext&) {});
      });
    });
    EXPECT_VERDICT(verdict, kCertified);
    EXPECT_EQ(verdict.report().outcomes.at(0).outcome, "an exception: of " + std::to_string(odd));
    EXPECT_TRUE(verdict.report().outcomes.at(0).threw);
    const auto certified = belfry::testing::is_certified(verdict);
    EXPECT_FALSE(certified);
    EXPECT_THAT(certified.message(), HasSubstr("the body throws in every schedule"));
  }
}

// The exception of the lowest replica leaves the run in every schedule (SEM-6).
TEST_F(Explore, CertifiesTheExceptionOfTheLowestReplicaIfAllThrow) {
  belfry::testing::asserts("SEM-190");
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const Verdict verdict = explore({.devices = 3, .seed = seed}, [](Backend& backend) {
      MirroredStrategy strategy{backend};
      strategy.run([](ReplicaContext& replica) {
        throw std::runtime_error("of replica " + std::to_string(replica.replica_id()));
      });
    });
    EXPECT_VERDICT(verdict, kCertified);
    EXPECT_EQ(verdict.report().outcomes.at(0).outcome, "an exception: of replica 0");
    EXPECT_FALSE(belfry::testing::is_certified(verdict));
  }
}

TEST_F(Explore, ComparesBitsOfNumbers) {
  belfry::testing::asserts("SEM-190");
  const auto nan = [](Backend&) { return std::numeric_limits<double>::quiet_NaN(); };
  EXPECT_EQ(explore(kTwo, nan).level(), VerdictLevel::kCertified);
  int runs = 0;
  const auto zero = [&](Backend&) { return runs++ == 0 ? 0.0 : -0.0; };
  EXPECT_EQ(explore(kTwo, zero).level(), VerdictLevel::kNone);
  const auto text = [](Backend&) { return std::map<std::string, std::string>{{"a", "b"}}; };
  EXPECT_EQ(explore(kTwo, text).level(), VerdictLevel::kCertified);
}

TEST_F(Explore, HasNoVerdictWithoutRepeats) {
  belfry::testing::asserts("SEM-191");
  int runs = 0;
  const Verdict outcome = explore(kTwo, [&](Backend&) { return ++runs; });
  EXPECT_EQ(outcome.level(), VerdictLevel::kNone);
  // The second run is that of the serial schedule.
  EXPECT_THAT(outcome.report().difference, HasSubstr("the outcomes are 1 and 3"));
  EXPECT_THAT(outcome.report().conditions, IsEmpty());
  const Verdict operations = explore(kTwo, [&](Backend& backend) {
    MirroredStrategy strategy{backend};
    const int merges = ++runs;
    strategy.run([&](ReplicaContext& replica) {
      for (int i = 0; i < merges; ++i) replica.merge_call([](CrossReplicaContext&) {});
    });
  });
  EXPECT_EQ(operations.level(), VerdictLevel::kNone);
  EXPECT_THAT(explain(operations), HasSubstr("end"));
}

// State of later runs looks like a schedule with an outcome of its own.
TEST_F(Explore, RefutesNothingThatDoesNotRepeat) {
  belfry::testing::asserts("SEM-195");
  host_.report.unseen = {"library_function"};
  int runs = 0;
  const Verdict verdict = explore(kTwo, [&](Backend&) { return ++runs > 3; });
  EXPECT_EQ(verdict.level(), VerdictLevel::kNone);
}

TEST_F(Explore, RefutesWithTwoTokens) {
  belfry::testing::asserts("SEM-195");
  host_.report.conflicts = {{nullptr, 8, {{}, true, nullptr, {}}, {{}, true, nullptr, {}}}};
  const Verdict verdict = explore(kTwo, captured);
  ASSERT_EQ(verdict.level(), VerdictLevel::kRefuted) << explain(verdict);
  ASSERT_THAT(verdict.tokens(), SizeIs(2));
  std::vector<double> outcomes;
  for (const std::string& token : verdict.tokens()) {
    Options options = kTwo;
    options.schedule = Schedule::replay(token);
    Backend backend{options};
    outcomes.push_back(captured(backend));
  }
  std::ranges::sort(outcomes);
  EXPECT_THAT(outcomes, ElementsAre(1.0, 10.0));  // Replica 1 last, or replica 0 last.
  EXPECT_THAT(explain(verdict), HasSubstr("user.cpp:5"));
}

// Two of three replicas write the same number to a buffer of a device.
TEST_F(Explore, CallsUnorderedAccessesWithASingleOutcomeRacy) {
  belfry::testing::asserts("SEM-191");
  for (int odd = 0; odd < 3; ++odd) {
    const Verdict verdict = explore({.devices = 3}, [odd](Backend& backend) {
      MirroredStrategy strategy{backend};
      const auto stream = backend.device(odd).create_stream();
      const BufferView view = view_of(backend.device(odd).allocate(4, *stream), DType::kInt32);
      strategy.run([&](ReplicaContext& replica) {
        const int same = 5;
        if (replica.replica_id() != odd) stream->write(view, &same);
      });
      int value = 0;
      stream->read(&value, view);
      return value;
    });
    EXPECT_EQ(verdict.level(), VerdictLevel::kRacy) << explain(verdict);
    EXPECT_THAT(broken_conditions(verdict), ElementsAre("device bytes have an order"));
    EXPECT_EQ(verdict.report().outcomes.at(0).outcome, "5");
    ASSERT_THAT(verdict.report().races, SizeIs(1));
    const Race& race = verdict.report().races[0];
    EXPECT_EQ(race.subject, "buffer 1 of H0");
    std::vector<std::string> agents{race.first.agent, race.second.agent};
    std::ranges::sort(agents);
    EXPECT_EQ(agents[0], odd == 0 ? "R1 of run 1" : "R0 of run 1");
    EXPECT_EQ(agents[1], odd == 2 ? "R1 of run 1" : "R2 of run 1");
  }
}

TEST_F(Explore, TellsTheWatchWhoGoesOn) {
  belfry::testing::asserts("SEM-193");
  Options serial{.devices = 2, .schedule = Schedule::fixed()};
  (void)explore(serial, [](Backend& backend) {
    MirroredStrategy strategy{backend};
    strategy.run([](ReplicaContext& replica) { replica.merge_call([](CrossReplicaContext&) {}); });
  });
  std::vector<std::string> calls;
  for (const std::string& call : host_.calls) {
    if (call != "-" && (calls.empty() || calls.back() != call)) calls.push_back(call);
  }
  EXPECT_THAT(calls, ElementsAre("phase", "R0 of run 1", "R1 of run 1", "M0 of run 1", "phase",
                                 "R0 of run 1", "R1 of run 1", "M0 of run 1", "H0", "phase"));
}

TEST_F(Explore, HasLevelsForTests) {
  const auto of = [](VerdictLevel level) { return Verdict({.level = level}); };
  using belfry::testing::has_level;
  EXPECT_TRUE(has_level(of(VerdictLevel::kCertified), VerdictLevel::kSampled));
  EXPECT_TRUE(has_level(of(VerdictLevel::kSampled), VerdictLevel::kSampled));
  EXPECT_FALSE(has_level(of(VerdictLevel::kSampled), VerdictLevel::kCertified));
  EXPECT_FALSE(has_level(of(VerdictLevel::kRefuted), VerdictLevel::kSampled));
  EXPECT_FALSE(has_level(of(VerdictLevel::kCertified), VerdictLevel::kRefuted));
  EXPECT_VERDICT(of(VerdictLevel::kRefuted), kRefuted);
}

// A replica has failed, and a second replica catches the cancellation for ever.
TEST_F(Explore, HasNoVerdictOnAbandonedReplicas) {
  belfry::testing::asserts("SEM-191");
  for (int odd = 0; odd < 3; ++odd) {
    const Verdict verdict = explore({.devices = 3}, [odd](Backend& backend) {
      MirroredStrategy strategy{backend};
      strategy.run([odd](ReplicaContext& replica) {
        const int id = replica.replica_id();
        if (id == (odd + 1) % 3) throw std::runtime_error("a failure");
        for (int i = 0; i < 1000; ++i) {
          try {
            replica.merge_call([](CrossReplicaContext&) {});
          } catch (...) {
            if (id != odd) throw;
          }
        }
      });
    });
    EXPECT_EQ(verdict.level(), VerdictLevel::kNone);
    EXPECT_THAT(verdict.report().difference,
                HasSubstr("swallowed again and again by R" + std::to_string(odd) + " of run 1"));
  }
}

// The body ends by an exception of its own after some runs of replicas, and leaves work behind.
TEST_F(Explore, CertifiesABodyThatStopsItself) {
  const Verdict verdict = explore(kTwo, [](Backend& backend) {
    MirroredStrategy strategy{backend};
    for (int step = 0;; ++step) {
      if (step == 3) throw std::runtime_error("no steps are left");
      strategy.run([](ReplicaContext&) { Tensor<float>::full({2}, 1.0F); });
    }
  });
  EXPECT_VERDICT(verdict, kCertified);
  EXPECT_EQ(verdict.report().outcomes.at(0).outcome, "an exception: no steps are left");
}

// The seed of the options is the body's alone.
TEST_F(Explore, HasTheSameReportForEverySeed) {
  belfry::testing::asserts("SEM-225");
  const auto reported = [](std::uint64_t seed, double (*body)(Backend&)) {
    return verdict_json("body", explore({.devices = 2, .seed = seed}, body));
  };
  const std::string certified = reported(0, reduced);
  host_.report.conflicts = {{nullptr, 8, {{}, true, nullptr, {}}, {{}, true, nullptr, {}}}};
  const std::string refuted = reported(0, captured);
  for (std::uint64_t seed = 1; seed < 16; ++seed) {
    EXPECT_EQ(reported(seed, captured), refuted);
    host_.reset();
    EXPECT_EQ(reported(seed, reduced), certified);
    host_.report.conflicts = {{nullptr, 8, {{}, true, nullptr, {}}, {{}, true, nullptr, {}}}};
  }
}

// The judged schedule, the serial schedule, its reverse and four random schedules.
TEST_F(Explore, CertifiesFromSevenRuns) {
  belfry::testing::asserts("SEM-191");
  int runs = 0;
  const auto counted = [&](Backend& backend) {
    ++runs;
    return reduced(backend);
  };
  EXPECT_CERTIFIED(explore(kTwo, counted));
  EXPECT_EQ(runs, 7);
}

// Schedules have equal operations and unequal names of streams: steps are compared from then on, in
// a single run for each schedule.
TEST_F(Explore, ComparesStepsOfSchedulesInOneRunEach) {
  int runs = 0;
  const Verdict verdict = explore(kTwo, [&](Backend& backend) {
    ++runs;
    MirroredStrategy strategy{backend};
    strategy.run([&](ReplicaContext& replica) {
      const auto own = backend.device(replica.replica_id()).create_stream();
      own->synchronize();
    });
  });
  EXPECT_CERTIFIED(verdict);
  EXPECT_LE(runs, 8);
}

TEST_F(Explore, TellsWhatACertificateIsAbout) {
  const std::string certified = explain(explore(kTwo, reduced));
  EXPECT_THAT(certified, HasSubstr("a certificate is about orders"));
  EXPECT_THAT(certified, HasSubstr("may be wrong in all"));
  EXPECT_THAT(certified, HasSubstr("the watch of this compiler does not see: "));
  host_.report.unseen = {"library_function"};
  const Verdict sampled = explore(kTwo, reduced);
  EXPECT_EQ(sampled.level(), VerdictLevel::kSampled);
  EXPECT_THAT(explain(sampled), Not(HasSubstr("about orders")));
  EXPECT_THAT(sampled.report().missed, IsEmpty());
}

TEST_F(Explore, NamesTheAccessesThatEachCompilerMisses) {
  using detail::WatchCompiler;
  const auto missed_by = [](WatchCompiler compiler) {
    const auto body = [](Backend& backend) { return detail::result_of(reduced(backend)); };
    return detail::explore(kTwo, body, nullptr, CallSite::here(), compiler).report().missed;
  };
  const auto by_gcc = missed_by(WatchCompiler::kGcc);
  const auto by_clang = missed_by(WatchCompiler::kClang);
  EXPECT_THAT(by_gcc, Contains(HasSubstr("a result of a call")));
  EXPECT_THAT(by_clang, Not(Contains(HasSubstr("a result of a call"))));
  EXPECT_THAT(by_clang, Contains(HasSubstr("in optimized code")));
  EXPECT_THAT(by_gcc, Not(Contains(HasSubstr("sprintf"))));
  EXPECT_THAT(by_gcc, Not(Contains(HasSubstr("vector type"))));
  EXPECT_THAT(by_clang, Contains(HasSubstr("a vector type of 32 or 64 bytes")));
  for (const auto& missed : {by_gcc, by_clang}) {
    EXPECT_THAT(missed, Contains(HasSubstr("a clock or a draw by an instruction")));
  }
  EXPECT_EQ(explore(kTwo, reduced).report().missed, missed_by(detail::kWatchCompiler));
}

// A run of a cluster has a schedule of its own.
TEST_F(Explore, TellsABodyOfItsCluster) {
  belfry::testing::asserts("SEM-193");
  const Verdict verdict = explore(kTwo, [](Backend& backend) {
    Cluster cluster{{.hosts = 2}};
    double sum = 0;
    cluster.run([&](Host& host) {
      if (host.group().rank() == 1) sum = reduced_by_one(host.backend());
    });
    return sum + reduced(backend);
  });
  EXPECT_EQ(verdict.level(), VerdictLevel::kSampled) << explain(verdict);
  EXPECT_THAT(broken_conditions(verdict), ElementsAre("the body uses its backend alone"));
  EXPECT_THAT(explain(verdict), HasSubstr("the body runs a cluster"));
}

// Variables of a host are on the stack of a fiber, as variables of a replica are.
TEST_F(Explore, WatchesNoHostMemoryInAHostOfACluster) {
  belfry::testing::asserts("SEM-193");
  for (int explorer = 0; explorer < 3; ++explorer) {
    Cluster cluster{{.hosts = 3}};
    std::vector<std::string> broken;
    std::string told;
    cluster.run([&](Host& host) {
      if (host.group().rank() != explorer) return;
      const Verdict verdict = explore(kTwo, reduced);
      broken = broken_conditions(verdict);
      told = explain(verdict);
    });
    EXPECT_THAT(broken, ElementsAre("replicas share no host bytes that one of them writes"));
    EXPECT_THAT(told, HasSubstr("an exploration in a replica, or in a host of a cluster"));
  }
}

// A body that returns nothing has the text of the exception.
TEST_F(Explore, TellsAnExceptionFromAnOutcomeOfTheSameText) {
  belfry::testing::asserts("SEM-190");
  host_.report.unseen = {"library_function"};
  const Verdict verdict = explore(kTwo, [](Backend& backend) {
    if (captured(backend) == 1) throw std::runtime_error("nothing");
  });
  EXPECT_EQ(verdict.level(), VerdictLevel::kRefuted) << explain(verdict);
}

// A value without a text of its own.
struct Opaque {
  int value = 0;
  bool operator==(const Opaque&) const = default;
};

std::size_t times(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++count;
  return count;
}

TEST_F(Explore, PrintsOneTextOfTwoSchedulesOnce) {
  belfry::testing::asserts("SEM-195");
  host_.report.unseen = {"library_function"};
  // The operations differ.
  const Verdict operations = explore(kTwo, [](Backend& backend) {
    MirroredStrategy strategy{backend};
    int come = 0;
    strategy.run(
        [&](ReplicaContext&) { (void)Tensor<float>::full({2}, static_cast<float>(come++)); });
    return 4711;
  });
  ASSERT_EQ(operations.level(), VerdictLevel::kRefuted) << explain(operations);
  EXPECT_EQ(times(explain(operations), "4711"), 1U) << explain(operations);
  for (const std::string& token : operations.tokens()) {
    EXPECT_EQ(times(explain(operations), "replay " + token + "\n"), 1U) << explain(operations);
  }
  // The outcomes differ, and their texts do not.
  const Verdict opaque =
      explore(kTwo, [](Backend& backend) { return Opaque{static_cast<int>(captured(backend))}; });
  ASSERT_EQ(opaque.level(), VerdictLevel::kRefuted) << explain(opaque);
  EXPECT_EQ(opaque.report().difference, "the outcomes differ, and the text of both is ?");
  EXPECT_EQ(times(explain(opaque), "?"), 2U) << explain(opaque);  // And once for both schedules.
}

TEST_F(Explore, HasNoVerdictOnConcurrentThreads) {
  Options options = kTwo;
  options.carrier = Carrier::kConcurrent;
  const Verdict verdict = explore(options, reduced);
  EXPECT_EQ(verdict.level(), VerdictLevel::kNone);
  EXPECT_THAT(explain(verdict), HasSubstr("no schedule"));
}

}  // namespace
}  // namespace belfry::sim::explore_test
