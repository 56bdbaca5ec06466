// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/sim/log.h"

#include "belfry/testing/asserts.h"
#include "testing/operations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>

namespace belfry::sim::log_test {
namespace {

using ::testing::HasSubstr;
using testing::log_of;
using testing::operation;
using testing::replica;

TEST(Log, EveryFieldButTheSiteCounts) {
  belfry::testing::asserts("SEM-77");
  const Operation base = replica(1, OperationKind::kArrive, 2);
  const auto hash_with = [&](const std::function<void(Operation&)>& change) {
    Operation other = base;
    change(other);
    return log_of({other}).hash();
  };
  const std::uint64_t hash = log_of({base}).hash();
  EXPECT_EQ(hash_with([](Operation& it) { it.site = {"elsewhere.cc", 7}; }), hash);
  EXPECT_NE(hash_with([](Operation& it) { it.agent.index = 2; }), hash);
  EXPECT_NE(hash_with([](Operation& it) { it.agent.kind = AgentId::Kind::kStream; }), hash);
  EXPECT_NE(hash_with([](Operation& it) { it.kind = OperationKind::kResume; }), hash);
  EXPECT_NE(hash_with([](Operation& it) { it.subject = 3; }), hash);
  EXPECT_NE(hash_with([](Operation& it) { it.value = 1; }), hash);
}

// Two replicas with equal steps are distinguished too.
TEST(Log, WhoTookAStepCounts) {
  const auto arrive = [](int who) { return replica(who, OperationKind::kArrive, 1); };
  const auto end = [](int who) { return replica(who, OperationKind::kEnd); };
  EXPECT_NE(log_of({arrive(0), arrive(1)}).hash(), log_of({arrive(1), arrive(0)}).hash());
  const Log first = log_of({arrive(0), arrive(1), end(0)});
  const Log second = log_of({arrive(0), arrive(1), end(1)});
  EXPECT_NE(first.hash(), second.hash());
  EXPECT_NE(first.order_free_hash(), second.order_free_hash());
  // For the first millions of replicas, and beyond.
  const Log third = log_of({arrive(0), arrive(1 << 23), end(1 << 23)});
  EXPECT_NE(third.order_free_hash(), second.order_free_hash());
  EXPECT_NE(third.order_free_hash(),
            log_of({arrive(0), arrive(1 << 23), end(0)}).order_free_hash());
}

// A start has neither a subject nor a value, and is something all the same.
TEST(Log, AStartCounts) {
  const Log none = log_of({});
  for (const int who : {0, 1, 1 << 23}) {
    const Operation start = replica(who, OperationKind::kStart, 0);
    const Operation end = replica(who, OperationKind::kEnd);
    EXPECT_NE(log_of({start}).hash(), none.hash()) << who;
    EXPECT_NE(log_of({start}).order_free_hash(), none.order_free_hash()) << who;
    EXPECT_NE(log_of({start, end}).order_free_hash(), log_of({end}).order_free_hash()) << who;
  }
}

TEST(Log, TheLimitDropsRecordsAndNotHashes) {
  const std::vector<Operation> operations(5, replica(0, OperationKind::kArrive));
  const Log whole = log_of(operations);
  const Log cut = log_of(operations, 2);
  EXPECT_EQ(cut.hash(), whole.hash());
  EXPECT_EQ(cut.records().size(), 2u);
  EXPECT_EQ(cut.dropped(), 3u);
}

// The log counts replicas in a quick way, and streams, merges and the host in a slower way.
TEST(Log, TheLimitHoldsForEveryAgent) {
  for (const auto kind : {AgentId::Kind::kReplica, AgentId::Kind::kMerge, AgentId::Kind::kStream,
                          AgentId::Kind::kHost}) {
    const std::vector<Operation> operations(5, operation(kind, 0, OperationKind::kWait));
    EXPECT_EQ(log_of(operations, 2).records().size(), 2u);
    EXPECT_EQ(log_of(operations, 2).size(), 5u);
  }
}

TEST(Log, ARecordIsPrintedWithAllDigitsOfItsValue) {
  const Log log = log_of(
      {operation(AgentId::Kind::kStream, 3, OperationKind::kExecute, 12, 0x0123456789ABCDEF)});
  EXPECT_EQ(to_string(log.records()[0]), "S3 execute 12 (0x0123456789abcdef)");
}

// Agents' own orders are kept, their interleaving is drawn.
RC_GTEST_PROP(Log, TheOrderFreeHashForgetsTheInterleavingOnly,
              (const std::vector<std::uint8_t>& turns)) {
  belfry::testing::asserts("SEM-77");
  std::vector<std::uint8_t> sorted = turns;
  std::sort(sorted.begin(), sorted.end());
  const auto log_in_order = [](const std::vector<std::uint8_t>& order) {
    Log log(1000);
    std::uint64_t steps[3] = {};
    for (const std::uint8_t turn : order) {
      const int agent = turn / 86;
      log.append(replica(agent, OperationKind::kArrive, ++steps[agent]));
    }
    return log;
  };
  const Log a = log_in_order(turns);
  const Log b = log_in_order(sorted);
  RC_ASSERT(a.order_free_hash() == b.order_free_hash());
  Log longer = b;
  longer.append(replica(0, OperationKind::kEnd));
  RC_ASSERT(longer.order_free_hash() != b.order_free_hash());
}

// Memory that replicas allocate and read belongs to the host, in any order.
RC_GTEST_PROP(Log, TheOrderFreeHashTakesTheHostsOperationsAsASet,
              (std::vector<std::uint64_t> bytes)) {
  const auto log_in_order = [&] {
    Log log(1000);
    for (const std::uint64_t count : bytes) {
      Operation allocation{.kind = OperationKind::kAllocate};
      allocation.value = count;
      log.append(allocation);
    }
    return log;
  };
  const Log forward = log_in_order();
  std::reverse(bytes.begin(), bytes.end());
  RC_ASSERT(log_in_order().order_free_hash() == forward.order_free_hash());
  bytes.push_back(1);
  RC_ASSERT(log_in_order().order_free_hash() != forward.order_free_hash());
}

// A replica ahead of the rest waits, in some orders once, in some often, in some never.
TEST(Log, TheOrderFreeHashLeavesOutWhoHadToWait) {
  belfry::testing::asserts("SEM-77");
  const Operation start = replica(1, OperationKind::kStart);
  const Operation wait = replica(1, OperationKind::kWait);
  const Operation end = replica(1, OperationKind::kEnd);
  const Log behind = log_of({start, end});
  for (const Log& ahead : {log_of({start, wait, end}), log_of({start, wait, wait, end})}) {
    EXPECT_EQ(ahead.order_free_hash(), behind.order_free_hash());
    EXPECT_NE(ahead.hash(), behind.hash());
  }
  // The host's waits are commands for streams: each command is in every order.
  const Operation command = operation(AgentId::Kind::kHost, 0, OperationKind::kWait, 1);
  EXPECT_NE(log_of({start, command, end}).order_free_hash(), behind.order_free_hash());
}

TEST(Log, AnyNumberOfAgentsHasAHash) {
  Log log(10);
  log.append(operation(AgentId::Kind::kStream, 1'000'000'000, OperationKind::kExecute));
  log.append(operation(AgentId::Kind::kReplica, -1, OperationKind::kStart));
  EXPECT_EQ(log.size(), 2u);
}

RC_GTEST_PROP(Compare, FindsTheFirstDifference,
              (const std::vector<std::uint8_t>& subjects, std::size_t where)) {
  RC_PRE(!subjects.empty());
  const std::size_t at = where % subjects.size();
  Log a(1000);
  Log b(1000);
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    a.append(replica(0, OperationKind::kArrive, subjects[i]));
    b.append(replica(0, OperationKind::kArrive, subjects[i] + (i == at ? 1 : 0)));
  }
  RC_ASSERT(!compare(a, a).has_value());
  const auto difference = compare(a, b);
  RC_ASSERT(difference.has_value());
  RC_ASSERT(difference->index == at);
  RC_ASSERT(difference->first->subject == subjects[at]);
  RC_ASSERT(difference->second->subject == subjects[at] + 1u);
}

TEST(Compare, PrintsBothSidesAndWhatLedToThem) {
  const Operation start = replica(0, OperationKind::kStart);
  const Log a = log_of({start, replica(2, OperationKind::kArrive, 1)});
  const Log b = log_of({start});
  const auto difference = compare(a, b);
  ASSERT_TRUE(difference.has_value());
  EXPECT_EQ(difference->index, 1u);
  EXPECT_FALSE(difference->second.has_value());
  EXPECT_EQ(difference->text,
            "operation 1 differs:\n"
            "  first : R2 arrive 1\n"
            "  second: has ended\n"
            "after, in both:\n"
            "  R0 start 0\n");
}

TEST(Compare, PrintsTheThreeOperationsBeforeTheDifference) {
  std::vector<Operation> operations;
  for (int i = 0; i < 5; ++i) operations.push_back(replica(i, OperationKind::kStart));
  const Log a = log_of(operations);
  operations.back().kind = OperationKind::kEnd;
  EXPECT_EQ(compare(a, log_of(operations))->text,
            "operation 4 differs:\n"
            "  first : R4 start 0\n"
            "  second: R4 end 0\n"
            "after, in both:\n"
            "  R1 start 0\n"
            "  R2 start 0\n"
            "  R3 start 0\n");
}

TEST(Compare, PrintsNamesAndLines) {
  Operation fill = operation(AgentId::Kind::kStream, 0, OperationKind::kExecute, 1);
  fill.name = "fill";
  fill.site = {"train.cpp", 5};
  Operation copy = fill;
  copy.subject = 2;
  copy.name = "copy";
  EXPECT_EQ(compare(log_of({fill, fill}), log_of({fill, copy}))->text,
            "operation 1 differs:\n"
            "  first : S0 execute 1, fill, train.cpp:5\n"
            "  second: S0 execute 2, copy, train.cpp:5\n"
            "after, in both:\n"
            "  S0 execute 1, fill, train.cpp:5\n");
}

TEST(Compare, DifferencesBeyondTheKeptRecordsAreFoundToo) {
  const Operation start = replica(0, OperationKind::kStart);
  const Log a = log_of({start, replica(0, OperationKind::kEnd)}, 1);
  const Log b = log_of({start, replica(0, OperationKind::kThrow)}, 1);
  const auto difference = compare(a, b);
  ASSERT_TRUE(difference.has_value());
  EXPECT_EQ(difference->index, 1u);
  EXPECT_THAT(difference->text, HasSubstr("first : not kept"));
}

}  // namespace
}  // namespace belfry::sim::log_test
