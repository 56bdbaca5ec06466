// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// INV-8: components of a replica-local variable start equal, from a single call of the initialiser.
// Each replica writes only its own component. A read across replicas reduces the components.
#include "belfry/testing/asserts.h"
#include "suites/property.h"
#include "suites/reduce_oracle.h"

#include <vector>

namespace belfry::testing::replica_local_props {
namespace {

using Row = std::vector<float>;

class ReplicaLocal : public Property {};

// Returns a different row for every call: a second call shows.
struct ForgetfulSource {
  std::uint64_t seed = 0;
  int calls = 0;

  Row next() {
    ++calls;
    return values_of<float>({Pattern::kRandom, seed}, calls, 5);
  }
};

TEST_F(ReplicaLocal, InitialiserRunsOnceAndComponentsStartWithEqualBits) {
  testing::asserts("SEM-50");
  holds([this](const BackendRequest& request, std::uint16_t seed) {
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    ForgetfulSource host{seed};
    ForgetfulSource device{seed + 1U};
    const auto on_host =
        strategy.replica_local_variable(ReduceOp::kSum, [&] { return host.next(); });
    const auto on_device = strategy.replica_local_variable(
        ReduceOp::kMean, [&] { return Tensor<float>::from({5}, device.next()); });
    const auto seen = strategy.run([&](ReplicaContext& replica) {
      meet_with_a_tensor(replica);
      return std::pair(on_host.on(replica), on_device.on(replica).to_host());
    });
    // In the process of replica 0.
    RC_ASSERT(host.calls == (bench.has(0) ? 1 : 0));
    RC_ASSERT(device.calls == (bench.has(0) ? 1 : 0));
    for (const auto& [first, second] : seen) {
      RC_ASSERT(Numbers(first) == Numbers(values_of<float>({Pattern::kRandom, seed}, 1, 5)));
      RC_ASSERT(Numbers(second) == Numbers(values_of<float>({Pattern::kRandom, seed + 1U}, 1, 5)));
    }
  });
}

TEST_F(ReplicaLocal, TensorsLiveWithTheirReplicas) {
  holds([this](const BackendRequest& request) {
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    const auto variable = strategy.replica_local_variable(
        ReduceOp::kSum, [] { return Tensor<float>::full({3}, 1.0F); });
    const auto are_with_replicas = strategy.run([&](ReplicaContext& replica) {
      meet_with_a_tensor(replica);
      return variable.on(replica).placement() == replica.placement();
    });
    for (const bool is_with_replica : are_with_replicas) RC_ASSERT(is_with_replica);
  });
}

TEST_F(ReplicaLocal, WritesAreVisibleOnlyOnTheirReplica) {
  testing::asserts("SEM-52");
  holds([this](const BackendRequest& request, std::uint16_t seed) {
    const int writer = *rc::gen::inRange(0, request.devices);
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    const Row start = values_of<float>({Pattern::kRandom, seed}, 0, 4);
    const Row written = values_of<float>({Pattern::kRandom, seed}, 1, 4);
    const auto on_host = strategy.replica_local_variable(ReduceOp::kSum, start);
    const auto on_device = strategy.replica_local_variable(
        ReduceOp::kSum, [&] { return Tensor<float>::from({4}, start); });
    const auto seen = strategy.run([&](ReplicaContext& replica) {
      if (replica.replica_id() == writer) {
        on_host.on(replica) = written;
        replica.assign(on_device, Tensor<float>::from({4}, written));
      }
      meet_with_a_tensor(replica);
      return std::pair(on_host.on(replica), on_device.on(replica).to_host());
    });
    for (const int id : bench.own()) {
      const Row& expected = id == writer ? written : start;
      RC_ASSERT(Numbers(seen[id].first) == Numbers(expected));
      RC_ASSERT(Numbers(seen[id].second) == Numbers(expected));
      RC_ASSERT(Numbers(strategy.local_values(on_host)[id]) == Numbers(expected));
    }
  });
}

TEST_F(ReplicaLocal, ReadsAreTheReductionOfTheComponents) {
  testing::asserts("SEM-51", "SEM-254");
  holds([this](const BackendRequest& request, std::uint16_t seed) {
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy({.order = ReductionOrder::kReplicaOrder});
    std::vector<Row> rows;
    for (int id = 0; id < request.devices; ++id) {
      rows.push_back(values_of<float>({Pattern::kRandom, seed}, id, 4));
    }
    for (ReduceOp op :
         {ReduceOp::kSum, ReduceOp::kMean, ReduceOp::kMax, ReduceOp::kMin, ReduceOp::kProd}) {
      const auto on_host = strategy.replica_local_variable(op, Row(4));
      const auto on_device =
          strategy.replica_local_variable(op, [] { return Tensor<float>::full({4}, 0.0F); });
      strategy.run([&](ReplicaContext& replica) {
        const Row& own = rows[static_cast<std::size_t>(replica.replica_id())];
        on_host.on(replica) = own;
        on_device.on(replica) = Tensor<float>::from({4}, own);
      });
      const Row expected = expected_reduction(op, rows);
      RC_ASSERT(Numbers(strategy.read(on_host)) == Numbers(expected));
      RC_ASSERT(Numbers(strategy.read(on_device).to_host()) == Numbers(expected));
      // Reading changes nothing.
      for (const int id : bench.own()) {
        const Row& own = rows[static_cast<std::size_t>(id)];
        RC_ASSERT(Numbers(strategy.local_values(on_host)[id]) == Numbers(own));
        RC_ASSERT(Numbers(strategy.local_values(on_device)[id].to_host()) == Numbers(own));
      }
    }
  });
}

}  // namespace
}  // namespace belfry::testing::replica_local_props
