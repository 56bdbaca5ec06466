// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/testing/value_text.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace belfry::testing::value_text_test {
namespace {

struct Opaque {};

TEST(ValueText, IsWhatStreamsPrint) {
  EXPECT_EQ(value_text(7), "7");
  EXPECT_EQ(value_text(true), "true");
  EXPECT_EQ(value_text(std::string("seven")), "seven");
}

TEST(ValueText, HasTheDigitsThatTellNumbersApart) {
  EXPECT_EQ(value_text(8.5), "8.5");
  EXPECT_NE(value_text(0.1), value_text(0.1 + 1e-17 * 4));
  EXPECT_NE(value_text(1.0), value_text(1.0 + 2.3e-16));
}

TEST(ValueText, ListsTheElementsOfAValue) {
  EXPECT_EQ(value_text(std::vector<int>{}), "{}");
  EXPECT_EQ(value_text(PerReplica<double>{8.5, 17}), "{8.5, 17}");
  EXPECT_EQ(value_text(std::pair(1, std::vector<int>{2, 3})), "{1, {2, 3}}");
  EXPECT_EQ(value_text(std::map<std::string, int>{{"bias", 1}}), "{{bias, 1}}");
}

TEST(ValueText, SaysThatATypeCannotBePrinted) {
  EXPECT_EQ(value_text(Opaque{}), "?");
  EXPECT_EQ(value_text(std::pair(1, Opaque{})), "{1, ?}");
}

}  // namespace
}  // namespace belfry::testing::value_text_test
