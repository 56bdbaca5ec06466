// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/sim/schedule.h"

#include "belfry/error.h"
#include "belfry/sim/replay_token.h"
#include "schedule/random_chooser.h"
#include "schedule/recording_chooser.h"
#include "schedule/replayed_chooser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <sstream>

namespace belfry::sim::schedule_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<Choice> choices_from(
    const std::vector<std::tuple<std::uint8_t, std::uint32_t, std::uint32_t>>& raw) {
  std::vector<Choice> choices;
  for (const auto& [kind, count, value] : raw) {
    const std::uint32_t of = std::max(count, 2u);
    choices.push_back({static_cast<ChoiceKind>(kind % 3), of, value % of});
  }
  return choices;
}

RC_GTEST_PROP(ReplayToken, RoundTrips,
              (const std::vector<std::tuple<std::uint8_t, std::uint32_t, std::uint32_t>>& raw)) {
  const std::vector<Choice> choices = choices_from(raw);
  const std::string token = encode_choices(choices);
  RC_ASSERT(decode_choices(token) == choices);
  RC_ASSERT(Schedule::replay(token).choices == choices);
  RC_ASSERT(encode_choices(decode_choices(token)) == token);
}

TEST(ReplayToken, TheLargestChoiceRoundTrips) {
  constexpr std::uint32_t kMost = std::numeric_limits<std::uint32_t>::max();
  const std::vector<Choice> choices{{ChoiceKind::kOrder, kMost, kMost - 1}};
  EXPECT_EQ(decode_choices(encode_choices(choices)), choices);
}

TEST(ReplayToken, ASmallChoiceTakesAboutThreeCharacters) {
  const std::vector<Choice> choices(1000, Choice{ChoiceKind::kAgent, 9, 3});
  // Two bytes a choice, four characters for three bytes, prefix and checksum.
  EXPECT_LE(encode_choices(choices).size(), 1000u * 2 * 4 / 3 + 4 + 8);
}

RC_GTEST_PROP(ReplayToken, AnyTextIsRefusedOrIsTheTokenOfItsChoices, (const std::string& text)) {
  for (const std::string& token : {text, "bf1." + text}) {
    try {
      const std::vector<Choice> choices = decode_choices(token);
      RC_ASSERT(encode_choices(choices) == token);
    } catch (const InvalidArgumentError& error) {
      RC_ASSERT(error.code() == ErrorCode::kReplay);
    }
  }
}

RC_GTEST_PROP(ReplayToken, ALostOrChangedCharacterIsNoticed,
              (const std::vector<std::tuple<std::uint8_t, std::uint32_t, std::uint32_t>>& raw,
               std::size_t where, bool lose)) {
  std::string token = encode_choices(choices_from(raw));
  const std::size_t at = where % token.size();
  if (lose) {
    token.erase(at, 1);
  } else {
    token[at] = token[at] == 'A' ? 'B' : 'A';
  }
  RC_ASSERT_THROWS_AS(decode_choices(token), InvalidArgumentError);
}

TEST(ReplayToken, SaysWhatIsWrong) {
  const auto text_of = [](std::string_view token) -> std::string {
    try {
      decode_choices(token);
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(text_of(""), HasSubstr("does not begin with `bf1.`"));
  EXPECT_THAT(text_of("bf1."), HasSubstr("too short"));
  EXPECT_THAT(text_of("bf1.AA AA"), HasSubstr("the character at column 7"));
  EXPECT_THAT(text_of("bf1.AAAAAAAA"), HasSubstr("checksum"));
  EXPECT_THAT(text_of("bf1.BqNtDTk"), HasSubstr("choice 0 cannot be read"));
}

// The bytes 6 and 1, `agent 1 of 2`; and the 1 as 129 and 0, which would be the same number.
TEST(ReplayToken, ANumberWithMoreBytesThanItNeedsIsRefused) {
  EXPECT_THAT(decode_choices("bf1.BgFdz3BR"), ElementsAre(Choice{ChoiceKind::kAgent, 2, 1}));
  EXPECT_THROW(decode_choices("bf1.BoEAfjAthw"), InvalidArgumentError);
}

TEST(ReplayToken, AnImpossibleChoiceIsRefused) {
  const std::vector<Choice> beyond{{ChoiceKind::kAgent, 2, 2}};
  EXPECT_THROW(decode_choices(encode_choices(beyond)), InvalidArgumentError);
  // `agent 1 of 4294967298`: the count has 33 bits, and its lower 32 would be a possible 2.
  EXPECT_THROW(decode_choices("bf1.hoCAgDAB5AbEaA"), InvalidArgumentError);
}

// The eight characters of this token are whole bytes: a ninth character has no meaning.
TEST(ReplayToken, ACharacterTooManyIsRefused) {
  EXPECT_EQ(decode_choices("bf1.BgFdz3BR").size(), 1u);
  EXPECT_THROW(decode_choices("bf1.BgFdz3BRA"), InvalidArgumentError);
}

// Counts of 60,000 draws out of six for each of some seeds. Each is binomial with mean 10,000 and
// deviation sqrt(60,000 * 1/6 * 5/6) = 91.3; six deviations are exceeded once in 5e8.
TEST(RandomChooser, DrawsEvenly) {
  for (const std::uint64_t seed : {0u, 1u, 2u, 1000u}) {
    RandomChooser chooser(seed);
    std::array<int, 6> counts{};
    for (int i = 0; i < 60'000; ++i) ++counts.at(chooser.choose(ChoiceKind::kAgent, 6));
    for (const int count : counts) EXPECT_NEAR(count, 10'000, 548) << seed;
  }
}

// The first two draws of neighbouring seeds, out of four each, are all 16 pairs about equally
// often: 16,000 seeds, mean 1,000, deviation sqrt(16,000 * 1/16 * 15/16) = 30.6. The limits are six
// deviations.
TEST(RandomChooser, NeighbouringSeedsAreUnrelated) {
  std::array<int, 16> counts{};
  for (std::uint64_t seed = 0; seed < 16'000; ++seed) {
    RandomChooser chooser(seed);
    const std::uint32_t first = chooser.choose(ChoiceKind::kAgent, 4);
    ++counts.at(first * 4 + chooser.choose(ChoiceKind::kAgent, 4));
  }
  for (const int count : counts) EXPECT_NEAR(count, 1000, 184);
}

RC_GTEST_PROP(RecordingChooser, KeepsWhatWasAnswered,
              (std::uint64_t seed, const std::vector<std::uint32_t>& counts)) {
  RandomChooser random(seed);
  RandomChooser again(seed);
  ChoiceRecord record(1000);
  RecordingChooser recorder(record, random);
  std::vector<Choice> expected;
  for (const std::uint32_t raw : counts) {
    // Small and large counts, and the count of a single answer.
    const std::uint32_t count = std::max(raw % 3 == 0 ? raw : raw % 140, 1u);
    const auto kind = static_cast<ChoiceKind>(raw % 3);
    const std::uint32_t value = recorder.choose(kind, count);
    RC_ASSERT(value < count);
    if (count == 1) continue;
    expected.push_back({kind, count, again.choose(kind, count)});
  }
  RC_ASSERT(record.choices() == expected);
}

TEST(RecordingChooser, StopsKeepingAtItsLimit) {
  ChoiceRecord record(3);
  RecordingChooser recorder(record, RandomChooser(1));
  for (int i = 0; i < 5; ++i) recorder.choose(ChoiceKind::kAgent, 2);
  EXPECT_EQ(record.made(), 5u);
  EXPECT_EQ(record.kept(), 3u);
  EXPECT_EQ(record.choices().size(), 3u);
}

TEST(ReplayedChooser, AnswersAsRecordedAndNamesTheFirstMisfit) {
  Replay replay({{ChoiceKind::kAgent, 3, 2}, {ChoiceKind::kWork, 2, 1}});
  ReplayedChooser chooser(replay);
  EXPECT_EQ(chooser.choose(ChoiceKind::kAgent, 3), 2u);
  EXPECT_EQ(chooser.choose(ChoiceKind::kAgent, 1), 0u);
  EXPECT_NO_THROW(replay.throw_misfit());
  EXPECT_EQ(chooser.choose(ChoiceKind::kWork, 4), 0u);
  EXPECT_EQ(chooser.choose(ChoiceKind::kWork, 2), 0u);
  try {
    replay.throw_misfit();
    FAIL() << "a choice out of four was recorded out of two";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kReplay);
    EXPECT_THAT(error.what(),
                HasSubstr("choice 1: recorded `work 1 of 2`, asked for `work 0 of 4`"));
  }
}

TEST(ReplayedChooser, NoticesAChoiceOfAnotherKind) {
  Replay replay({{ChoiceKind::kWork, 3, 2}});
  ReplayedChooser chooser(replay);
  EXPECT_EQ(chooser.choose(ChoiceKind::kAgent, 3), 0u);
  EXPECT_THROW(replay.throw_misfit(), InvalidArgumentError);
}

TEST(ReplayedChooser, NoticesTheEndOfTheRecord) {
  Replay replay({});
  ReplayedChooser chooser(replay);
  EXPECT_EQ(chooser.choose(ChoiceKind::kAgent, 2), 0u);
  EXPECT_THROW(replay.throw_misfit(), InvalidArgumentError);
}

TEST(Schedule, PrintsItself) {
  std::ostringstream stream;
  stream << Schedule::fixed() << ' ' << Schedule{} << ' ' << Schedule::replay(encode_choices({}));
  EXPECT_EQ(stream.str(), "fixed random replayed " + encode_choices({}));
}

}  // namespace
}  // namespace belfry::sim::schedule_test
