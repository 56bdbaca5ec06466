// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Each way to break a condition of a certificate, in watched code: a program that breaks the
// condition in this way alone, and a program that nearly does.
#include "belfry/sim/explore.h"
#include "explore/body_run.h"
#include "explore/conditions.h"
#include "testing/condition_pair.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace belfry::sim::condition_pairs_test {
namespace {

using testing::ConditionPair;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::pair_of;
using testing::PairedBody;

constexpr std::uint64_t kSchedules = 64;

// The breaches with programs in this file, or those without.
std::vector<Breach> breaches(bool with_programs) {
  std::vector<Breach> found;
  for (std::size_t i = 0; i < kBreaches; ++i) {
    const auto breach = static_cast<Breach>(i);
    if (pair_of(breach).elsewhere.empty() == with_programs) found.push_back(breach);
  }
  return found;
}

std::set<std::string> outcomes_of(const PairedBody& body, Options options) {
  std::set<std::string> outcomes;
  options.schedule = Schedule::random();
  for (options.seed = 0; options.seed < kSchedules; ++options.seed) {
    Backend backend{options};
    try {
      outcomes.insert(std::to_string(body(backend)));
    } catch (const std::exception& exception) {
      outcomes.insert(exception.what());
    }
  }
  return outcomes;
}

// The breaches of a run as `explore` judges the run.
std::vector<Breach> judged(const PairedBody& body, Options options) {
  options.digests = Digests::kAll;
  const BodyRun run(
      options, {}, [&](Backend& backend) { return detail::result_of<double>(body(backend)); },
      Scrutiny::kAll);
  return breaches_of(run, options);
}

class EachBreach : public ::testing::TestWithParam<Breach> {
 protected:
  // Calls `call`, in the body of an exploration if the pair says so.
  void around(const std::function<void()>& call) const {
    if (!pair_.in_a_body) return call();
    (void)explore({.devices = 1}, [&](Backend&) {
      call();
      return 0;
    });
  }

  const ConditionPair pair_ = pair_of(GetParam());
};

TEST_P(EachBreach, AloneKeepsAProgramFromACertificate) {
  around([&] {
    const Verdict verdict = explore(pair_.options, pair_.broken);
    EXPECT_THAT(judged(pair_.broken, pair_.options), ElementsAre(GetParam())) << explain(verdict);
    EXPECT_NE(verdict.level(), VerdictLevel::kCertified) << explain(verdict);
    EXPECT_NE(verdict.level(), VerdictLevel::kNone) << explain(verdict);
  });
}

// A certificate of the program would be wrong.
TEST_P(EachBreach, HasTwoOutcomes) {
  const std::set<std::string> outcomes = outcomes_of(pair_.broken, pair_.options);
  if (pair_.single_outcome.empty()) {
    EXPECT_GE(outcomes.size(), 2u) << *outcomes.begin();
  } else {
    EXPECT_EQ(outcomes.size(), 1u) << pair_.single_outcome;
  }
}

TEST_P(EachBreach, IsMissedByACertifiedProgram) {
  const Verdict verdict = explore(pair_.near_options, pair_.near);
  EXPECT_EQ(verdict.level(), VerdictLevel::kCertified) << explain(verdict);
  EXPECT_EQ(outcomes_of(pair_.near, pair_.near_options).size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Conditions, EachBreach, ::testing::ValuesIn(breaches(true)),
                         [](const auto& info) { return pair_of(info.param).name; });

// A stream copies from and to memory of the program during the call.
TEST(HostBytesOfStreams, AreThoseOfTheCaller) {
  for (const auto& [reads, odd] : {std::pair(false, 0), {false, 1}, {true, 0}, {true, 1}}) {
    float captured = 1;
    const Verdict verdict = explore({.devices = 2, .seed = 7}, [&](Backend& backend) {
      captured = 1;
      return testing::on_two(backend, [&](ReplicaContext&, int id) {
        if (id == odd) return static_cast<double>(std::exchange(captured, 2.0F));
        Stream& stream = backend.device(id).compute_stream();
        const BufferView view = view_of(backend.device(id).allocate(4, stream), DType::kFloat32);
        const float three = 3;
        stream.write(view, reads ? &three : &captured);
        float value = 0;
        stream.read(reads ? &captured : &value, view);
        return static_cast<double>(value);
      });
    });
    EXPECT_EQ(verdict.level(), VerdictLevel::kRefuted) << explain(verdict);
    ASSERT_FALSE(verdict.report().races.empty()) << reads;
    EXPECT_THAT(to_string(verdict.report().races[0]),
                HasSubstr("R" + std::to_string(1 - odd) + " of run 1: the code"));
  }
}

// A program without watched code, replicas without watched code, and an order that no program of
// the simulator draws.
TEST(Breaches, OfThreeKindsHaveTestsElsewhere) {
  EXPECT_THAT(breaches(false), ElementsAre(Breach::kUnwatchedProgram, Breach::kUnwatchedReplicas,
                                           Breach::kDrawnOrder));
}

}  // namespace
}  // namespace belfry::sim::condition_pairs_test
