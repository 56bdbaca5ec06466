// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <string_view>

namespace belfry::testing {

/// The number of a rule of docs/semantics.md: `SEM-` and digits. Any other text does not compile.
class RuleNumber {
 public:
  constexpr RuleNumber() = default;
  /// The rule `text`.
  // NOLINTNEXTLINE(google-explicit-constructor): a string literal stands for the number.
  consteval RuleNumber(const char* text) : text_(text) {
    const std::string_view all(text);
    const std::string_view prefix("SEM-");
    bool fine = all.size() > prefix.size() && all.substr(0, prefix.size()) == prefix;
    for (const char digit : all.substr(fine ? prefix.size() : 0)) {
      fine = fine && digit >= '0' && digit <= '9';
    }
    if (!fine) throw "a rule is SEM- and digits";
  }

  /// The number as text; null without a number.
  constexpr const char* text() const { return text_; }

 private:
  const char* text_ = nullptr;
};

/// Declares the rules whose outcome the running test asserts: the test fails if the library breaks
/// one of the rules. The report of the run (`--gtest_output=json`) has each rule as a property of
/// the test. The test docs.rules (`tools/checks/asserted_rules.py`) requires a passed test of every
/// rule.
///
/// Context: the body of a test, or of a RapidCheck property. Repetitions count once.
inline void asserts(RuleNumber first, RuleNumber second = {}, RuleNumber third = {},
                    RuleNumber fourth = {}) {
  for (const RuleNumber& rule : {first, second, third, fourth}) {
    if (rule.text() != nullptr) ::testing::Test::RecordProperty(rule.text(), "asserted");
  }
}

}  // namespace belfry::testing
