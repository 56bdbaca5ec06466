// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Algorithms of reductions keep their contract, and algorithms with mistakes break it.
#include "belfry/testing/algorithm_contract.h"

#include "belfry/planned_all_reduce.h"
#include "belfry/testing/asserts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace belfry::testing::algorithm_contract_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

template <class A>
ContractResult result_of() {
  return check_algorithm([](int) { return std::make_shared<A>(); }, backend_factory(),
                         {.cases = 60, .seed = 1});
}

template <class A>
void expect_kept() {
  const ContractResult result = result_of<A>();
  EXPECT_TRUE(result.kept) << result.message;
}

TEST(AlgorithmContract, IsKeptByTheAlgorithmsOfBelfry) {
  asserts("SEM-146", "SEM-147");
  expect_kept<NativeAllReduce>();
  expect_kept<ReductionToOneDevice>();
  expect_kept<RingAllReduce>();
  expect_kept<TreeAllReduce>();
  expect_kept<HalvingDoublingAllReduce>();
  expect_kept<ShuffleAllReduce>();
  expect_kept<HierarchicalAllReduce>();
}

void copy_results(const TensorReduction& reduction) {
  for (std::size_t tensor = 0; tensor < reduction.tensors(); ++tensor) {
    const auto parts = reduction.tensor(tensor);
    for (std::size_t i = 1; i < parts.size(); ++i) {
      parts[i].stream->copy(parts[i].output, parts[0].output);
    }
  }
}

// A user's algorithm without a plan, in replica order.
class WithoutAPlan : public CrossDeviceOps {
 public:
  std::string_view name() const override { return "without a plan"; }
  ReductionOrder order(belfry::ReplicaDevices&) const override {
    return ReductionOrder::kReplicaOrder;
  }
  void all_reduce(const TensorReduction& reduction) override {
    ReductionToOneDevice().all_reduce(reduction);
  }
};

TEST(AlgorithmContract, IsKeptByAnAlgorithmOfAUser) {
  asserts("SEM-146");
  expect_kept<WithoutAPlan>();
}

template <class A>
void expect_broken(const char* sentence) {
  const ContractResult result = result_of<A>();
  EXPECT_FALSE(result.kept);
  EXPECT_THAT(result.message,
              AllOf(HasSubstr("A-reduce is broken by the algorithm 'without a plan' on " +
                              std::string(backend_factory().name()) + ": "),
                    HasSubstr(sentence), HasSubstr("\n  with backend: ")));
}

// Leaves zeros on the last member.
class Forgetful final : public WithoutAPlan {
 public:
  void all_reduce(const TensorReduction& reduction) override {
    WithoutAPlan::all_reduce(reduction);
    for (std::size_t tensor = 0; tensor < reduction.tensors(); ++tensor) {
      const auto parts = reduction.tensor(tensor);
      const CollectivePart& last = parts.back();
      if (parts.size() > 1 && last.output.count > 0) {
        last.stream->launch({.kind = KernelKind::kFill, .outputs = {last.output}, .inputs = {}});
      }
    }
  }
};

// Declares an order in which it does not add.
class InTreeOrder final : public WithoutAPlan {
 public:
  ReductionOrder order(belfry::ReplicaDevices&) const override { return ReductionOrder::kTree; }
};

// Does not wait for the streams of the other members.
class Impatient final : public WithoutAPlan {
 public:
  void all_reduce(const TensorReduction& reduction) override {
    WithoutAPlan::all_reduce(reduction);
    copy_results(reduction);
  }
};

TEST(AlgorithmContract, FindsAResultThatOneMemberLacks) {
  asserts("SEM-146");
  expect_broken<Forgetful>(" gave replica ");
}

TEST(AlgorithmContract, FindsAnOrderThatIsNotDeclared) {
  asserts("SEM-146");
  expect_broken<InTreeOrder>(" gave replica ");
}

// The copies race with members that overwrite their results.
TEST(AlgorithmContract, FindsAMissingWait) {
  asserts("SEM-146");
  expect_broken<Impatient>(" gave replica ");
}

}  // namespace
}  // namespace belfry::testing::algorithm_contract_test
