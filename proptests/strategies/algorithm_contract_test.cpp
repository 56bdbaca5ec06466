// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Algorithms of reductions keep their contract, and algorithms with mistakes break it.
#include "belfry/testing/algorithm_contract.h"

#include "belfry/cross_device_ops.h"
#include "belfry/planned_all_reduce.h"
#include "belfry/testing/asserts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

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

template <class Inner>
void expect_kept_in_packs() {
  const auto make = [](int) {
    return in_packs(std::make_shared<Inner>(), {.bytes_per_pack = 100});
  };
  const ContractResult result = check_algorithm(make, backend_factory(), {.cases = 60, .seed = 1});
  EXPECT_TRUE(result.kept) << result.message;
}

TEST(AlgorithmContract, IsKeptInPacks) {
  asserts("SEM-146", "SEM-149");
  expect_kept_in_packs<NativeAllReduce>();
  expect_kept_in_packs<ReductionToOneDevice>();
  expect_kept_in_packs<RingAllReduce>();
  expect_kept_in_packs<TreeAllReduce>();
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

// Uses the input of the first member as memory of its own.
class Careless final : public WithoutAPlan {
 public:
  void all_reduce(const TensorReduction& reduction) override {
    WithoutAPlan::all_reduce(reduction);
    for (std::size_t tensor = 0; tensor < reduction.tensors(); ++tensor) {
      const CollectivePart& first = reduction.tensor(tensor)[0];
      const bool is_in_place = first.input.buffer == first.output.buffer;
      if (is_in_place || first.input.count == 0) continue;
      first.stream->launch({.kind = KernelKind::kFill, .outputs = {first.input}, .inputs = {}});
    }
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

TEST(AlgorithmContract, FindsAChangedInput) {
  asserts("SEM-146");
  expect_broken<Careless>("it changed the input of replica ");
}

}  // namespace
}  // namespace belfry::testing::algorithm_contract_test
