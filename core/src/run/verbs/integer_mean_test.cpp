// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Means of integers are the means of the true sum, for sums of any size (SEM-141).
#include "belfry/backend/host_backend.h"
#include "belfry/checkpoint.h"
#include "belfry/reduction.h"
#include "belfry/strategies.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/code_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

namespace belfry::integer_mean_test {
namespace {

using testing::code_of;
using ::testing::Each;
using ::testing::ElementsAre;

template <class T>
constexpr T kLeast = std::numeric_limits<T>::min();
template <class T>
constexpr T kMost = std::numeric_limits<T>::max();

template <class T>
std::vector<T> joined(const PerReplica<std::vector<T>>& lists) {
  std::vector<T> all;
  for (const std::vector<T>& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

// The means of `terms`, a term for each replica: of numbers, lists and tensors.
template <class T>
std::vector<T> means(const std::vector<T>& terms) {
  HostBackend backend(static_cast<int>(terms.size()));
  MirroredStrategy strategy(backend);
  const auto seen = strategy.run([&](ReplicaContext& replica) {
    const T own = terms[static_cast<std::size_t>(replica.replica_id())];
    const T number = replica.all_reduce(TruncatedMean{}, own);
    const std::vector<T> list = replica.all_reduce(TruncatedMean{}, std::vector<T>{own});
    const Tensor<T> tensor = replica.all_reduce(TruncatedMean{}, Tensor<T>::from({1}, {own}));
    return std::vector<T>{number, list.at(0), tensor.item()};
  });
  return joined<T>(seen);
}

TEST(IntegerMeans, OfNarrowTypesDoNotWrap) {
  testing::asserts("SEM-141");
  EXPECT_THAT(means<std::uint8_t>({200, 200}), Each(200));
  EXPECT_THAT(means<std::uint8_t>({255, 255, 255, 254}), Each(254)) << "1019 / 4";
  EXPECT_THAT(means<std::int8_t>({127, 127, 126}), Each(126)) << "380 / 3";
  EXPECT_THAT(means<std::int8_t>({-128, -128, -127}), Each(-127)) << "-383 / 3";
  EXPECT_THAT(means<std::int16_t>({32767, 32767}), Each(32767));
  EXPECT_THAT(means<std::uint16_t>({65535, 65533}), Each(65534));
  EXPECT_THAT(means<std::int32_t>({kLeast<std::int32_t>, kLeast<std::int32_t>}),
              Each(kLeast<std::int32_t>));
  EXPECT_THAT(means<std::uint32_t>({kMost<std::uint32_t>, kMost<std::uint32_t>}),
              Each(kMost<std::uint32_t>));
}

TEST(IntegerMeans, OfWideTypesDoNotWrap) {
  testing::asserts("SEM-141");
  using Signed = std::int64_t;
  constexpr Signed kLow = kLeast<Signed>;
  constexpr Signed kHigh = kMost<Signed>;
  EXPECT_THAT(means<Signed>({kHigh, kHigh}), Each(kHigh));
  EXPECT_THAT(means<Signed>({kLow, kLow, kLow}), Each(kLow));
  // -1 / 2, and the same from the other side: towards zero.
  EXPECT_THAT(means<Signed>({kLow, kHigh}), Each(0));
  EXPECT_THAT(means<Signed>({kHigh, kHigh, kLow, kLow + 3}), Each(0)) << "1 / 4";
  // -2^64 + 1, halved: -2^63 and a half.
  EXPECT_THAT(means<Signed>({kLow, kLow + 1}), Each(kLow + 1));
  EXPECT_THAT(means<Signed>({kHigh, kHigh - 1}), Each(kHigh - 1));
  // (2^63 - 1 - 5) / 3 = 3074457345618258600 and 2 thirds.
  EXPECT_THAT(means<Signed>({kHigh, -5, 0}), Each(3074457345618258600));
  EXPECT_THAT(means<Signed>({-kHigh, 5, 0}), Each(-3074457345618258600));
  // 2^32 - 2.5: the words of 32 bits have sums of both signs.
  EXPECT_THAT(means<Signed>({8589934592, -5}), Each(4294967293));
  EXPECT_THAT(means<Signed>({-8589934592, 5}), Each(-4294967293));
  EXPECT_THAT(means<Signed>({0, -1}), Each(0));
  using Unsigned = std::uint64_t;
  constexpr Unsigned kTop = kMost<Unsigned>;
  EXPECT_THAT(means<Unsigned>({kTop, kTop}), Each(kTop));
  EXPECT_THAT(means<Unsigned>({kTop, kTop - 1}), Each(kTop - 1));
  EXPECT_THAT(means<Unsigned>({kTop, 0}), Each(kTop / 2));
  EXPECT_THAT(means<Unsigned>({0, 1}), Each(0));
}

TEST(IntegerMeans, OfEqualValuesAreTheValueOnUpTo16Replicas) {
  const auto expect_value = [](auto value) {
    for (std::size_t replicas = 1; replicas <= 16; ++replicas) {
      EXPECT_THAT(means(std::vector(replicas, value)), Each(value)) << replicas << " replicas";
    }
  };
  expect_value(kMost<std::uint8_t>);
  expect_value(kLeast<std::int8_t>);
  expect_value(kMost<std::int32_t>);
  expect_value(kLeast<std::int64_t>);
  expect_value(kMost<std::int64_t>);
  expect_value(kMost<std::uint64_t>);
}

TEST(IntegerMeans, OfNestsTreatEachLeafByItsType) {
  using Mixed = std::tuple<std::uint8_t, float, std::vector<std::int64_t>, Tensor<std::int8_t>>;
  HostBackend backend(2);
  MirroredStrategy strategy(backend);
  strategy.run([](ReplicaContext& replica) {
    const auto id = static_cast<float>(replica.replica_id());
    const Mixed own{std::uint8_t{250}, 0.5F + id,
                    std::vector<std::int64_t>{kMost<std::int64_t>, -3},
                    Tensor<std::int8_t>::full({2}, std::int8_t{100})};
    const auto [small, real, list, tensor] = replica.all_reduce(TruncatedMean{}, own);
    EXPECT_EQ(small, 250);
    EXPECT_EQ(real, 1.0F);
    EXPECT_THAT(list, ElementsAre(kMost<std::int64_t>, -3));
    EXPECT_THAT(tensor.to_host(), ElementsAre(100, 100));
    // The argument is unchanged.
    EXPECT_THAT(std::get<3>(own).to_host(), ElementsAre(100, 100));
  });
}

TEST(IntegerMeans, AreReadFromVariablesAsTheyWereSaved) {
  testing::asserts("SEM-141");
  const auto make = [](Strategy& strategy) {
    return strategy.replica_local_variable(
        TruncatedMean{},
        [] { return std::pair(std::uint8_t{0}, Tensor<std::int64_t>::full({1}, std::int64_t{0})); },
        {.name = "mean"});
  };
  const auto value_of = [](const auto& pair) {
    return std::pair(static_cast<int>(pair.first), pair.second.item());
  };
  HostBackend backend(3);
  MirroredStrategy strategy(backend);
  const auto mean = make(strategy);
  strategy.run([&](ReplicaContext& replica) {
    auto& own = mean.on(replica);
    own.first = static_cast<std::uint8_t>(255 - replica.replica_id());
    own.second = Tensor<std::int64_t>::full({1}, kLeast<std::int64_t> + replica.replica_id());
  });
  // 255 + 254 + 253, and three times the lowest number and 3 more.
  const std::pair expected(254, kLeast<std::int64_t> + 1);
  EXPECT_EQ(value_of(strategy.read(mean)), expected);
  Checkpoint saved(strategy);
  const TensorFile file = saved.add(mean).contents();
  for (const int replicas : {1, 2, 5}) {
    HostBackend other(replicas);
    MirroredStrategy restored(other);
    const auto again = make(restored);
    Checkpoint all(restored);
    all.add(again).restore(file);
    EXPECT_EQ(value_of(restored.read(again)), expected) << replicas << " replicas";
  }
}

TEST(IntegerMeans, OfBoolAreRefusedOnAnyNumberOfReplicas) {
  for (const int replicas : {1, 2}) {
    HostBackend backend(replicas);
    MirroredStrategy strategy(backend);
    const auto refused = [&](const auto& own) {
      return code_of([&] {
        strategy.run(
            [&](ReplicaContext& replica) { return replica.all_reduce(TruncatedMean{}, own()); });
      });
    };
    EXPECT_EQ(refused([] { return true; }), ErrorCode::kDType);
    EXPECT_EQ(refused([] { return Tensor<bool>::full({1}, true); }), ErrorCode::kDType);
    EXPECT_EQ(refused([] { return Tensor<int>(); }), ErrorCode::kInvalidArgument);
  }
}

TEST(IntegerMeans, OfNothingAreNothing) {
  EXPECT_THAT(means<std::int8_t>({7}), Each(7));
  HostBackend backend(2);
  MirroredStrategy strategy(backend);
  strategy.run([](ReplicaContext& replica) {
    EXPECT_TRUE(replica.all_reduce(TruncatedMean{}, std::vector<std::int64_t>()).empty());
    EXPECT_EQ(replica.all_reduce(TruncatedMean{}, Tensor<std::int64_t>::zeros({0, 3})).shape(),
              (Shape{0, 3}));
  });
}

// 2^53 + 1 is no double and is rounded to 2^53. 2^53 + 3 lies between 2^53 + 2 and 2^53 + 4 and is
// rounded to the latter, whose last bit is even. Up to 2^53 only the division rounds.
TEST(PromotedMeans, AreExactAsLongAsTheirSumsAreDoubles) {
  testing::asserts("SEM-39");
  constexpr std::int64_t kEnd = std::int64_t{1} << 53;
  HostBackend backend(2);
  MirroredStrategy strategy(backend);
  const auto mean = [&](auto first, decltype(first) second) {
    return joined<double>(strategy.run([&](ReplicaContext& replica) {
      const auto own = replica.replica_id() == 0 ? first : second;
      const double number = replica.all_reduce(PromotedMean{}, own);
      const std::vector<double> list = replica.all_reduce(PromotedMean{}, std::vector{own});
      const auto tensor = Tensor<decltype(first)>::from({1}, {own});
      return std::vector{number, list.at(0), replica.all_reduce(PromotedMean{}, tensor).item()};
    }));
  };
  EXPECT_THAT(mean(kEnd - 1, std::int64_t{-1}), Each(4503599627370495.0));  // 2^52 - 1
  EXPECT_THAT(mean(kEnd + 1, kEnd + 1), Each(9007199254740992.0));
  EXPECT_THAT(mean(kEnd + 3, kEnd + 3), Each(9007199254740996.0));
  EXPECT_THAT(mean(kMost<std::uint64_t>, kMost<std::uint64_t>), Each(18446744073709551616.0));
  EXPECT_THAT(mean(std::uint8_t{200}, std::uint8_t{201}), Each(200.5));
}

}  // namespace
}  // namespace belfry::integer_mean_test
