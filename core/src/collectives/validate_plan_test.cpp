// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Plans that are no all-reduce are refused, with the step and the members (SEM-147).
#include "belfry/belfry.h"
#include "belfry/testing/asserts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace belfry::validate_plan_test {
namespace {

using ::testing::HasSubstr;

// Two members: 0 adds, 1 copies.
ReductionPlan good() {
  return {.members = 2, .sums = {{{0, {}, {0, 1}}}}, .copies = {{{0, 1, {}}}}};
}

std::string refusal(const ReductionPlan& plan) {
  try {
    validate(plan);
  } catch (const InvalidArgumentError& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(error.what(), HasSubstr("validate_plan_test.cpp"));
    return error.report().summary;
  }
  return "";
}

TEST(ValidPlans, AreThoseOfEveryAlgorithm) {
  testing::asserts("SEM-147");
  EXPECT_EQ(refusal(good()), "");
  for (int members = 1; members <= 17; ++members) {
    EXPECT_EQ(refusal(RingAllReduce().plan(members).value()), "");
    EXPECT_EQ(refusal(RingAllReduce({.start = 3}).plan(members).value()), "");
    EXPECT_EQ(refusal(TreeAllReduce().plan(members).value()), "");
    EXPECT_EQ(refusal(HalvingDoublingAllReduce().plan(members).value()), "");
    EXPECT_EQ(refusal(ShuffleAllReduce().plan(members).value()), "");
    EXPECT_EQ(refusal(ShuffleAllReduce(3).plan(members).value()), "");
    EXPECT_EQ(refusal(HierarchicalAllReduce().plan(members).value()), "");
    EXPECT_EQ(refusal(ReductionToOneDevice().plan(members).value()), "");
  }
}

TEST(WrongPlans, HaveMembersOrChunksOutOfRange) {
  testing::asserts("SEM-147");
  ReductionPlan plan = good();
  plan.members = 0;
  EXPECT_EQ(refusal(plan), "a plan of a reduction is wrong: the plan has no members");
  plan = good();
  plan.chunks = 0;
  EXPECT_EQ(refusal(plan), "a plan of a reduction is wrong: the plan has no chunks");
  plan = good();
  plan.sums[0][0].terms = {0, 2};
  EXPECT_EQ(refusal(plan),
            "step 1 of a plan of a reduction is wrong: member 2 is not one of the 2 members");
  plan = good();
  plan.sums[0][0].member = -1;
  EXPECT_THAT(refusal(plan), HasSubstr("member -1 is not one of the 2 members"));
  plan = good();
  plan.copies[0][0].chunks = {0, 2};
  EXPECT_EQ(refusal(plan),
            "step 2 of a plan of a reduction is wrong: 2 chunks from chunk 0 are "
            "not among the 1 chunks");
}

TEST(WrongPlans, LoseOrRepeatInputs) {
  testing::asserts("SEM-147");
  ReductionPlan plan = good();
  plan.sums[0][0].terms = {1};
  EXPECT_THAT(refusal(plan), HasSubstr("member 0 adds without its own term, which is lost"));
  plan = good();
  plan.sums[0][0].terms = {0, 1, 1};
  EXPECT_THAT(refusal(plan), HasSubstr("member 0 adds member 1 twice"));
  plan = good();
  plan.sums.push_back({{0, {}, {0, 1}}});
  EXPECT_EQ(refusal(plan),
            "step 2 of a plan of a reduction is wrong: member 0 adds an input to "
            "chunk 0 that is in the sum already");
  plan = {.members = 3, .sums = {{{0, {}, {0, 1}}}}, .copies = {{{0, 1, {}}, {0, 2, {}}}}};
  EXPECT_EQ(refusal(plan),
            "a plan of a reduction is wrong: no member has the sum of all inputs "
            "for chunk 0 after the sums");
}

TEST(WrongPlans, LetTwoMembersAddTheSame) {
  testing::asserts("SEM-147");
  const ReductionPlan plan{.members = 2, .sums = {{{0, {}, {0, 1}}, {1, {}, {1, 0}}}}};
  EXPECT_EQ(refusal(plan),
            "step 1 of a plan of a reduction is wrong: member 1 reads chunk 0 of "
            "member 0, which the same step writes");
}

TEST(WrongPlans, ReadAndWriteAChunkInOneStep) {
  testing::asserts("SEM-147");
  // 2 adds what 1 has, while 1 adds what 0 has.
  const ReductionPlan plan{.members = 3, .sums = {{{2, {}, {1, 2}}, {1, {}, {0, 1}}}}};
  EXPECT_EQ(refusal(plan),
            "step 1 of a plan of a reduction is wrong: chunk 0 of member 1 is "
            "written, and the same step reads it");
  ReductionPlan twice = good();
  twice.copies[0].push_back({0, 1, {}});
  EXPECT_EQ(refusal(twice),
            "step 2 of a plan of a reduction is wrong: chunk 0 of member 1 is "
            "written twice");
}

TEST(WrongPlans, LeaveAMemberWithoutTheResult) {
  testing::asserts("SEM-147");
  // Member `without` alone never receives what member 0 has.
  ReductionPlan plan;
  for (const int without : {1, 2, 3}) {
    plan = {.members = 4, .sums = {{{0, {}, {0, 1, 2, 3}}}}, .copies = {{}}};
    for (const int member : {1, 2, 3}) {
      if (member != without) plan.copies[0].push_back({0, member, {}});
    }
    EXPECT_EQ(refusal(plan), "a plan of a reduction is wrong: member " + std::to_string(without) +
                                 " never receives the result of chunk 0");
  }
  plan = {.members = 3, .sums = {{{0, {}, {0, 1, 2}}}}, .copies = {{{1, 2, {}}, {0, 1, {}}}}};
  EXPECT_EQ(refusal(plan),
            "step 2 of a plan of a reduction is wrong: member 2 copies chunk 0 from "
            "member 1, which does not have the result");
}

// A user's algorithm that forgets the last member.
class Forgetful final : public PlannedAllReduce {
 public:
  std::string_view name() const override { return "forgetful"; }
  ReductionOrder order(ReplicaDevices&) const override { return ReductionOrder::kTree; }
  std::optional<ReductionPlan> plan(int members) const override {
    ReductionPlan plan = TreeAllReduce().plan(members).value();
    if (!plan.copies.empty()) plan.copies.pop_back();
    return plan;
  }
};

TEST(WrongPlans, AreRefusedAtTheReductionAndNothingIsReduced) {
  testing::asserts("SEM-147");
  HostBackend backend(2);
  MirroredStrategy strategy(backend, {.cross_device_ops = std::make_shared<Forgetful>()});
  std::vector<float> kept;
  try {
    strategy.run([&](ReplicaContext& replica) {
      replica.all_reduce(ReduceOp::kSum, Tensor<float>::full({3}, 1.0F));
    });
    FAIL() << "nothing was thrown";
  } catch (const InvalidArgumentError& error) {
    EXPECT_THAT(error.what(), HasSubstr("member 1 never receives the result of chunk 0"));
  }
}

}  // namespace
}  // namespace belfry::validate_plan_test
