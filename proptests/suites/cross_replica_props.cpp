// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Cross-replica functions on whole distributed values: broadcast, gather, map, batch_reduce,
// update_non_slot and nested runs.
#include "belfry/testing/asserts.h"
#include "suites/property.h"
#include "suites/reduce_oracle.h"

#include <algorithm>
#include <vector>

namespace belfry::testing::cross_replica_props {
namespace {

using Row = std::vector<float>;

class CrossReplica : public Property {};

Row row_of(std::uint64_t seed, int replica, int length) {
  return values_of<float>({Pattern::kRandom, seed}, replica, static_cast<std::size_t>(length));
}

TEST_F(CrossReplica, BroadcastPutsTheSameBitsEverywhere) {
  testing::asserts("SEM-114");
  holds([this](const BackendRequest& request, std::uint16_t seed) {
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    const Row row = row_of(seed, 0, 6);
    const auto tensors = strategy.run([&](ReplicaContext& replica) {
      meet_with_a_tensor(replica);
      return tensor_of(row);
    });
    const int source = static_cast<int>(seed) % request.devices;
    const auto everywhere = strategy.cross_replica().broadcast(tensors[source]);
    const auto on_host = strategy.cross_replica().broadcast(row);
    RC_ASSERT(everywhere.size() == request.devices);
    RC_ASSERT(on_host.size() == request.devices);
    for (int id = 0; id < request.devices; ++id) {
      RC_ASSERT(Numbers(everywhere[id].to_host()) == Numbers(row));
      RC_ASSERT(everywhere[id].placement() == strategy.placement(id));
      RC_ASSERT(Numbers(on_host[id]) == Numbers(row));
    }
  });
}

TEST_F(CrossReplica, BatchReduceIsEachReduction) {
  holds([this](const BackendRequest& request, std::uint16_t seed) {
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    CrossReplicaContext& cross = strategy.cross_replica();
    // Data with exact sums: a communicator may add in a different order each time.
    const auto row_of = [](std::uint64_t from, int replica, std::size_t length) {
      return values_of<float>({Pattern::kSmallIntegers, from}, replica, length);
    };
    const auto rows = strategy.run(
        [&](ReplicaContext& replica) { return row_of(seed, replica.replica_id(), 3); });
    const auto tensors = strategy.run(
        [&](ReplicaContext& replica) { return tensor_of(row_of(seed, replica.replica_id(), 7)); });
    const auto numbers =
        strategy.run([](ReplicaContext& replica) { return 0.25 * replica.replica_id(); });
    for (ReduceOp op : {ReduceOp::kSum, ReduceOp::kMean}) {
      const auto [a, b, c] = cross.batch_reduce(op, rows, tensors, numbers);
      RC_ASSERT(Numbers(a.value()) == Numbers(cross.reduce(op, rows).value()));
      RC_ASSERT(Numbers(b.value().to_host()) ==
                Numbers(cross.reduce(op, tensors).value().to_host()));
      RC_ASSERT(c.value() == cross.reduce(op, numbers).value());
    }
  });
}

TEST_F(CrossReplica, MapDealsElementsOutInTurn) {
  testing::asserts("SEM-123");
  holds([this](const BackendRequest& request, const std::vector<int>& elements) {
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    strategy.run(meet_with_a_tensor);
    const auto mapped = strategy.cross_replica().map(elements, [](int x) { return x / 2; });
    RC_ASSERT(mapped.size() == request.devices);
    std::size_t total = 0;
    for (const auto& list : mapped) total += list.size();
    RC_ASSERT(total == elements.size());
    for (std::size_t k = 0; k < elements.size(); ++k) {
      const auto devices = static_cast<std::size_t>(request.devices);
      const std::vector<int>& list = mapped[static_cast<int>(k % devices)];
      RC_ASSERT(list[k / devices] == elements[k] / 2);
    }
  });
}

TEST_F(CrossReplica, UpdateNonSlotVisitsEachNamedDeviceOnce) {
  holds([this](const BackendRequest& request) {
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    const auto tensors = strategy.run([](ReplicaContext& replica) {
      return Tensor<float>::full({1}, static_cast<float>(replica.replica_id()));
    });
    const auto sum = strategy.cross_replica().reduce(ReduceOp::kSum, tensors);
    auto chosen = strategy.non_slot_devices();
    std::reverse(chosen.begin(), chosen.end());
    chosen.resize((chosen.size() + 1) / 2);
    std::vector<DeviceSpec> visited;
    std::vector<int> seen;
    strategy.cross_replica().update_non_slot(
        chosen,
        [&](const Tensor<float>& here) {
          visited.push_back(bench.backend().device_spec(here.placement().device));
          seen.push_back(static_cast<int>(here.item()));
        },
        sum);
    const int total = request.devices * (request.devices - 1) / 2;
    RC_ASSERT(visited == chosen);
    RC_ASSERT(seen == std::vector<int>(chosen.size(), total));
  });
}

TEST_F(CrossReplica, RunsNestInMergesAndComeBack) {
  testing::asserts("SEM-9");
  holds([this](const BackendRequest& request) {
    const int depth = *rc::gen::inRange(1, 4);
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    // Level k merges and runs level k + 1. Each level adds the values of all replicas.
    const auto level = [&](const auto& self, ReplicaContext& replica, int left) -> int {
      const int sum = replica.all_reduce(ReduceOp::kSum, replica.replica_id() + left);
      meet_with_a_tensor(replica);
      if (left == 0) return sum;
      const int inner = replica.merge_call([&](CrossReplicaContext& cross) {
        return cross.run([&](ReplicaContext& again) { return self(self, again, left - 1); });
      });
      return sum + inner;
    };
    const auto got =
        strategy.run([&](ReplicaContext& replica) { return level(level, replica, depth); });
    const int n = request.devices;
    int expected = 0;
    for (int left = 0; left <= depth; ++left) expected += n * (n - 1) / 2 + n * left;
    for (int x : got) RC_ASSERT(x == expected);
  });
}

}  // namespace
}  // namespace belfry::testing::cross_replica_props
