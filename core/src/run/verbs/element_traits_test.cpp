// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Types of programs as leaves of nests (SEM-158).
#include "belfry/backend/host_backend.h"
#include "belfry/checkpoint.h"
#include "belfry/dtype.h"
#include "belfry/reduction.h"
#include "belfry/strategies.h"
#include "belfry/tensor.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/code_of.h"
#include "run/testing/error_of_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace belfry::element_traits_test {

/// A multiple of 1/256.
struct Fixed {
  std::int32_t units = 0;
  bool operator==(const Fixed&) const = default;
};

/// x -> factor * x + offset. The sum of two maps is the second after the first: not commutative.
struct Map {
  std::int64_t factor = 1;
  std::int32_t offset = 0;  // Bytes without a value follow.
  bool operator==(const Map&) const = default;
};

}  // namespace belfry::element_traits_test

template <>
struct belfry::ElementTraits<belfry::element_traits_test::Fixed> {
  using Fixed = belfry::element_traits_test::Fixed;
  static Fixed zero() { return {}; }
  static Fixed add(const Fixed& left, const Fixed& right) {
    if (right.units == 13) throw std::domain_error("13");
    return {left.units + right.units};
  }
  static Fixed divide(const Fixed& sum, int count) { return {sum.units / count}; }
  static std::string text(const Fixed& value) { return std::to_string(value.units) + "/256"; }
};

template <>
struct belfry::ElementTraits<belfry::element_traits_test::Map> {
  using Map = belfry::element_traits_test::Map;
  static Map zero() { return {}; }
  static Map add(const Map& left, const Map& right) {
    return {right.factor * left.factor,
            static_cast<std::int32_t>(right.factor * left.offset + right.offset)};
  }
  static std::string text(const Map& value) {
    return std::to_string(value.factor) + "x+" + std::to_string(value.offset);
  }
};

namespace belfry::element_traits_test {
namespace {

using testing::code_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

static_assert(DividedElement<Fixed> && UserElement<Map> && !DividedElement<Map>);
static_assert(Nest<Fixed> && Nest<std::pair<std::vector<Map>, double>>);
static_assert(!UserElement<double> && !UserElement<std::string> && !Nest<std::string>);

class ElementsOfPrograms : public ::testing::Test {
 protected:
  HostBackend backend_{3};
  MirroredStrategy strategy_{backend_, StrategyOptions{.order = ReductionOrder::kTree}};
};

Fixed units(ReplicaContext& replica) { return {100 * (replica.replica_id() + 1)}; }

TEST_F(ElementsOfPrograms, AreReducedInReplicas) {
  testing::asserts("SEM-158");
  const auto sums = strategy_.run(
      [](ReplicaContext& replica) { return replica.all_reduce(ReduceOp::kSum, units(replica)); });
  EXPECT_THAT(sums, ElementsAre(Fixed{600}, Fixed{600}, Fixed{600}));
  const auto means = strategy_.run(
      [](ReplicaContext& replica) { return replica.all_reduce(ReduceOp::kMean, units(replica)); });
  EXPECT_EQ(means[2], Fixed{200});
}

// 3x+1 first, then 5x+2, then 7x+3: 7 (5 (3x + 1) + 2) + 3 = 105x + 52, in every named order.
TEST_F(ElementsOfPrograms, AreAddedByReplicaId) {
  testing::asserts("SEM-158");
  const std::vector<Map> maps{{3, 1}, {5, 2}, {7, 3}};
  const auto sums = strategy_.run([&](ReplicaContext& replica) {
    return replica.all_reduce(ReduceOp::kSum, maps[static_cast<std::size_t>(replica.replica_id())]);
  });
  EXPECT_THAT(sums, ElementsAre(Map{105, 52}, Map{105, 52}, Map{105, 52}));
  const PerReplica<Map> each{{maps[0], maps[1], maps[2]}};
  EXPECT_EQ(strategy_.cross_replica().reduce(ReduceOp::kSum, each)[0], (Map{105, 52}));
}

TEST_F(ElementsOfPrograms, StandBesideOtherLeaves) {
  testing::asserts("SEM-158");
  using Value = std::pair<std::vector<Fixed>, Tensor<float>>;
  const auto sums = strategy_.run([](ReplicaContext& replica) {
    const Value own{{units(replica), {1}}, Tensor<float>::full({1}, 2)};
    const Value sum = replica.all_reduce(ReduceOp::kSum, own);
    return std::pair(sum.first, sum.second.item());
  });
  EXPECT_EQ(sums[1], std::pair(std::vector<Fixed>({{600}, {3}}), 6.0F));
}

TEST_F(ElementsOfPrograms, AreValuesOfVariables) {
  testing::asserts("SEM-158");
  const auto total = strategy_.replica_local_variable(ReduceOp::kSum, Fixed{0});
  const auto mean = strategy_.replica_local_variable(ReduceOp::kMean, Fixed{0});
  const auto last = strategy_.mirrored_variable(Fixed{5}, {.aggregation = Aggregation::kMean});
  strategy_.run([&](ReplicaContext& replica) {
    replica.assign_add(total, units(replica));
    replica.assign_add(mean, units(replica));
    replica.assign(last, units(replica));
  });
  EXPECT_EQ(strategy_.read(total), Fixed{600});
  EXPECT_EQ(strategy_.read(mean), Fixed{200});
  EXPECT_EQ(strategy_.read(last), Fixed{200});
  strategy_.cross_replica().update(last, [](Fixed& value) { value.units += 1; });
  EXPECT_EQ(strategy_.read(last), Fixed{201});
}

TEST_F(ElementsOfPrograms, AreFetchedAndPrinted) {
  const auto last = strategy_.mirrored_variable(Fixed{5});
  EXPECT_EQ(strategy_.cross_replica().fetch(last), Fixed{5});
  std::ostringstream text;
  text << PerReplica<Fixed>{{{1}, {2}, {3}}};
  EXPECT_EQ(text.str(), "PerReplica[1/256, 2/256, 3/256]");
}

TEST_F(ElementsOfPrograms, SplitATotalIntoItselfAndZeros) {
  testing::asserts("SEM-158");
  const auto total = strategy_.replica_local_variable(ReduceOp::kSum, Map{2, 7});
  strategy_.cross_replica().assign_total(total, Map{4, 9});
  EXPECT_EQ(strategy_.read(total), (Map{4, 9})) << "zero() is 1x+0";
}

TEST_F(ElementsOfPrograms, WithoutDivideHaveNoMean) {
  testing::asserts("SEM-158");
  const std::string text = error_of([&] {
    strategy_.run([](ReplicaContext& replica) {
      replica.all_reduce(ReduceOp::kMean, std::pair(1.0, Map{}));
    });
  });
  EXPECT_THAT(text, HasSubstr("BF-022 values of belfry::element_traits_test::Map have no MEAN at "
                              "leaf 1[1]\n"));
  EXPECT_THAT(text, HasSubstr("Map divide(const"));
}

TEST_F(ElementsOfPrograms, HaveNoDifference) {
  const auto total = strategy_.replica_local_variable(ReduceOp::kSum, Fixed{0});
  const std::string text = error_of([&] {
    strategy_.run([&](ReplicaContext& replica) { replica.assign_sub(total, units(replica)); });
  });
  EXPECT_THAT(text, HasSubstr("BF-022"));
  EXPECT_THAT(text, HasSubstr("Fixed values"));
  EXPECT_THAT(text, HasSubstr("cannot be subtracted"));
}

TEST_F(ElementsOfPrograms, ThatThrowEndTheRunWithTheirException) {
  testing::asserts("SEM-158");
  const auto reduce = [](ReplicaContext& replica) {
    return replica.all_reduce(ReduceOp::kSum, Fixed{replica.replica_id() + 11});
  };
  EXPECT_THROW(strategy_.run(reduce), std::domain_error) << "replica 2 brings 13";
  EXPECT_EQ(strategy_.run([](ReplicaContext& replica) { return replica.replica_id(); })[2], 2);
}

TEST_F(ElementsOfPrograms, OfAMirroredVariableAreComparedByTheirTexts) {
  testing::asserts("SEM-158");
  const auto map = strategy_.mirrored_variable(Map{1, 1}, {.name = "map"});
  int calls = 0;
  const std::string text = error_of(
      [&] { strategy_.cross_replica().update(map, [&](Map& value) { value.offset = ++calls; }); });
  EXPECT_THAT(text, HasSubstr("the components of mirrored map differ in value at leaf 0\n"));
  EXPECT_THAT(text, HasSubstr("has 1x+1\n"));
  EXPECT_THAT(text, HasSubstr("has 1x+2\n"));
}

TEST_F(ElementsOfPrograms, AreNotSaved) {
  testing::asserts("SEM-158");
  const auto last = strategy_.mirrored_variable(Fixed{5}, {.name = "last"});
  Checkpoint checkpoint(strategy_);
  checkpoint.add(last);
  const std::string text = error_of([&] { checkpoint.contents(); });
  EXPECT_THAT(text,
              HasSubstr("BF-080 \"last\" is of type belfry::element_traits_test::Fixed, which "
                        "files do not have"));
}

TEST_F(ElementsOfPrograms, HaveNoTensors) {
  testing::asserts("SEM-158");
  const Placement place{&backend_, 0};
  const std::string text = error_of([&] { Tensor<Fixed>::full({2}, Fixed{1}, place); });
  EXPECT_THAT(text, HasSubstr("BF-080 tensors of belfry::element_traits_test::Fixed do not exist\n"
                              "  at element_traits_test.cpp:"));
  EXPECT_THAT(text, HasSubstr("hint: write std::vector<belfry::element_traits_test::Fixed>"));
  const std::vector<Fixed> values(2);
  EXPECT_EQ(code_of([&] { Tensor<Fixed>::from({2}, values); }), ErrorCode::kUnsupported);
  EXPECT_EQ(code_of([&] { Tensor<Fixed>::from({1}, {Fixed{}}, place); }), ErrorCode::kUnsupported);
  EXPECT_EQ(code_of([&] { Tensor<Fixed>::zeros({2}); }), ErrorCode::kUnsupported);
}

TEST_F(ElementsOfPrograms, HaveNoTruncatedMean) {
  EXPECT_EQ(code_of([&] {
              strategy_.run([](ReplicaContext& replica) {
                return replica.all_reduce(TruncatedMean{}, units(replica));
              });
            }),
            ErrorCode::kDType);
}

}  // namespace
}  // namespace belfry::element_traits_test
