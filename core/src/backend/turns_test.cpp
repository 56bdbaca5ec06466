// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The turns that given answers of the chooser lead to. A replay token stores answers alone, so
// equal answers must always give equal turns: the order of the queue is a promise, like the serial
// order of a chooser that answers 0.
#include "backend/turns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>

namespace belfry::detail::turns_test {
namespace {

// Answers from a list, and records the numbers of choices.
class Listed final : public Chooser {
 public:
  explicit Listed(std::vector<std::uint32_t> answers) : answers_(std::move(answers)) {}
  std::uint32_t choose(ChoiceKind kind, std::uint32_t count) override {
    EXPECT_EQ(kind, ChoiceKind::kAgent);
    counts.push_back(count);
    return answers_.at(next_++);
  }
  std::vector<std::uint32_t> counts;

 private:
  std::vector<std::uint32_t> answers_;
  std::size_t next_ = 0;
};

class TwoStreams final : public OtherAgents {
 public:
  std::uint32_t runnable() override { return 2; }
  void run(std::uint32_t) override {}
};

std::vector<Gate::Waiter> waiters(const std::vector<int>& ids) {
  std::vector<Gate::Waiter> list;
  for (const int id : ids) list.push_back({nullptr, id});
  return list;
}

void admit(Turns& turns, const std::vector<int>& ids) {
  const auto list = waiters(ids);
  turns.admit(list.data(), list.size());
}

int replica(Turn turn) {
  return turn.kind == Turn::Kind::kReplica ? static_cast<int>(turn.index) : -1;
}

std::vector<int> drain(Turns& turns) {
  std::vector<int> order;
  for (Turn turn = turns.next(); turn.kind != Turn::Kind::kNobody; turn = turns.next()) {
    order.push_back(replica(turn));
  }
  return order;
}

TEST(Turns, ReturningReplicasAreSortedIntoTheQueue) {
  Turns turns(nullptr, nullptr);
  turns.begin(6);
  for (int i = 0; i < 5; ++i) turns.next();
  admit(turns, {3, 1});
  admit(turns, {4});
  EXPECT_EQ(drain(turns), (std::vector<int>{1, 3, 4, 5}));
}

TEST(Turns, AnswersTakeAReplicaAndMoveTheFrontIntoItsSlot) {
  // Queue 0 1 2 3. Answer 2 takes replica 2 and moves 0 into its slot: 1 0 3. Answer 1 takes 0 and
  // moves 1 into its slot: 1 3. Answer 1 takes 3: 1. A single replica is left, without a choice.
  Listed chooser({2, 1, 1});
  Turns turns(&chooser, nullptr);
  turns.begin(4);
  EXPECT_EQ(drain(turns), (std::vector<int>{2, 0, 3, 1}));
  EXPECT_EQ(chooser.counts, (std::vector<std::uint32_t>{4, 3, 2}));
}

TEST(Turns, AnswersBeyondTheQueueAreOtherAgents) {
  Listed chooser({3, 1});
  TwoStreams streams;
  Turns turns(&chooser, &streams);
  turns.begin(2);
  const Turn agent = turns.next();  // 0 and 1 are replicas, 2 and 3 are streams.
  EXPECT_EQ(agent.kind, Turn::Kind::kAgent);
  EXPECT_EQ(agent.index, 1U);
  EXPECT_EQ(replica(turns.next()), 1);
  EXPECT_EQ(chooser.counts, (std::vector<std::uint32_t>{4, 4}));
}

TEST(Turns, PreemptedCallersTakeTheSlotOfTheirSuccessor) {
  // Caller 0, queue 1 2 3; answer 2 is the second in the queue.
  Listed chooser({0, 2, 0, 1});
  Turns turns(&chooser, nullptr);
  turns.begin(4);
  EXPECT_EQ(replica(turns.next()), 0);
  EXPECT_EQ(replica(turns.preempt(0)), 2);  // Queue 1 0 3.
  EXPECT_EQ(replica(turns.next()), 1);      // Queue 0 3.
  EXPECT_EQ(replica(turns.next()), 3);      // Queue 0.
  EXPECT_EQ(drain(turns), (std::vector<int>{0}));
  EXPECT_EQ(chooser.counts, (std::vector<std::uint32_t>{4, 4, 3, 2}));
}

TEST(Turns, CallersGoNextAfterAPreemptionByAStream) {
  Listed chooser({0, 3, 0});
  TwoStreams streams;
  Turns turns(&chooser, &streams);
  turns.begin(2);
  EXPECT_EQ(replica(turns.next()), 0);
  const Turn agent = turns.preempt(0);  // 0 is the caller, 1 replica 1, 2 and 3 the streams.
  EXPECT_EQ(agent.kind, Turn::Kind::kAgent);
  EXPECT_EQ(agent.index, 1U);
  EXPECT_EQ(replica(turns.next()), 0);
}

// More than 128 ready replicas: 16 turns are drawn ahead (SEM-71).
constexpr int kMany = 4200;

std::vector<int> next_few(Turns& turns, int count) {
  std::vector<int> order;
  for (int i = 0; i < count; ++i) order.push_back(replica(turns.next()));
  return order;
}

TEST(Turns, DrawingAheadKeepsTheSerialOrderAndAsksOnceForEachTurn) {
  Listed chooser(std::vector<std::uint32_t>(kMany, 0));
  Turns turns(&chooser, nullptr);
  turns.begin(kMany);
  const std::vector<int> order = drain(turns);
  ASSERT_EQ(order.size(), static_cast<std::size_t>(kMany));
  for (int i = 0; i < kMany; ++i) ASSERT_EQ(order[static_cast<std::size_t>(i)], i);
  ASSERT_EQ(chooser.counts.size(), static_cast<std::size_t>(kMany - 1));
  for (int i = 0; i < kMany - 1; ++i) {
    ASSERT_EQ(chooser.counts[static_cast<std::size_t>(i)], static_cast<std::uint32_t>(kMany - i));
  }
  EXPECT_TRUE(turns.empty());
}

TEST(Turns, DrawnReplicasRunBeforeNewlyReadyReplicas) {
  Listed chooser(std::vector<std::uint32_t>(kMany, 0));
  Turns turns(&chooser, nullptr);
  turns.begin(kMany);
  EXPECT_EQ(replica(turns.next()), 0);  // 1 to 15 are drawn.
  EXPECT_EQ(turns.ahead(0), 1);
  EXPECT_EQ(turns.ahead(14), 15);
  EXPECT_EQ(turns.ahead(15), -1);
  admit(turns, {0});
  EXPECT_EQ(next_few(turns, 17),
            (std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 16}));
}

TEST(Turns, PreemptedCallersTakeTheSlotOfDrawnOrQueuedReplicas) {
  std::vector<std::uint32_t> answers(64, 0);
  answers[16] = 2;   // After 16 draws: the second of the drawn replicas 1 to 15.
  answers[17] = 16;  // Beyond the 15 drawn: the first in the queue, 16.
  Listed chooser(answers);
  Turns turns(&chooser, nullptr);
  turns.begin(kMany);
  EXPECT_EQ(replica(turns.next()), 0);
  EXPECT_EQ(replica(turns.preempt(0)), 2);   // Drawn: 1 0 3 ... 15.
  EXPECT_EQ(replica(turns.preempt(2)), 16);  // Queue: 2 17 ...
  EXPECT_EQ(next_few(turns, 17),
            (std::vector<int>{1, 0, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 2, 17}));
}

// An answer beyond the queue selects the same stream for any number of ready replicas.
TEST(Turns, AnswersBeyondALongQueueAreOtherAgents) {
  Listed chooser({0, kMany + 1});
  TwoStreams streams;
  Turns turns(&chooser, &streams);
  turns.begin(kMany + 1);
  // Replica 0 is drawn, and the second draw is for a stream.
  const Turn agent = turns.next();
  EXPECT_EQ(agent.kind, Turn::Kind::kAgent);
  EXPECT_EQ(agent.index, 1U);
}

TEST(Turns, WaitsLetTheChooserPickAnAgent) {
  Listed chooser({1, 0});
  TwoStreams streams;
  Turns turns(&chooser, &streams);
  turns.begin(1);
  EXPECT_EQ(turns.wait().index, 1U);
  EXPECT_EQ(turns.wait().index, 0U);
  EXPECT_EQ(chooser.counts, (std::vector<std::uint32_t>{2, 2}));
}

TEST(Turns, CallersOutsideReplicasLetTheChooserPickAnAgent) {
  Listed chooser({2, 1, 0});
  TwoStreams streams;
  Turns turns(&chooser, &streams);
  turns.begin(0);
  for (const std::uint32_t index : {1U, 0U}) {
    const Turn agent = turns.preempt_caller();
    EXPECT_EQ(agent.kind, Turn::Kind::kAgent);
    EXPECT_EQ(agent.index, index);
  }
  EXPECT_EQ(turns.preempt_caller().kind, Turn::Kind::kNobody);
  EXPECT_EQ(chooser.counts, (std::vector<std::uint32_t>{3, 3, 3}));
}

// An empty queue counts as ordered, whatever the choices before.
TEST(Turns, CancelledReplicasStartAnOrderedQueue) {
  Listed chooser({3, 1, 1, 0, 0});
  Turns turns(&chooser, nullptr);
  turns.begin(4);
  EXPECT_EQ(drain(turns), (std::vector<int>{3, 2, 0, 1}));
  turns.admit(std::vector<int>{1, 3});
  admit(turns, {2});
  EXPECT_EQ(drain(turns), (std::vector<int>{1, 2, 3}));
}

TEST(Turns, SingleChoicesDoNotAskTheChooser) {
  Listed chooser({});
  Turns turns(&chooser, nullptr);
  turns.begin(1);
  EXPECT_EQ(replica(turns.next()), 0);
  EXPECT_EQ(replica(turns.preempt(0)), 0);
  EXPECT_EQ(turns.next().kind, Turn::Kind::kNobody);
  EXPECT_EQ(turns.preempt_caller().kind, Turn::Kind::kNobody);
  EXPECT_EQ(turns.wait().kind, Turn::Kind::kNobody);
}

// Takes answers from a list, by name.
class ByName final : public Chooser {
 public:
  explicit ByName(std::vector<std::uint32_t> answers) : answers_(std::move(answers)) {}
  std::uint32_t choose(ChoiceKind, std::uint32_t) override { return kBad; }
  bool wants_candidates() const override { return true; }
  std::uint32_t choose_among(std::span<const AgentId> candidates) override {
    std::string names;
    for (const AgentId& agent : candidates) names += (names.empty() ? "" : " ") + to_string(agent);
    asked.push_back(names);
    return asked.size() <= answers_.size() ? answers_[asked.size() - 1] : 0;
  }

  static constexpr std::uint32_t kBad = 1000;
  std::vector<std::string> asked;

 private:
  std::vector<std::uint32_t> answers_;
};

TEST(TurnsByName, NameReplicasInTheOrderOfTheQueueAndThenAgents) {
  ByName chooser({1, 2, 0, 1});
  TwoStreams streams;
  Turns turns(&chooser, &streams);
  turns.begin(3);
  EXPECT_EQ(replica(turns.next()), 1);
  EXPECT_EQ(replica(turns.preempt(1)), 2);
  EXPECT_EQ(replica(turns.next()), 0);  // Replica 1 is in the gap that replica 2 left.
  EXPECT_EQ(turns.preempt_caller().index, 0u);
  EXPECT_EQ(chooser.asked, (std::vector<std::string>{"R0 R1 R2 S0 S1", "R1 R0 R2 S0 S1",
                                                     "R0 R1 S0 S1", "M0 S0 S1"}));
}

TEST(TurnsByName, NameAHostOutsideRuns) {
  ByName chooser({2});
  TwoStreams streams;
  Turns turns(&chooser, &streams);
  turns.begin(0);
  EXPECT_EQ(turns.preempt_caller().index, 1u);
  EXPECT_EQ(turns.wait().index, 0u);
  EXPECT_EQ(chooser.asked, (std::vector<std::string>{"H0 S0 S1", "S0 S1"}));
}

// Above 128 ready replicas turns are decided ahead; their replicas stay candidates.
TEST(TurnsByName, NameThoseWhoseTurnsAreDecided) {
  ByName chooser({5, 0});
  Turns turns(&chooser, nullptr);
  turns.begin(130);
  EXPECT_EQ(replica(turns.next()), 5);
  ASSERT_EQ(chooser.asked.size(), 2u);
  EXPECT_EQ(chooser.asked[0].substr(0, 8), "R0 R1 R2");
  EXPECT_EQ(chooser.asked[1].substr(0, 14), "R1 R2 R3 R4 R0");  // R0 is in the gap of R5.
  EXPECT_EQ(std::ranges::count(chooser.asked[1], ' '), 128);
  EXPECT_EQ(replica(turns.preempt(5)), 5);
  EXPECT_EQ(std::ranges::count(chooser.asked[2], ' '), 129);  // All of them, and
  EXPECT_EQ(chooser.asked[2].substr(0, 8), "R5 R1 R2");       // first the caller and the decided.
}

}  // namespace
}  // namespace belfry::detail::turns_test
