// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "explore/outcome_text.h"

#include <gtest/gtest.h>

#include <string>

namespace belfry::sim::outcome_text_test {
namespace {

TEST(OutcomeText, KeepsShortTexts) {
  EXPECT_EQ(shortened("[1, 2]"), "[1, 2]");
  const OutcomePair pair = around_difference("[1, 2]", "[1, 3]");
  EXPECT_EQ(pair.first, "[1, 2]");
  EXPECT_EQ(pair.second, "[1, 3]");
}

TEST(OutcomeText, HasTheBeginAndTheLengthOfLongTexts) {
  const std::string text(5000, 'x');
  EXPECT_EQ(shortened(text), std::string(200, 'x') + " ... (5000 characters)");
}

// The difference is the character after 3000 others.
TEST(OutcomeText, ShowsTheDifferenceOfLongTexts) {
  std::string first(5000, 'x');
  std::string second = first;
  second[3000] = 'y';
  const OutcomePair pair = around_difference(first, second);
  EXPECT_EQ(pair.first, "... " + std::string(200, 'x') + " ...");
  EXPECT_EQ(pair.second, "... " + std::string(40, 'x') + 'y' + std::string(159, 'x') + " ...");
}

TEST(OutcomeText, ShowsTheEndOfALongTextThatIsTheBeginOfTheOther) {
  const std::string first(2000, 'x');
  const OutcomePair pair = around_difference(first, first + "yz");
  EXPECT_EQ(pair.first, "... " + std::string(40, 'x'));
  EXPECT_EQ(pair.second, "... " + std::string(40, 'x') + "yz");
}

}  // namespace
}  // namespace belfry::sim::outcome_text_test
