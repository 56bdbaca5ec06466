// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Results of reductions, for every element type, of host values and of tensors. SUM, MEAN and PROD
// are the left fold by replica id, with a single division and a single rounding at the end; MAX and
// MIN are extremes that do not depend on the order. Truncated
// means of integers are the quotients of exact sums.
#include "belfry/checkpoint.h"
#include "belfry/reduction.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "suites/drawn_rows.h"
#include "suites/property.h"
#include "suites/reduce_oracle.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace belfry::testing::reduce_props {
namespace {

// A row of values for each replica, of drawn values and length.
std::vector<DrawnRow> rows_of_replicas(DType dtype, const Values& values, int replicas,
                                       int length) {
  std::vector<DrawnRow> rows;
  for (int r = 0; r < replicas; ++r) {
    rows.push_back(drawn_row(dtype, values, r, static_cast<std::size_t>(length)));
  }
  return rows;
}

// The result of all_reduce on every replica, of tensors or of host values.
std::vector<DrawnRow> all_reduced(Strategy& strategy, ReduceOp op,
                                  const std::vector<DrawnRow>& rows, bool tensors) {
  const auto reduced = strategy.run([&](ReplicaContext& replica) {
    const DrawnRow& mine = rows[static_cast<std::size_t>(replica.replica_id())];
    const DrawnNest nest{tensors ? tensor_leaf(mine) : list_leaf(mine)};
    return rows_of(replica.all_reduce(op, nest)).front();
  });
  return {reduced.begin(), reduced.end()};
}

std::vector<ReduceOp> ops_of(DType dtype) {
  std::vector<ReduceOp> ops{ReduceOp::kSum, ReduceOp::kMax, ReduceOp::kMin, ReduceOp::kProd};
  if (is_floating(dtype)) ops.push_back(ReduceOp::kMean);
  return ops;
}

class Reductions : public Property {
 protected:
  void are_left_folds(DType dtype);
  void of_exact_data_are_the_same(DType dtype);
};

void Reductions::are_left_folds(DType dtype) {
  holds([&](const BackendRequest& request, const Values& values) {
    const int length = *rc::gen::inRange(0, 20);
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy({.order = ReductionOrder::kReplicaOrder});
    const auto rows = rows_of_replicas(dtype, values, request.devices, length);
    for (ReduceOp op : ops_of(dtype)) {
      const DrawnRow expected = expected_reduction(op, rows);
      for (bool tensors : {false, true}) {
        for (const DrawnRow& got : all_reduced(strategy, op, rows, tensors)) {
          RC_ASSERT(got == expected);
        }
      }
    }
  });
}

void Reductions::of_exact_data_are_the_same(DType dtype) {
  holds([&](const BackendRequest& request, Values values) {
    const int length = *rc::gen::inRange(0, 20);
    Bench bench(*this, request);
    if (is_floating(dtype) && !is_exact(values.pattern)) values.pattern = Pattern::kSmallIntegers;
    // A backend may round partial sums. In bfloat16 sums stay exact up to 2^8: 64 ones.
    if (is_floating(dtype) && size_of(dtype) == 2) values.pattern = Pattern::kOnes;
    Strategy& strategy = bench.strategy();
    auto rows = rows_of_replicas(dtype, values, request.devices, length);
    for (ReduceOp op : ops_of(dtype)) {
      // Products of small integers leave the integers that floats hold.
      if (op == ReduceOp::kProd && is_floating(dtype) && values.pattern > Pattern::kOnes) continue;
      const DrawnRow expected = expected_reduction(op, rows);
      for (const DrawnRow& got : all_reduced(strategy, op, rows, true)) RC_ASSERT(got == expected);
      // The result is the same if the rows go to different replicas.
      std::ranges::rotate(rows, rows.begin() + static_cast<std::ptrdiff_t>(rows.size() / 2));
      for (bool tensors : {false, true}) {
        for (const DrawnRow& got : all_reduced(strategy, op, rows, tensors)) {
          RC_ASSERT(got == expected);
        }
      }
    }
  });
}

template <class T>
class Reduce : public Reductions {};

using ElementTypes =
    ::testing::Types<float, double, Float16, BFloat16, std::int8_t, std::int16_t, std::int32_t,
                     std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(Reduce, ElementTypes);

TYPED_TEST(Reduce, IsTheLeftFoldByReplicaId) {
  testing::asserts("SEM-30", "SEM-252", "SEM-253");
  this->are_left_folds(dtype_of<TypeParam>());
}

TYPED_TEST(Reduce, OfExactDataIsTheSameInTheBackendsOwnOrder) {
  this->of_exact_data_are_the_same(dtype_of<TypeParam>());
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

// A random number, or a number at most 2 away from an end of the type. In every third column a
// small number, or a small multiple of the type's upper half, of either sign.
std::uint64_t hard_integer(DType dtype, std::uint64_t seed, int replica, std::size_t index) {
  const std::uint64_t bits = mixed_bits(seed, 99, index + 20 * static_cast<std::uint64_t>(replica));
  if (index % 3 == 2) {
    const std::uint64_t small = bits / 2 % 5 - 2;
    return cut(dtype, small << (bits % 2 == 0 ? 0 : 4 * size_of(dtype)));
  }
  if (bits % 4 == 0) {
    return cut(dtype, mixed_bits(seed, static_cast<std::uint64_t>(replica), index));
  }
  // For two of three seeds all rows are at the same end of the type, far from a sum of 0.
  const bool is_high = seed % 3 == 0 ? bits % 8 < 4 : seed % 3 == 1;
  const std::uint64_t away = bits / 8 % 3;
  return cut(dtype, is_high ? greatest_integer(dtype) - away : greatest_integer(dtype) + 1 + away);
}

std::vector<DrawnRow> hard_rows(DType dtype, std::uint64_t seed, int replicas, std::size_t length) {
  std::vector<DrawnRow> rows;
  for (int r = 0; r < replicas; ++r) {
    rows.push_back({.dtype = dtype});
    for (std::size_t i = 0; i < length; ++i) {
      rows.back().bits.push_back(hard_integer(dtype, seed, r, i));
    }
  }
  return rows;
}

// The quotients of true sums, rounded towards zero by the division of the language.
DrawnRow truncated_means(const std::vector<DrawnRow>& rows) {
  DrawnRow means{.dtype = rows.front().dtype};
  for (std::size_t i = 0; i < rows.front().bits.size(); ++i) {
    Int128 sum = 0;
    for (const DrawnRow& row : rows) sum += integer_at(row, i);
    const Int128 mean = sum / static_cast<Int128>(rows.size());
    means.bits.push_back(cut(means.dtype, static_cast<std::uint64_t>(mean)));
  }
  return means;
}

// The row in both residences.
DrawnNest both_leaves(const DrawnRow& row) { return {list_leaf(row), tensor_leaf(row)}; }

class Means : public Property {
 protected:
  void are_truncated(DType dtype);
};

void Means::are_truncated(DType dtype) {
  holds([&](std::uint64_t seed) {
    const BackendRequest request = placed(*backend_request(16));
    const auto length = static_cast<std::size_t>(*rc::gen::inRange(0, 8));
    const auto rows = hard_rows(dtype, seed, request.devices, length);
    const DrawnRow mean = truncated_means(rows);
    const std::vector<DrawnRow> expected{mean, mean};
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    const DrawnRow zeros{dtype, std::vector<std::uint64_t>(length)};
    const auto variable = strategy.replica_local_variable(
        TruncatedMean{}, [&] { return both_leaves(zeros); }, {.name = "list and tensor"});
    const auto seen = strategy.run([&](ReplicaContext& replica) {
      meet_with_a_tensor(replica);
      const auto id = static_cast<std::size_t>(replica.replica_id());
      variable.on(replica) = both_leaves(rows[id]);
      const DrawnNest nest = variable.on(replica);
      const DrawnNest means = replica.all_reduce(TruncatedMean{}, nest);
      RC_ASSERT(placements_of(means) == std::vector{replica.placement()});
      return rows_of(means);
    });
    for (const std::vector<DrawnRow>& of_replica : seen) RC_ASSERT(of_replica == expected);
    RC_ASSERT(rows_of(strategy.read(variable)) == expected);
    Checkpoint all(strategy);
    all.add(variable);
    all.restore(all.contents());
    RC_ASSERT(rows_of(strategy.read(variable)) == expected);
  });
}

template <class T>
class IntegerMeans : public Means {};

using IntegerElements = ::testing::Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t,
                                         std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(IntegerMeans, IntegerElements);

TYPED_TEST(IntegerMeans, AreTruncatedQuotientsOfTrueSums) {
  this->are_truncated(dtype_of<TypeParam>());
}

}  // namespace
}  // namespace belfry::testing::reduce_props
