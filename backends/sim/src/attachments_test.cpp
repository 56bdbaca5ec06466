// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Schedules of a Chooser of the caller's own.
#include "belfry/sim/attachments.h"

#include "belfry/belfry.h"
#include "belfry/sim/backend.h"
#include "belfry/sim/replay_token.h"
#include "belfry/testing/asserts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

namespace belfry::sim::attachments_test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;

constexpr std::uint32_t kTooLarge = ~std::uint32_t{0};

// Gives one answer always, by count.
class Constant final : public Chooser {
 public:
  explicit Constant(std::uint32_t answer) : answer_(answer) {}
  std::uint32_t choose(ChoiceKind, std::uint32_t count) override {
    counts.push_back(count);
    return answer_ == kTooLarge ? kTooLarge : answer_ % count;
  }

  std::vector<std::uint32_t> counts;

 private:
  std::uint32_t answer_;
};

// Takes the last candidate, by name.
class LastByName final : public Chooser {
 public:
  std::uint32_t choose(ChoiceKind kind, std::uint32_t) override {
    EXPECT_NE(kind, ChoiceKind::kAgent);
    return 0;
  }
  bool wants_candidates() const override { return true; }
  std::uint32_t choose_among(std::span<const AgentId> candidates) override {
    std::string names;
    for (const AgentId& agent : candidates) names += (names.empty() ? "" : " ") + to_string(agent);
    asked.push_back(names);
    return static_cast<std::uint32_t>(candidates.size()) - 1;
  }

  std::vector<std::string> asked;
};

float program(belfry::Backend& backend) {
  MirroredStrategy strategy{backend};
  const auto results = strategy.run([&](ReplicaContext& replica) {
    const auto x = Tensor<float>::full(Shape{2}, 1.0F + static_cast<float>(replica.replica_id()));
    const auto sum = replica.all_reduce(ReduceOp::kSum, x);
    return sum.copy_to(strategy.placement(0)).to_host()[0];
  });
  return results[1];
}

int merge_once(belfry::Backend& backend) {
  MirroredStrategy strategy{backend};
  return strategy.run([](ReplicaContext& replica) {
    return replica.all_reduce(ReduceOp::kSum, replica.replica_id());
  })[0];
}

TEST(AnOwnChooser, ThatAlwaysTakesTheFirstMakesTheFixedSchedule) {
  Constant first(0);
  Backend own{{.devices = 3}, Attachments{.chooser = &first}};
  Backend fixed{{.devices = 3, .schedule = Schedule::fixed()}};
  EXPECT_EQ(program(own), 6.0F);
  EXPECT_EQ(program(fixed), 6.0F);
  EXPECT_EQ(own.hash(), fixed.hash());
  EXPECT_EQ(own.replay_token(), fixed.replay_token());
}

TEST(AnOwnChooser, IsAskedOnlyIfThereIsAChoice) {
  Constant last(1);
  Backend backend{{.devices = 3}, Attachments{.chooser = &last}};
  program(backend);
  EXPECT_THAT(last.counts, Each(Ge(2u)));
}

TEST(AnOwnChooser, HearsTheNamesOfTheCandidates) {
  LastByName last;
  Backend backend{{.devices = 3}, Attachments{.chooser = &last}};
  EXPECT_EQ(merge_once(backend), 3);
  // The last goes first, and the front of the queue takes its place.
  EXPECT_THAT(last.asked, ElementsAre("R0 R1 R2", "R1 R0", "R0 R1 R2", "R1 R0"));
}

// With device work the streams are candidates too, behind the replicas.
TEST(AnOwnChooser, HearsTheNamesOfStreams) {
  LastByName last;
  Backend backend{{.devices = 2}, Attachments{.chooser = &last}};
  MirroredStrategy strategy{backend};
  const std::int32_t of_device_1 = 16;  // Each device has sixteen numbers.
  strategy.run([](ReplicaContext& replica) {
    return Tensor<float>::full(Shape{2}, static_cast<float>(replica.replica_id())).to_host()[0];
  });
  // R1 starts and may submit; R0 starts, and its work and that of R1 are pending or done.
  ASSERT_GE(last.asked.size(), 3u);
  EXPECT_EQ(last.asked[0], "R0 R1");
  EXPECT_EQ(last.asked[1], "R1 R0");
  EXPECT_THAT(last.asked,
              ::testing::Contains(::testing::EndsWith("S" + std::to_string(of_device_1))));
}

TEST(AnOwnChooser, MakesTheSameRunByNameAndByCount) {
  LastByName by_name;
  Constant by_count(kTooLarge);
  Backend named{{.devices = 3}, Attachments{.chooser = &by_name}};
  Backend counted{{.devices = 3}, Attachments{.chooser = &by_count}};
  merge_once(named);
  merge_once(counted);
  EXPECT_EQ(named.replay_token(), counted.replay_token());  // The largest answer is the last.
  EXPECT_EQ(named.hash(), counted.hash());
}

TEST(AnOwnChooser, MakesTokensThatReplay) {
  belfry::testing::asserts("SEM-71");
  for (const std::uint32_t answer : {0u, 1u, 2u, 5u}) {
    Constant own(answer);
    Backend first{{.devices = 3, .digests = Digests::kAll}, Attachments{.chooser = &own}};
    program(first);
    Backend again{{.devices = 3,
                   .schedule = Schedule::replay(first.replay_token()),
                   .digests = Digests::kAll}};
    EXPECT_EQ(program(again), 6.0F);
    EXPECT_EQ(again.hash(), first.hash());
    EXPECT_EQ(again.replay_token(), first.replay_token());
  }
}

TEST(AnOwnChooser, GoesOnAfterAReplayedPrefix) {
  Backend whole{{.devices = 3, .seed = 5}};
  program(whole);
  const std::vector<Choice> all = whole.choices();
  ASSERT_GT(all.size(), 8u);
  for (const std::size_t length : {std::size_t{0}, std::size_t{1}, all.size() / 2, all.size()}) {
    Schedule prefix{.kind = ScheduleKind::kReplayed,
                    .choices = {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(length)}};
    Constant rest(1);
    Backend mixed{{.devices = 3, .schedule = prefix}, Attachments{.chooser = &rest}};
    EXPECT_EQ(program(mixed), 6.0F);
    const std::vector<Choice> made = mixed.choices();
    ASSERT_GE(made.size(), length);
    EXPECT_TRUE(std::equal(prefix.choices.begin(), prefix.choices.end(), made.begin()));
    EXPECT_EQ(rest.counts.size(), made.size() - length);
    Backend again{{.devices = 3, .schedule = Schedule::replay(mixed.replay_token())}};
    program(again);
    EXPECT_EQ(again.hash(), mixed.hash());
    EXPECT_EQ(mixed.hash() == whole.hash(), length == all.size());
  }
}

TEST(AnOwnChooser, DoesNotRepairAPrefixThatDoesNotFit) {
  const Choice misfit{ChoiceKind::kAgent, 7, 6};
  Constant rest(0);
  Backend backend{{.devices = 3, .schedule = {ScheduleKind::kReplayed, {misfit}}},
                  Attachments{.chooser = &rest}};
  EXPECT_THROW(merge_once(backend), InvalidArgumentError);
}

TEST(AnOwnChooser, MayRunUnrecorded) {
  Constant last(kTooLarge);
  Backend backend{{.devices = 3, .record = false}, Attachments{.chooser = &last}};
  EXPECT_EQ(program(backend), 6.0F);
  EXPECT_FALSE(last.counts.empty());
}

}  // namespace
}  // namespace belfry::sim::attachments_test
