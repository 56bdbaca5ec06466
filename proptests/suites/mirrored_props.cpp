// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// INV-7: the components of a mirrored variable have the same bits from creation on, after any
// sequence of legal operations.
#include "belfry/backend/host_backend.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "suites/property.h"
#include "suites/reduce_oracle.h"

#include <stdexcept>
#include <tuple>
#include <vector>

namespace belfry::testing::mirrored_props {
namespace {

using Row = std::vector<float>;

class MirroredVariables : public Property {};

constexpr std::size_t kLength = 4;

std::vector<Row> rows_of(int replicas, std::uint64_t seed) {
  std::vector<Row> rows;
  for (int id = 0; id < replicas; ++id) {
    rows.push_back(values_of<float>({Pattern::kRandom, seed}, id, kLength));
  }
  return rows;
}

const Row& on_host(const Row& component) { return component; }
Row on_host(const Tensor<float>& component) { return component.to_host(); }

template <class T>
void require_components(Strategy& strategy, const MirroredVariable<T>& variable,
                        const Row& expected) {
  std::vector<Numbers<float>> components;
  for (const T& component : strategy.local_values(variable)) {
    components.emplace_back(on_host(component));
  }
  RC_ASSERT(components.empty() == strategy.worker_devices().empty());
  RC_ASSERT(components == std::vector(components.size(), Numbers(expected)));
}

TEST_F(MirroredVariables, StartEqualFromASingleInitialiserCall) {
  testing::asserts("SEM-40");
  holds([this](const BackendRequest& request, std::uint16_t seed) {
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    int calls = 0;
    const auto next = [&] { return values_of<float>({Pattern::kRandom, seed}, calls++, kLength); };
    const auto host = strategy.mirrored_variable([&] { return next(); });
    const auto device = strategy.mirrored_variable([&] { return tensor_of(next()); });
    // In the process of replica 0.
    RC_ASSERT(calls == (bench.has(0) ? 2 : 0));
    const auto row = [&](int call) {
      return values_of<float>({Pattern::kRandom, seed}, call, kLength);
    };
    require_components(strategy, host, row(0));
    require_components(strategy, device, row(1));
    const auto seen = strategy.run([&](ReplicaContext& replica) {
      meet_with_a_tensor(replica);
      const Tensor<float>& own = device.on(replica);
      return std::tuple(host.on(replica), own.to_host(), own.placement() == replica.placement());
    });
    for (const auto& [on_host, on_device, is_with_replica] : seen) {
      RC_ASSERT(Numbers(on_host) == Numbers(row(0)));
      RC_ASSERT(Numbers(on_device) == Numbers(row(1)));
      RC_ASSERT(is_with_replica);
    }
  });
}

// Random numbers are a function of seed, offset and place in the tensor: the host draws the same
// numbers.
TEST_F(MirroredVariables, StartFromASingleRandomDraw) {
  testing::asserts("SEM-40");
  holds([this](const BackendRequest& request, std::uint16_t seed) {
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    int calls = 0;
    std::uint64_t offset = 0;
    const auto draw = [&] {
      ++calls;
      offset += kLength;
      return random_normal<float>({kLength}, seed, offset);
    };
    const auto outside = strategy.mirrored_variable(draw);
    const auto inside = strategy.run([&](ReplicaContext& replica) {
      meet_with_a_tensor(replica);
      return strategy.mirrored_variable(draw);
    });
    RC_ASSERT(calls == (bench.has(0) ? 2 : 0));
    HostBackend host(1);
    const auto row = [&](std::uint64_t drawn) {
      return random_normal<float>({kLength}, seed, drawn * kLength, Placement{&host, 0}).to_host();
    };
    require_components(strategy, outside, row(1));
    // A process without replicas has no handle of the variable (SEM-237).
    if (!bench.own().empty()) require_components(strategy, inside, row(2));
    RC_ASSERT(row(1) != row(2));
  });
}

// A change of a variable. `changed` makes the same change of a plain row.
enum class Change { kUpdate, kUpdateReduced, kAssign, kAssignAdd, kAssignSubtract, kFailedUpdate };
constexpr int kNumChanges = 6;

Row changed(Change change, Row row, const Row& sum) {
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (change == Change::kUpdate) row[i] = row[i] - 0.5F;
    if (change == Change::kUpdateReduced || change == Change::kAssignAdd) row[i] += sum[i];
    if (change == Change::kAssign) row[i] = sum[i];
    if (change == Change::kAssignSubtract) row[i] -= sum[i];
  }
  return row;
}

// Applies `change` on a strategy. `rows` are the values of replicas.
void apply_change(Strategy& strategy, const MirroredVariable<Tensor<float>>& variable,
                  Change change, const std::vector<Row>& rows) {
  if (change == Change::kUpdate) {
    strategy.cross_replica().update(
        variable, [](Tensor<float>& component) { component = subtract(component, 0.5F); });
    return;
  }
  strategy.run([&](ReplicaContext& replica) {
    const auto own = tensor_of(rows[static_cast<std::size_t>(replica.replica_id())]);
    if (change == Change::kAssign) return replica.assign(variable, own);
    if (change == Change::kAssignAdd) return replica.assign_add(variable, own);
    if (change == Change::kAssignSubtract) return replica.assign_sub(variable, own);
    replica.merge_call(
        [&](CrossReplicaContext& cross, const PerReplica<Tensor<float>>& all) {
          // The last of the components that the strategy computes.
          std::size_t left = 0;
          cross.update(variable, [&](Tensor<float>&) { ++left; });
          cross.update(
              variable,
              [&](Tensor<float>& component, const Tensor<float>& sum) {
                component = add(component, sum);
                if (change == Change::kFailedUpdate && --left == 0) {
                  throw std::runtime_error("on purpose");
                }
              },
              cross.reduce(ReduceOp::kSum, all));
        },
        own);
  });
}

TEST_F(MirroredVariables, StayEqualAfterAllChanges) {
  holds([this](const BackendRequest& request, std::uint16_t seed) {
    const auto changes =
        *rc::gen::resize(8, rc::gen::container<std::vector<int>>(rc::gen::resize(
                                rc::kNominalSize, rc::gen::inRange(0, kNumChanges))));
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy({.order = ReductionOrder::kReplicaOrder});
    Row expected(kLength, 1.0F);
    const auto variable = strategy.mirrored_variable([&] { return tensor_of(expected); },
                                                     {.aggregation = Aggregation::kSum});
    std::uint64_t step = seed;
    for (int drawn : changes) {
      const auto change = static_cast<Change>(drawn);
      const auto rows = rows_of(request.devices, step++);
      if (change == Change::kFailedUpdate && bench.own().empty()) {
        RC_ASSERT_THROWS_AS(apply_change(strategy, variable, change, rows), PeerFailedError);
      } else if (change == Change::kFailedUpdate) {
        RC_ASSERT_THROWS_AS(apply_change(strategy, variable, change, rows), std::runtime_error);
      } else {
        apply_change(strategy, variable, change, rows);
      }
      expected = changed(change, expected, expected_reduction(ReduceOp::kSum, rows));
      require_components(strategy, variable, expected);
      RC_ASSERT(Numbers(strategy.read(variable).to_host()) == Numbers(expected));
    }
  });
}

}  // namespace
}  // namespace belfry::testing::mirrored_props
