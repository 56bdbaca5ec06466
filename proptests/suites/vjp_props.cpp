// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Vector-Jacobian products of the collectives. A collective is linear, f(x) = J x, and f alone
// determines J: its columns are f(x + e) - f(x), exactly, for data of small integers. A product is
// right if <J u, v> = <u, J^T v> for all u and v, and if the product equals the product with those
// columns.
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "belfry/vjp.h"
#include "suites/property.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace belfry::testing::vjp_props {
namespace {

using Row = std::vector<double>;
using Rows = std::vector<Row>;  // A row for each replica.

class Vjp : public Property {};

Row row(std::uint64_t seed, int replica, std::size_t length, int factor = 1) {
  Row out = values_of<double>({Pattern::kSmallIntegers, seed}, replica, length);
  for (double& x : out) x *= factor;
  return out;
}

double inner(const Row& a, const Row& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}
double inner(const Rows& a, const Rows& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += inner(a[i], b[i]);
  return sum;
}

Tensor<double> tensor(const Row& values) {
  return Tensor<double>::from({static_cast<std::int64_t>(values.size())}, values);
}

/// Runs `fn(replica, tensor of its row)` and reads the results.
template <class F>
Rows through(Strategy& strategy, const Rows& rows, const F& fn) {
  Rows out;
  for (const auto& result : strategy.run([&](ReplicaContext& replica) {
         return fn(replica, tensor(rows[static_cast<std::size_t>(replica.replica_id())]));
       })) {
    out.push_back(result.to_host());
  }
  return out;
}

/// Checks a collective and its product, as functions of a row for each replica.
template <class Forward, class Backward>
void check_product(const Rows& u, const Rows& v, Forward&& forward, Backward&& backward) {
  const Rows transposed = backward(v);
  RC_ASSERT(inner(forward(u), v) == inner(u, transposed));
  // Finite differences by every input of replica 0, which are exact.
  const Rows at = forward(u);
  for (std::size_t i = 0; i < u[0].size(); ++i) {
    Rows moved = u;
    // A multiple of every divisor of the means.
    const double step = 840;
    moved[0][i] += step;
    Rows column = forward(moved);
    for (std::size_t r = 0; r < column.size(); ++r) {
      for (std::size_t k = 0; k < column[r].size(); ++k) {
        column[r][k] = (column[r][k] - at[r][k]) / step;
      }
    }
    // Exact except for the rounding of each term and each sum, for example of thirds in a mean.
    const double difference = inner(column, v) - transposed[0][i];
    RC_ASSERT(difference < 1e-9);
    RC_ASSERT(difference > -1e-9);
  }
}

TEST_F(Vjp, OfAllReduceIsAllReduce) {
  testing::asserts("SEM-127");
  holds([this] {
    const auto request = *backend_request(8);
    const auto seed = *rc::gen::arbitrary<std::uint16_t>();
    const auto length = *rc::gen::inRange<std::size_t>(1, 4);
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    for (ReduceOp op : {ReduceOp::kSum, ReduceOp::kMean}) {
      Rows u;
      Rows v;
      // Multiples of N: means are whole.
      const int n = request.devices;
      for (int id = 0; id < n; ++id) u.push_back(row(seed, id, length, n));
      for (int id = 0; id < n; ++id) v.push_back(row(seed + 1, id, length, n));
      check_product(
          u, v,
          [&](const Rows& x) {
            return through(strategy, x, [op](ReplicaContext& r, const Tensor<double>& own) {
              return r.all_reduce(op, own);
            });
          },
          [&](const Rows& y) {
            return through(strategy, y, [op](ReplicaContext& r, const Tensor<double>& own) {
              return all_reduce_vjp(r, op, own);
            });
          });
    }
  });
}

TEST_F(Vjp, OfReduceScatterJoinsTheCotangents) {
  testing::asserts("SEM-127");
  holds([this] {
    const auto request = *backend_request(8);
    const auto seed = *rc::gen::arbitrary<std::uint16_t>();
    const auto length = *rc::gen::inRange<std::size_t>(1, 20);
    const auto replicas = static_cast<std::size_t>(request.devices);
    Rows u;
    Rows v;
    for (int id = 0; id < request.devices; ++id) {
      u.push_back(row(seed, id, length, 840));  // Means without a rounding.
      const std::size_t rest = static_cast<std::size_t>(id) < length % replicas ? 1 : 0;
      v.push_back(row(seed + 1, id, length / replicas + rest, 840));
    }
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kMean}) {
      check_product(
          u, v,
          [&](const Rows& x) {
            return through(strategy, x, [op](ReplicaContext& r, const Tensor<double>& mine) {
              return r.reduce_scatter(op, mine, Axis(0));
            });
          },
          [&](const Rows& y) {
            return through(strategy, y, [op](ReplicaContext& r, const Tensor<double>& mine) {
              return reduce_scatter_vjp(r, op, mine, Axis(0));
            });
          });
    }
  });
}

TEST_F(Vjp, OfAllGatherIsASliceOfTheSum) {
  testing::asserts("SEM-127");
  holds([this] {
    const auto request = *backend_request(8);
    const auto seed = *rc::gen::arbitrary<std::uint16_t>();
    Rows u;
    std::size_t total = 0;
    for (int id = 0; id < request.devices; ++id) {
      u.push_back(row(seed, id, *rc::gen::inRange<std::size_t>(0, 4)));
      total += u.back().size();
    }
    Rows v;
    for (int id = 0; id < request.devices; ++id) v.push_back(row(seed + 1, id, total));
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    const auto own = [&](ReplicaContext& r) {
      return tensor(u[static_cast<std::size_t>(r.replica_id())]);
    };
    check_product(
        u, v,
        [&](const Rows& x) {
          return through(strategy, x, [](ReplicaContext& r, const Tensor<double>& mine) {
            return r.all_gather(mine);
          });
        },
        [&](const Rows& y) {
          return through(strategy, y, [&](ReplicaContext& r, const Tensor<double>& mine) {
            return all_gather_vjp(r, own(r), mine);
          });
        });
  });
}

// A receiver with a sender, drawn for some replicas: a sender may have several receivers, or none.
TEST_F(Vjp, OfPermuteSumsTheCotangents) {
  testing::asserts("SEM-127");
  holds([this] {
    const auto request = *backend_request(8);
    const auto seed = *rc::gen::arbitrary<std::uint16_t>();
    const int n = request.devices;
    std::vector<std::pair<int, int>> pairs;
    std::vector<bool> receives;
    Rows u;
    Rows v;
    for (int id = 0; id < n; ++id) {
      receives.push_back(*rc::gen::arbitrary<bool>());
      if (receives.back()) pairs.emplace_back(*rc::gen::inRange(0, n), id);
      u.push_back(row(seed, id, 3));
      v.push_back(row(seed + 1, id, 3));
    }
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    strategy.run(meet_with_a_tensor);  // By the communicator.
    const auto value_or = [](const std::optional<Tensor<double>>& value, std::int64_t length) {
      return value ? *value : Tensor<double>::full({length}, 0);
    };
    check_product(
        u, v,
        [&](const Rows& x) {
          return through(strategy, x, [&](ReplicaContext& r, const Tensor<double>& mine) {
            return value_or(r.permute(mine, pairs), 0);
          });
        },
        [&](const Rows& y) {
          return through(strategy, y, [&](ReplicaContext& r, const Tensor<double>& mine) {
            const bool has_one = receives[static_cast<std::size_t>(r.replica_id())];
            const auto own = has_one ? std::optional(mine) : std::nullopt;
            return value_or(permute_vjp(r, own, pairs), 3);
          });
        });
  });
}

TEST_F(Vjp, OfTheCrossReplicaVerbs) {
  testing::asserts("SEM-127");
  holds([this] {
    const auto request = *backend_request(8);
    const auto seed = *rc::gen::arbitrary<std::uint16_t>();
    const int n = request.devices;
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    CrossReplicaContext& cross = strategy.cross_replica();
    strategy.run(meet_with_a_tensor);
    const auto rows = [&](std::uint64_t from) {
      return strategy.distribute_values([&](int id) { return row(from, id, 3, n); });
    };
    const PerReplica<Row> u = rows(seed);
    const PerReplica<Row> w = rows(seed + 1);
    const Rows all_u(u.begin(), u.end());
    const Rows all_w(w.begin(), w.end());
    const Row v = row(seed + 2, 99, 3, n);

    for (ReduceOp op : {ReduceOp::kSum, ReduceOp::kMean}) {
      const auto back = reduce_vjp(cross, op, v);
      const Rows everywhere(static_cast<std::size_t>(n), back.value());
      RC_ASSERT(inner(cross.reduce(op, u).value(), v) == inner(all_u, everywhere));
      const auto parts = reduce_vjp(cross, op, u, v);
      RC_ASSERT(Rows(parts.begin(), parts.end()) == everywhere);
    }
    const Rows copies(static_cast<std::size_t>(n), cross.broadcast(v).value());
    RC_ASSERT(inner(copies, all_w) == inner(v, broadcast_vjp(cross, w)));

    const Row joined = cross.gather(u);
    const Row cotangent = row(seed + 3, 0, joined.size());
    const auto slices = gather_vjp(cross, u, cotangent);
    RC_ASSERT(inner(joined, cotangent) == inner(all_u, Rows(slices.begin(), slices.end())));
  });
}

}  // namespace
}  // namespace belfry::testing::vjp_props
