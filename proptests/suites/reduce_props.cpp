// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Reduce semantics, for every element type and for both residences: SUM and MEAN are the left fold
// by replica id, with one division and one rounding at the end.
#include "suites/property.h"
#include "suites/reduce_oracle.h"

#include <algorithm>
#include <vector>

namespace belfry::testing {
namespace {

/// One reduction of one row a replica.
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

// What every replica gets from all_reduce: one row each.
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
      const RowCase drawn = *row_case();
      Bench bench(*this, drawn.backend);
      property(drawn, bench.backend());
    });
  }
};

using ElementTypes =
    ::testing::Types<float, double, Float16, BFloat16, std::int8_t, std::int16_t, std::int32_t,
                     std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(Reduce, ElementTypes);

TYPED_TEST(Reduce, IsTheLeftFoldByReplicaId) {
  this->holds_for_rows([this](const RowCase& drawn, Backend& backend) {
    const auto made = strategy_factory().make(backend, {.order = ReductionOrder::kReplicaOrder});
    Strategy& strategy = *made;
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
  this->holds_for_rows([this](RowCase drawn, Backend& backend) {
    if (!std::is_integral_v<TypeParam> && !is_exact(drawn.values.pattern)) {
      drawn.values.pattern = Pattern::kSmallIntegers;
    }
    // Partial sums that are rounded on the way stay exact up to 2^8 in bfloat16: 64 ones.
    if (!std::is_integral_v<TypeParam> && sizeof(TypeParam) == 2) {
      drawn.values.pattern = Pattern::kOnes;
    }
    const auto made = strategy_factory().make(backend, {});
    Strategy& strategy = *made;
    auto rows = drawn.rows<TypeParam>();
    for (ReduceOp op : this->ops()) {
      const auto expected = expected_reduction(op, rows);
      for (const auto& got : all_reduced(strategy, op, rows, true)) {
        RC_ASSERT(Numbers(got) == Numbers(expected));
      }
      // And whoever brings which row.
      std::rotate(rows.begin(), rows.begin() + rows.size() / 2, rows.end());
      for (bool tensors : {false, true}) {
        for (const auto& got : all_reduced(strategy, op, rows, tensors)) {
          RC_ASSERT(Numbers(got) == Numbers(expected));
        }
      }
    }
  });
}

}  // namespace
}  // namespace belfry::testing
