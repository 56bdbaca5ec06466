// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "explore/shrunk_answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

namespace belfry::sim::shrunk_answers_test {
namespace {

using ::testing::ElementsAre;
using ::testing::Le;

// The outcome needs the answers 2 at position 3, and 1 at position 70.
TEST(ShrunkAnswers, KeepsTheDeparturesOfTheOutcomeAlone) {
  Answers answers(100, 1);
  answers[3] = 2;
  int trials = 0;
  const Answers few = shrunk(answers, 200, [&](const Answers& tried) -> std::optional<Answers> {
    ++trials;
    if (tried[3] != 2 || tried[70] != 1) return std::nullopt;
    return tried;
  });
  Answers expected(100, 0);
  expected[3] = 2;
  expected[70] = 1;
  EXPECT_EQ(few, expected);
  EXPECT_EQ(departures_in(few), 2U);
  // The trials of an exploration suffice.
  EXPECT_THAT(trials, Le(48));
}

TEST(ShrunkAnswers, StopsAfterTheLastTrial) {
  int trials = 0;
  const Answers all(64, 1);
  const auto fails = [&](const Answers&) -> std::optional<Answers> {
    ++trials;
    return std::nullopt;
  };
  EXPECT_EQ(shrunk(all, 9, fails), all);
  EXPECT_EQ(trials, 9);
}

// The run answers more questions than the list has, and some differently.
TEST(ShrunkAnswers, GoesOnFromTheAnswersOfTheRun) {
  const Answers few = shrunk({1, 1, 1, 1}, 50, [](const Answers& tried) -> std::optional<Answers> {
    if (tried[0] == 0) return std::nullopt;
    Answers given = tried;
    given.resize(6);
    return given;
  });
  EXPECT_THAT(few, ElementsAre(1, 0, 0, 0, 0, 0));
}

// A trial with the outcome and with more departures is no progress.
TEST(ShrunkAnswers, TakesFewerDeparturesOnly) {
  int trials = 0;
  const Answers few = shrunk({1, 2}, 50, [&](const Answers&) -> std::optional<Answers> {
    ++trials;
    return Answers{1, 1, 1};
  });
  EXPECT_THAT(few, ElementsAre(1, 2));
  EXPECT_EQ(trials, 2);
}

TEST(ShrunkAnswers, TriesNothingWithASingleDeparture) {
  const Answers few = shrunk({0, 3, 0}, 50, [](const Answers& tried) -> std::optional<Answers> {
    ADD_FAILURE() << "the serial schedule has a different outcome";
    return tried;
  });
  EXPECT_THAT(few, ElementsAre(0, 3, 0));
}

}  // namespace
}  // namespace belfry::sim::shrunk_answers_test
