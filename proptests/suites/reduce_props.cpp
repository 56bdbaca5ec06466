// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Results of reductions, for every element type, of host values and of tensors. SUM and MEAN are
// the left fold by replica id, with a single division and a single rounding at the end. Truncated
// means of integers are the quotients of exact sums.
#include "belfry/checkpoint.h"
#include "belfry/reduction.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "suites/property.h"
#include "suites/reduce_oracle.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace belfry::testing::reduce_props {
namespace {

/// A backend, and a row of values for each replica.
struct RowCase {
  BackendRequest backend;
  Values values;
  int length = 1;

  template <class T>
  std::vector<std::vector<T>> rows() const {
    std::vector<std::vector<T>> rows;
    for (int r = 0; r < backend.devices; ++r) {
      rows.push_back(values_of<T>(values, r, static_cast<std::size_t>(length)));
    }
    return rows;
  }
};

void showValue(const RowCase& value, std::ostream& out) {
  out << to_string(value.backend) << ", rows of " << value.length << ' ' << to_string(value.values);
}

rc::Gen<RowCase> row_case() {
  return rc::gen::map(
      rc::gen::tuple(backend_request(), rc::gen::arbitrary<Values>(), rc::gen::inRange(0, 20)),
      [](const std::tuple<BackendRequest, Values, int>& drawn) {
        return RowCase{std::get<0>(drawn), std::get<1>(drawn), std::get<2>(drawn)};
      });
}

// The result of all_reduce on every replica, of tensors or of host values.
template <class T>
std::vector<std::vector<T>> all_reduced(Strategy& strategy, ReduceOp op,
                                        const std::vector<std::vector<T>>& rows, bool tensors) {
  using Row = std::vector<T>;
  const auto reduced = strategy.run([&](ReplicaContext& replica) -> Row {
    const Row& mine = rows[static_cast<std::size_t>(replica.replica_id())];
    if (!tensors) return replica.all_reduce(op, mine);
    const auto extent = static_cast<std::int64_t>(mine.size());
    return replica.all_reduce(op, Tensor<T>::from({extent}, mine)).to_host();
  });
  return {reduced.begin(), reduced.end()};
}

template <class T>
class Reduce : public Property {
 protected:
  std::vector<ReduceOp> ops() const {
    if (std::is_integral_v<T>) return {ReduceOp::kSum};
    return {ReduceOp::kSum, ReduceOp::kMean};
  }
  template <class F>
  void holds_for_rows(const F& property) {
    this->holds([&] {
      RowCase drawn = *row_case();
      drawn.backend = this->placed(drawn.backend);
      Bench bench(*this, drawn.backend);
      property(drawn, bench);
    });
  }
};

using ElementTypes =
    ::testing::Types<float, double, Float16, BFloat16, std::int8_t, std::int16_t, std::int32_t,
                     std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(Reduce, ElementTypes);

TYPED_TEST(Reduce, IsTheLeftFoldByReplicaId) {
  testing::asserts("SEM-30");
  this->holds_for_rows([this](const RowCase& drawn, Bench& bench) {
    Strategy& strategy = bench.strategy({.order = ReductionOrder::kReplicaOrder});
    const auto rows = drawn.rows<TypeParam>();
    for (ReduceOp op : this->ops()) {
      const auto expected = expected_reduction(op, rows);
      for (bool tensors : {false, true}) {
        for (const auto& got : all_reduced(strategy, op, rows, tensors)) {
          RC_ASSERT(Numbers(got) == Numbers(expected));
        }
      }
    }
  });
}

TYPED_TEST(Reduce, OfExactDataIsTheSameInTheBackendsOwnOrder) {
  this->holds_for_rows([this](RowCase drawn, Bench& bench) {
    if (!std::is_integral_v<TypeParam> && !is_exact(drawn.values.pattern)) {
      drawn.values.pattern = Pattern::kSmallIntegers;
    }
    // A backend may round partial sums. In bfloat16 sums stay exact up to 2^8: 64 ones.
    if (!std::is_integral_v<TypeParam> && sizeof(TypeParam) == 2) {
      drawn.values.pattern = Pattern::kOnes;
    }
    Strategy& strategy = bench.strategy();
    auto rows = drawn.rows<TypeParam>();
    for (ReduceOp op : this->ops()) {
      const auto expected = expected_reduction(op, rows);
      for (const auto& got : all_reduced(strategy, op, rows, true)) {
        RC_ASSERT(Numbers(got) == Numbers(expected));
      }
      // The result is the same if the rows go to different replicas.
      std::rotate(rows.begin(), rows.begin() + rows.size() / 2, rows.end());
      for (bool tensors : {false, true}) {
        for (const auto& got : all_reduced(strategy, op, rows, tensors)) {
          RC_ASSERT(Numbers(got) == Numbers(expected));
        }
      }
    }
  });
}

// A reduction of the user whose result depends on the order: each term is subtracted from the next,
// and the count is added at the end.
struct Alternating {
  Tensor<float> combine(const Tensor<float>& folded, const Tensor<float>& next) const {
    RC_ASSERT(folded.placement() == next.placement());
    return next - folded;
  }
  Tensor<float> finalize(const Tensor<float>& folded, int count) const {
    return folded + static_cast<float>(count);
  }
};

class OwnReductions : public Property {};

TEST_F(OwnReductions, FoldTensorsByReplicaIdOnEveryDevice) {
  testing::asserts("SEM-38");
  holds([this](const BackendRequest& request, std::uint16_t seed) {
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    using Row = std::vector<float>;
    const auto row = [&](int id) {
      return values_of<float>({Pattern::kSmallIntegers, seed}, id, 3);
    };
    Row expected = row(0);
    for (int id = 1; id < request.devices; ++id) {
      const Row next = row(id);
      for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = next[i] - expected[i];
    }
    for (float& number : expected) number += static_cast<float>(request.devices);
    const auto variable = strategy.replica_local_variable(
        Alternating{}, [] { return Tensor<float>::full({3}, 0.0F); });
    const auto sums = strategy.run([&](ReplicaContext& replica) {
      meet_with_a_tensor(replica);
      const auto own = Tensor<float>::from({3}, row(replica.replica_id()));
      variable.on(replica) = own;
      const Tensor<float> sum = replica.all_reduce(Alternating{}, own);
      RC_ASSERT(sum.placement() == replica.placement());
      return sum.to_host();
    });
    for (const Row& sum : sums) RC_ASSERT(Numbers(sum) == Numbers(expected));
    RC_ASSERT(Numbers(strategy.read(variable).to_host()) == Numbers(expected));
    const CallSite site = CallSite::here();  // Of the call in every process.
    if (bench.own().empty()) {
      const auto fetched = strategy.cross_replica().fetch(variable, site);
      RC_ASSERT(Numbers(fetched.to_host()) == Numbers(expected));
      return;
    }
    const Placement last = strategy.placement(bench.own().back());
    const auto fetched = strategy.cross_replica().fetch(
        variable, to_string(bench.backend().device_spec(last.device)), site);
    RC_ASSERT(fetched.placement() == last);
    RC_ASSERT(Numbers(fetched.to_host()) == Numbers(expected));
  });
}

__extension__ using Int128 = __int128;

// A random number, or a number at most 2 away from an end of the type. In every third column a
// small number, or a small multiple of the type's upper half, of either sign.
template <class T>
T hard_integer(std::uint64_t seed, int replica, std::size_t index) {
  const std::uint64_t bits = mixed_bits(seed, 99, index + 20 * static_cast<std::uint64_t>(replica));
  if (index % 3 == 2) {
    const std::uint64_t small = bits / 2 % 5 - 2;
    return static_cast<T>(small << (bits % 2 == 0 ? 0 : 4 * sizeof(T)));
  }
  if (bits % 4 == 0) return value_at<T>({Pattern::kRandom, seed}, replica, index);
  // For two of three seeds all rows are at the same end of the type, far from a sum of 0.
  const bool is_high = seed % 3 == 0 ? bits % 8 < 4 : seed % 3 == 1;
  const auto away = static_cast<T>(bits / 8 % 3);
  return static_cast<T>(is_high ? std::numeric_limits<T>::max() - away
                                : std::numeric_limits<T>::min() + away);
}

// The quotients of true sums, rounded towards zero by the division of the language.
template <class T>
std::vector<T> truncated_means(const std::vector<std::vector<T>>& rows) {
  std::vector<T> means;
  for (std::size_t i = 0; i < rows.front().size(); ++i) {
    Int128 sum = 0;
    for (const std::vector<T>& row : rows) sum += row[i];
    means.push_back(static_cast<T>(sum / static_cast<Int128>(rows.size())));
  }
  return means;
}

template <class T>
class IntegerMeans : public Property {};

using IntegerElements = ::testing::Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t,
                                         std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(IntegerMeans, IntegerElements);

TYPED_TEST(IntegerMeans, AreTruncatedQuotientsOfTrueSums) {
  this->holds([this](std::uint64_t seed) {
    using Row = std::vector<TypeParam>;
    const BackendRequest request = this->placed(*backend_request(16));
    const auto length = static_cast<std::size_t>(*rc::gen::inRange(0, 8));
    std::vector<Row> rows(static_cast<std::size_t>(request.devices), Row(length));
    for (int r = 0; r < request.devices; ++r) {
      for (std::size_t i = 0; i < length; ++i) {
        rows[static_cast<std::size_t>(r)][i] = hard_integer<TypeParam>(seed, r, i);
      }
    }
    const Row expected = truncated_means(rows);
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    const Shape shape{static_cast<std::int64_t>(length)};
    const auto list =
        strategy.replica_local_variable(TruncatedMean{}, Row(length), {.name = "list"});
    const auto tensor = strategy.replica_local_variable(
        TruncatedMean{}, [&] { return Tensor<TypeParam>::zeros(shape); }, {.name = "tensor"});
    const auto seen = strategy.run([&](ReplicaContext& replica) {
      meet_with_a_tensor(replica);
      const Row& own = rows[static_cast<std::size_t>(replica.replica_id())];
      list.on(replica) = own;
      tensor.on(replica) = Tensor<TypeParam>::from(shape, own);
      const Tensor<TypeParam> mean = replica.all_reduce(TruncatedMean{}, tensor.on(replica));
      RC_ASSERT(mean.placement() == replica.placement());
      return std::pair(replica.all_reduce(TruncatedMean{}, own), mean.to_host());
    });
    for (const auto& [of_lists, of_tensors] : seen) {
      RC_ASSERT(of_lists == expected);
      RC_ASSERT(of_tensors == expected);
    }
    RC_ASSERT(strategy.read(list) == expected);
    RC_ASSERT(strategy.read(tensor).to_host() == expected);
    Checkpoint all(strategy);
    all.add(list).add(tensor);
    all.restore(all.contents());
    RC_ASSERT(strategy.read(list) == expected);
    RC_ASSERT(strategy.read(tensor).to_host() == expected);
  });
}

}  // namespace
}  // namespace belfry::testing::reduce_props
