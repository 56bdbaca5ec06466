// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "explore/departure.h"

#include "explore/guided_chooser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace belfry::sim::departure_test {
namespace {

using ::testing::ElementsAre;
using AgentKind = AgentId::Kind;

constexpr AgentId kFirst{AgentKind::kReplica, 0};
constexpr AgentId kSecond{AgentKind::kReplica, 1};
constexpr AgentId kStream{AgentKind::kStream, 4};
constexpr CallSite kSite{"src/train.cpp", 5};

Departure of(const AgentAtChoice& chosen, const AgentAtChoice& passed_over) {
  return {.count = 3,
          .value = 1,
          .run = 1,
          .names_agents = true,
          .chosen = chosen,
          .passed_over = passed_over};
}

TEST(Departure, NamesTheAgentsAndTheirNextSteps) {
  EXPECT_EQ(to_string(of({kSecond}, {kFirst})), "replica 1 starts before replica 0");
  EXPECT_EQ(to_string(of({kSecond}, {kFirst, true})), "replica 1 starts before replica 0 goes on");
  EXPECT_EQ(to_string(of({kSecond, true, kSite}, {kFirst})),
            "replica 1 goes on from train.cpp:5 before replica 0 starts");
  EXPECT_EQ(to_string(of({kStream}, {kFirst, true, kSite})),
            "S4 works before replica 0 goes on from train.cpp:5");
  EXPECT_EQ(to_string(of({kStream}, {{AgentKind::kMerge, 0}, true})),
            "S4 works before the merge goes on");
  Departure later = of({kStream}, {{AgentKind::kHost, 0}});
  later.run = 2;
  EXPECT_EQ(to_string(later), "in run 2, S4 works before the caller goes on");
}

TEST(Departure, TellsOfWorkOrdersAndUnknownAgents) {
  EXPECT_EQ(to_string(Departure{.kind = ChoiceKind::kWork, .count = 4, .value = 1}),
            "1 piece of stream work before the caller goes on");
  EXPECT_EQ(to_string(Departure{.kind = ChoiceKind::kWork, .count = 4, .value = 3}),
            "3 pieces of stream work before the caller goes on");
  EXPECT_EQ(to_string(Departure{.kind = ChoiceKind::kOrder, .count = 8, .value = 2}),
            "order 2 of 8 for a reduction");
  EXPECT_EQ(to_string(Departure{.count = 3, .value = 2}), "agent 2 goes before agent 0");
}

Observation by(const AgentId& agent, std::uint32_t run, CallSite site) {
  Observation seen;
  seen.actor = {agent, run};
  seen.site = site;
  return seen;
}

Observation of_run(Observation::Kind kind, std::uint32_t run) {
  Observation seen;
  seen.kind = kind;
  seen.run = run;
  return seen;
}

std::vector<std::string> texts_of(const GuidedChooser& guide) {
  std::vector<std::string> texts;
  for (const Departure& departure : guide.departures()) texts.push_back(to_string(departure));
  return texts;
}

// The replica of the outer run has begun, and the replica of the inner run has not.
TEST(GuidedChooser, KnowsWhoHasBegunInEachRun) {
  GuidedChooser guide({1, 1, 0, 1, 1});
  const std::vector<AgentId> candidates{kFirst, kSecond};
  guide.observe(of_run(Observation::Kind::kRunBegan, 1));
  EXPECT_EQ(guide.choose_among(candidates), 1U);
  guide.observe(by(kSecond, 1, kSite));
  guide.observe(of_run(Observation::Kind::kRunBegan, 2));
  EXPECT_EQ(guide.choose_among(candidates), 1U);
  EXPECT_EQ(guide.choose_among(candidates), 0U);
  guide.observe(of_run(Observation::Kind::kRunEnded, 2));
  EXPECT_EQ(guide.choose_among(candidates), 1U);
  EXPECT_THAT(texts_of(guide),
              ElementsAre("replica 1 starts before replica 0",
                          "in run 2, replica 1 starts before replica 0",
                          "replica 1 goes on from train.cpp:5 before replica 0 starts"));
}

TEST(GuidedChooser, FitsItsAnswersToTheQuestions) {
  GuidedChooser guide({5, 0, 2});
  EXPECT_EQ(guide.choose(ChoiceKind::kWork, 3), 2U);
  EXPECT_EQ(guide.choose(ChoiceKind::kWork, 3), 0U);
  EXPECT_EQ(guide.choose(ChoiceKind::kOrder, 4), 2U);
  EXPECT_EQ(guide.choose(ChoiceKind::kWork, 9), 0U);
  EXPECT_THAT(texts_of(guide), ElementsAre("2 pieces of stream work before the caller goes on",
                                           "order 2 of 4 for a reduction"));
}

}  // namespace
}  // namespace belfry::sim::departure_test
