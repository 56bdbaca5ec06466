// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "hangs/hang.h"

#include "belfry/error.h"
#include "hangs/dump_reader.h"

#include <gtest/gtest.h>
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

namespace belfry::tool::hangs {
namespace {

// An entry; `more` are members.
struct TestEntry {
  std::string group = "0";
  int seq = 1;
  std::string kind = "all_reduce";
  std::string inputs = "[8]";
  std::string state = "completed";
  std::string more{};
};

std::string dump_of(const std::vector<TestEntry>& entries, const std::string& config,
                    int first_record = 0) {
  std::string text;
  for (const TestEntry& entry : entries) {
    text += fmt::format(
        R"({}{{"record_id":{},"pg_id":{},"process_group":["{}",""],"collective_seq_id":{},)"
        R"("profiling_name":"nccl:{}","input_sizes":[{}],"state":"{}"{}}})",
        text.empty() ? "" : ",", first_record++, entry.group, entry.group, entry.seq, entry.kind,
        entry.inputs, entry.state, entry.more);
  }
  return fmt::format(R"({{"version":"2.10","pg_config":{{{}}},"entries":[{}]}})", config, text);
}

std::string group(const std::string& name, const std::string& ranks) {
  return fmt::format(R"("{}":{{"desc":"","ranks":"[{}]"}})", name, ranks);
}

// The hang of dumps of ranks from 0 on.
struct Read {
  explicit Read(const std::vector<std::string>& texts) : job(dumps_of(texts)) {}
  static std::vector<Dump> dumps_of(const std::vector<std::string>& texts) {
    std::vector<Dump> dumps;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      dumps.push_back(parse_dump(texts[i], fmt::format("rank{}.json", i)));
    }
    return dumps;
  }

  Job job;
  Waits waits{job};
  Hang hang = hang_of(job, waits);
};

const std::string kTwo = group("0", "0, 1");

TEST(Hang, LeavesOutSizesThatMayDiffer) {
  const auto rank = [](const char* size) {
    return dump_of({{.kind = "all_to_all", .inputs = size},
                    {.seq = 2, .kind = "all_gather", .inputs = size},
                    {.seq = 3, .inputs = "[2, 4]"},
                    {.seq = 4, .kind = "gather_to", .inputs = size},
                    {.seq = 5, .kind = "scatter_from", .inputs = size},
                    {.seq = 6, .kind = "permute", .inputs = size}},
                   kTwo);
  };
  EXPECT_EQ(Read({rank("[8]"), rank("[12]")}).hang.verdict, Verdict::kNothing);
  // An equal number of elements in a different shape fits.
  EXPECT_EQ(Read({dump_of({{.inputs = "[2, 4]"}}, kTwo), dump_of({{.inputs = "[8]"}}, kTwo)})
                .hang.verdict,
            Verdict::kNothing);
}

TEST(Hang, ComparesOperatorsAndRootsWhereBothAreKnown) {
  const auto rank = [](const char* more) { return dump_of({{.more = more}}, kTwo); };
  const Read operators({rank(R"(,"belfry":{"op":"sum"})"), rank(R"(,"belfry":{"op":"max"})")});
  ASSERT_EQ(operators.hang.verdict, Verdict::kNamed);
  EXPECT_EQ(operators.hang.causes.front().divergence->what, Difference::kOperator);
  const Read roots({rank(R"(,"belfry":{"root":0})"), rank(R"(,"belfry":{"root":1})")});
  EXPECT_EQ(roots.hang.causes.front().divergence->what, Difference::kRoot);
  EXPECT_EQ(Read({rank(R"(,"belfry":{"op":"sum"})"), rank("")}).hang.verdict, Verdict::kNothing);
}

TEST(Hang, TellsThePartOfOperationsWithOneNumber) {
  const auto rank = [](const char* second) {
    return dump_of({{.inputs = "[1]"}, {.inputs = second}}, kTwo);
  };
  const Read read({rank("[2]"), rank("[3]")});
  ASSERT_EQ(read.hang.causes.size(), 1u);
  EXPECT_EQ(read.hang.causes.front().call, (CallId{.group = 0, .seq = 1, .part = 1}));
}

TEST(Hang, FollowsSendsAndReceives) {
  const auto op = [](const char* kind) {
    return TestEntry{.kind = kind, .state = "scheduled", .more = R"(,"is_p2p":true)"};
  };
  const Read circle({dump_of({op("recv 0<-1")}, kTwo), dump_of({op("recv 1<-0")}, kTwo)});
  EXPECT_EQ(circle.hang.verdict, Verdict::kNamed);
  EXPECT_EQ(circle.hang.causes.front().kind, FindingKind::kCircle);
  const Read behind({dump_of({}, kTwo), dump_of({op("recv 1<-0")}, kTwo)});
  EXPECT_EQ(behind.hang.verdict, Verdict::kUndecided);
  EXPECT_EQ(behind.hang.causes.front().ranks, std::vector<int>{0});
  const Read met({dump_of({op("send 0->1")}, kTwo), dump_of({op("recv 1<-0")}, kTwo)});
  EXPECT_EQ(met.hang.causes.front().kind, FindingKind::kStalled);
}

// The ring of rank 1 has lost all calls of rank 0.
TEST(Hang, BlamesNoRankForLostCalls) {
  const Read read({dump_of({{.seq = 1}, {.seq = 2, .state = "scheduled"}}, kTwo),
                   dump_of({{.seq = 8, .kind = "broadcast"}, {.seq = 9}}, kTwo, 7)});
  EXPECT_EQ(read.hang.verdict, Verdict::kUndecided);
  EXPECT_EQ(read.hang.causes.front().kind, FindingKind::kStalled);
  EXPECT_EQ(read.hang.notes.size(), 2u);  // The ring begins late; no common call.
  // No call of group 0 is left, and perhaps rank 1 has made call 2.
  const std::string both = kTwo + "," + group("1", "0, 1");
  const Read lost({dump_of({{.seq = 2, .state = "scheduled"}}, both, 1),
                   dump_of({{.group = "1", .seq = 9}}, both, 8)});
  EXPECT_EQ(lost.hang.causes.front().kind, FindingKind::kStalled);
}

TEST(Hang, ComparesGroupsOfOneNameOnlyOnTheirRanks) {
  const auto rank = [](const char* ranks, const char* kind) {
    return dump_of({{.group = "7", .kind = kind}}, group("7", ranks));
  };
  EXPECT_EQ(Read({rank("0, 1", "all_reduce"), rank("0, 1", "all_reduce"), rank("2, 3", "broadcast"),
                  rank("2, 3", "broadcast")})
                .hang.verdict,
            Verdict::kNothing);
}

// gloo leaves all states at `scheduled`, and retires a call after the timeout.
TEST(Hang, SeesTheRankBehindACallThatGaveUp) {
  const TestEntry gave_up{.seq = 2, .state = "scheduled", .more = R"(,"retired":true)"};
  TestEntry done = gave_up;
  done.seq = 1;
  const Read read({dump_of({done, gave_up}, kTwo), dump_of({done}, kTwo)});
  EXPECT_EQ(read.hang.verdict, Verdict::kUndecided);
  EXPECT_EQ(read.hang.causes.front().kind, FindingKind::kBehind);
  EXPECT_EQ(read.hang.causes.front().ranks, std::vector<int>{1});
}

// Rank 2 waits in group 1 for rank 3, and rank 3 in group 0 for rank 2: most ranks of both groups
// make the call of group 0 first.
TEST(Hang, NamesTheRankWithTheRarerOrder) {
  const std::string groups = group("0", "0, 1, 2, 3") + "," + group("1", "1, 2, 3");
  const std::string first = dump_of({{.seq = 1, .state = "started"}}, groups);
  const Read read({dump_of({{.seq = 1, .state = "started"}}, group("0", "0, 1, 2, 3")), first,
                   dump_of({{.group = "1", .seq = 1, .state = "started"}}, groups), first});
  ASSERT_EQ(read.hang.verdict, Verdict::kNamed);
  EXPECT_EQ(read.hang.causes.front().kind, FindingKind::kCircle);
  EXPECT_FALSE(read.hang.causes.front().is_tie);
  EXPECT_EQ(read.hang.causes.front().ranks, std::vector<int>{2});
}

}  // namespace
}  // namespace belfry::tool::hangs
