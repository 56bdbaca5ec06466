// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "hangs/dump_reader.h"
#include "hangs/hang.h"
#include "hangs/simulated_job.h"

#include <gtest/gtest.h>
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <iterator>

namespace belfry::tool::hangs {
namespace {

enum class Answer { kNamed, kUndecided, kNothing, kWrong };

std::vector<Dump> read(const std::vector<std::string>& texts) {
  std::vector<Dump> dumps;
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    if (texts[rank].empty()) continue;
    dumps.push_back(parse_dump(texts[rank], fmt::format("rank{}.json", rank)));
  }
  return dumps;
}

bool is_call(const Job& job, const CallId& call, const std::string& group, std::int64_t first,
             std::int64_t last) {
  return job.groups[call.group].name == group && call.seq >= first && call.seq <= last;
}

// Whether the rank is named, alone unless no majority tells the sides apart.
bool names_rank(const Finding& finding, int rank) {
  if (finding.is_tie) return std::count(finding.ranks.begin(), finding.ranks.end(), rank) == 1;
  return finding.ranks == std::vector<int>{rank};
}

bool names_calls(const Job& job, const Finding& finding, const Truth& truth) {
  std::vector<CallId> calls = finding.more_calls;
  calls.insert(calls.begin(), *finding.call);
  const auto has = [&](const std::string& group, std::int64_t first, std::int64_t last) {
    return std::any_of(calls.begin(), calls.end(),
                       [&](const CallId& call) { return is_call(job, call, group, first, last); });
  };
  if (finding.kind != FindingKind::kCircle) {
    return is_call(job, *finding.call, truth.group, truth.first_seq, truth.last_seq);
  }
  return has(truth.group, truth.first_seq, truth.last_seq) &&
         (truth.second_group.empty() ||
          has(truth.second_group, truth.second_seq, truth.second_seq));
}

Answer answer_of(const Job& job, const Hang& hang, const Truth& truth) {
  if (hang.verdict == Verdict::kNothing) return Answer::kNothing;
  if (hang.verdict == Verdict::kUndecided) return Answer::kUndecided;
  Answer answer = Answer::kNamed;
  for (const Finding& cause : hang.causes) {
    if (!names_rank(cause, truth.rank)) return Answer::kWrong;
    if (names_calls(job, cause, truth)) continue;
    if (cause.more_calls.empty() || cause.kind == FindingKind::kCircle) return Answer::kWrong;
    answer = Answer::kUndecided;  // Of several calls, none is known to be the first.
  }
  return answer;
}

std::string words_of(const Job& job, const Hang& hang) {
  std::string text;
  for (const Finding& cause : hang.causes) {
    text += fmt::format(" {} at group {} call {}, {}{};", to_string(cause.kind),
                        job.groups[cause.call->group].name, cause.call->seq, words(cause.ranks),
                        cause.is_tie ? " (tie)" : "");
  }
  return text;
}

constexpr int kRanks[] = {2, 3, 4, 5, 6, 8, 8, 12, 16, 16, 32, 64};
constexpr std::size_t kRing = 2000;
constexpr std::size_t kShortRing = 8;

class GeneratedHangs : public testing::TestWithParam<Format> {};

// 100 hangs of 2 to 64 ranks, and each job without the mistake.
TEST_P(GeneratedHangs, AreNamed) {
  int named = 0;
  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    const auto mistake = static_cast<Mistake>(1 + seed % (kMistakes - 1));
    int ranks = kRanks[seed / 8 % std::size(kRanks)];
    if (mistake == Mistake::kGroupOrder) ranks = std::max(4, ranks + ranks % 2);
    SimulatedJob simulated(ranks, seed);
    const Job right(read(simulated.dumps(GetParam(), kRing)));
    EXPECT_EQ(hang_of(right, Waits(right)).verdict, Verdict::kNothing) << "seed " << seed;
    ASSERT_TRUE(simulated.make(mistake)) << "seed " << seed;
    const Job job(read(simulated.dumps(GetParam(), kRing)));
    const Hang hang = hang_of(job, Waits(job));
    const Truth& truth = simulated.truth();
    const Answer answer = answer_of(job, hang, truth);
    const std::string what = fmt::format(
        "seed {}, mistake {}, {} ranks: rank {}, group {}, call {} to {}; told:{}", seed, seed % 8,
        ranks, truth.rank, truth.group, truth.first_seq, truth.last_seq, words_of(job, hang));
    EXPECT_NE(answer, Answer::kWrong) << what;
    const Job cut(read(simulated.dumps(GetParam(), kShortRing)));
    EXPECT_NE(answer_of(cut, hang_of(cut, Waits(cut)), truth), Answer::kWrong) << what;
    if (mistake == Mistake::kSlow) {
      EXPECT_EQ(answer, Answer::kUndecided) << what;
      EXPECT_EQ(hang.causes.front().ranks, std::vector<int>{truth.rank}) << what;
    }
    const bool good = answer == (mistake == Mistake::kSlow ? Answer::kUndecided : Answer::kNamed);
    named += good ? 1 : 0;
    if (!good) std::cout << "missed: " << what << '\n';
  }
  EXPECT_GE(named, 95);
}

INSTANTIATE_TEST_SUITE_P(Formats, GeneratedHangs,
                         testing::Values(Format::kNccl, Format::kGloo, Format::kBelfry));

}  // namespace
}  // namespace belfry::tool::hangs
