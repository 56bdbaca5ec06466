// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The order of additions: named orders give the exact bits, any other order a result within the
// rounding error. MEAN is compared with SUM.
#include "belfry/testing/asserts.h"
#include "suites/property.h"
#include "suites/reduce_oracle.h"

#include <cmath>
#include <limits>
#include <vector>

namespace belfry::testing::reduce_order_props {
namespace {

using Row = std::vector<float>;

class ReduceOrder : public Property {
 protected:
  static std::vector<Row> random_rows(int replicas, int length, std::uint64_t seed) {
    std::vector<Row> rows;
    for (int r = 0; r < replicas; ++r) {
      rows.push_back(
          values_of<float>({Pattern::kRandom, seed}, r, static_cast<std::size_t>(length)));
    }
    return rows;
  }

  static PerReplica<Row> reduced(Strategy& strategy, ReduceOp op, const std::vector<Row>& rows,
                                 bool tensors) {
    return strategy.run([&](ReplicaContext& replica) -> Row {
      const Row& mine = rows[static_cast<std::size_t>(replica.replica_id())];
      if (!tensors) return replica.all_reduce(op, mine);
      const auto extent = static_cast<std::int64_t>(mine.size());
      return replica.all_reduce(op, Tensor<float>::from({extent}, mine)).to_host();
    });
  }
};

TEST_F(ReduceOrder, MatchesTheRequest) {
  testing::asserts("SEM-32");
  holds([this](const BackendRequest& request, std::uint16_t seed) {
    const int length = *rc::gen::inRange(1, 20);
    Bench bench(*this, request);
    const auto rows = random_rows(request.devices, length, seed);
    for (ReductionOrder order :
         {ReductionOrder::kReplicaOrder, ReductionOrder::kTree, ReductionOrder::kRing}) {
      Strategy& strategy = bench.strategy({.order = order});
      for (ReduceOp op : {ReduceOp::kSum, ReduceOp::kMean}) {
        const Row expected = expected_reduction(op, rows, order);
        for (bool tensors : {false, true}) {
          for (const Row& got : reduced(strategy, op, rows, tensors)) {
            RC_ASSERT(Numbers(got) == Numbers(expected));
          }
        }
      }
    }
  });
}

// n terms are added with n - 1 roundings, each of at most eps/2 of a partial sum. No partial sum
// exceeds the sum of magnitudes, except by the roundings. The error is at most (n - 1) eps/2 (1 +
// eps)^n, and (n - 1) eps of the sum of magnitudes is larger for every n up to 64.
TEST_F(ReduceOrder, OfTheBackendIsWithinTheRoundingError) {
  holds([this](const BackendRequest& request, std::uint16_t seed) {
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    const auto rows = random_rows(request.devices, 8, seed);
    const PerReplica<Row> got = reduced(strategy, ReduceOp::kSum, rows, true);
    if (bench.own().empty()) return;
    const Row& first = got[bench.own().front()];
    for (std::size_t i = 0; i < 8; ++i) {
      double exact = 0;
      double magnitude = 0;
      for (const Row& row : rows) {
        exact += row[i];
        magnitude += std::abs(static_cast<double>(row[i]));
      }
      const double allowed = (request.devices - 1) * magnitude *
                             static_cast<double>(std::numeric_limits<float>::epsilon());
      RC_ASSERT(std::abs(first[i] - exact) <= allowed);
    }
    // In every order, all replicas have the same bits.
    for (const Row& row : got) RC_ASSERT(Numbers(row) == Numbers(first));
  });
}

}  // namespace
}  // namespace belfry::testing::reduce_order_props
