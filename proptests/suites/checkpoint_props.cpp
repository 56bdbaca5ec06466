// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// INV-9: a checkpoint saved with some number of replicas reads the same with any other number. A
// failed transaction changes nothing, whatever its body did.
#include "belfry/checkpoint.h"
#include "belfry/tensor_ops.h"
#include "suites/property.h"
#include "suites/reduce_oracle.h"

#include <stdexcept>
#include <vector>

namespace belfry::testing::checkpoint_props {
namespace {

using Row = std::vector<float>;

class Checkpoints : public Property {};
class TransactionProps : public Property {};

constexpr std::size_t kLength = 4;

/// A variable of each kind, with values for all replicas.
struct Variables {
  Variables(Strategy& owner, std::uint64_t from) : strategy(owner), seed(from) {
    mirrored = strategy.mirrored_variable([&] { return tensor_of(row(0)); }, {.name = "mirrored"});
    host = strategy.mirrored_variable(row(1), {.name = "host"});
    sum = strategy.replica_local_variable(ReduceOp::kSum, [&] { return tensor_of(Row(kLength)); },
                                          {.name = "sum"});
    count = strategy.replica_local_variable(ReduceOp::kSum, std::int64_t{0}, {.name = "count"});
    wide = strategy.replica_local_variable(ReduceOp::kSum, std::uint64_t{0}, {.name = "wide"});
    first =
        strategy.replica_local_variable(Aggregation::kOnlyFirst, Row(kLength), {.name = "first"});
    mean = strategy.replica_local_variable(ReduceOp::kMean, Row(kLength), {.name = "mean"});
  }

  Row row(int replica) const {
    return values_of<float>({Pattern::kRandom, seed}, replica, kLength);
  }
  // Writes the components of every replica.
  void write() {
    strategy.run([&](ReplicaContext& replica) {
      const int id = replica.replica_id();
      sum.on(replica) = tensor_of(row(id));
      // `count`: numbers of equal sign, negative for odd seeds. `wide`: any bits, with a sum that
      // wraps.
      const auto number = static_cast<std::int64_t>(mixed_bits(seed, 7, id) >> 20);
      count.on(replica) = seed % 2 == 0 ? number : -number;
      wide.on(replica) = mixed_bits(seed, 8, id);
      first.on(replica) = row(id + 1);
      // Exact numbers, equal on all replicas: the mean is the same number.
      mean.on(replica) = values_of<float>({Pattern::kSmallIntegers, seed}, 0, kLength);
      meet_with_a_tensor(replica);
    });
  }
  Checkpoint checkpoint() {
    Checkpoint all(strategy);
    all.add(mirrored).add(host).add(sum).add(count).add(wide).add(first).add(mean);
    return all;
  }

  Strategy& strategy;
  std::uint64_t seed;
  MirroredVariable<Tensor<float>> mirrored;
  MirroredVariable<Row> host;
  ReplicaLocalVariable<Tensor<float>> sum;
  ReplicaLocalVariable<std::int64_t> count;
  ReplicaLocalVariable<std::uint64_t> wide;
  ReplicaLocalVariable<Row> first;
  ReplicaLocalVariable<Row> mean;
};

/// Asserts that the components have the sum `total`, and that no component is further from 0 than
/// the last by more than 1.
template <class E>
void require_even(Strategy& strategy, const ReplicaLocalVariable<E>& sum, E total) {
  RC_ASSERT(strategy.read(sum) == total);
  const auto components = strategy.local_values(sum);
  const E least = components[strategy.num_replicas() - 1];
  const E more = total < E{0} ? least - 1 : least + 1;
  for (E one : components) RC_ASSERT(one == least || one == more);
}

TEST_F(Checkpoints, ReadTheSameOnAnyNumberOfReplicas) {
  holds([this](const BackendRequest& from, const BackendRequest& to, std::uint16_t seed) {
    Bench bench(*this, from);
    Variables saved(bench.strategy({.order = ReductionOrder::kReplicaOrder}), seed);
    saved.write();
    const TensorFile file = saved.checkpoint().contents();
    Bench other(*this, to);
    Variables restored(other.strategy({.order = ReductionOrder::kReplicaOrder}), seed + 1U);
    restored.write();
    RC_ASSERT(TensorFile::parse(file.contents(), "memory") == file);
    restored.checkpoint().restore(file);
    RC_ASSERT(restored.checkpoint().contents() == file);
    // Every split keeps the total of integers.
    restored.checkpoint().restore(file, {.sums = SumSplit::kDivide, .site = CallSite::here()});
    require_even(restored.strategy, restored.count, saved.strategy.read(saved.count));
    require_even(restored.strategy, restored.wide, saved.strategy.read(saved.wide));
    // Each float is the total's share, rounded once.
    Row share = saved.strategy.read(saved.sum).to_host();
    for (float& number : share) number /= static_cast<float>(to.devices);
    for (const Tensor<float>& one : restored.strategy.local_values(restored.sum)) {
      RC_ASSERT(Numbers(one.to_host()) == Numbers(share));
    }
  });
}

struct OnPurpose : std::runtime_error {
  OnPurpose() : std::runtime_error("on purpose") {}
};

// Changes all variables once. Throws at place `fails`, counted from 0.
void change(Variables& all, int fails, int writer) {
  CrossReplicaContext& cross = all.strategy.cross_replica();
  cross.update(all.mirrored, [](Tensor<float>& one) { one = multiply(one, 2.0F); });
  if (fails == 0) throw OnPurpose();
  cross.assign_each(all.first, Row(kLength, 1.0F));
  cross.assign_total(all.count, std::int64_t{5});
  all.strategy.run([&](ReplicaContext& replica) {
    replica.assign_add(all.sum, tensor_of(all.row(replica.replica_id())));
    all.first.on(replica)[0] += 1;
    if (fails == 1 && replica.replica_id() == writer) throw OnPurpose();
    meet_with_a_tensor(replica);
  });
  cross.update(all.host, [&](Row& row) {
    row[0] += 1;
    if (fails == 2) throw OnPurpose();
  });
  if (fails == 3) throw OnPurpose();
}

TEST_F(TransactionProps, ExceptionsAtAnyPlaceChangeNothing) {
  holds([this](const BackendRequest& request, std::uint16_t seed) {
    const int fails = *rc::gen::inRange(0, 5);
    const int before = *rc::gen::inRange(0, 3);
    const int writer = *rc::gen::inRange(0, request.devices);
    Bench bench(*this, request);
    Variables all(bench.strategy({.order = ReductionOrder::kReplicaOrder}), seed);
    all.write();
    for (int i = 0; i < before; ++i) change(all, 4, writer);
    const TensorFile then = all.checkpoint().contents();
    const auto components = all.strategy.local_values(all.first);
    const auto transaction = [&] {
      all.strategy.transaction([&] {
        change(all, 4, writer);
        change(all, fails, writer);
      });
    };
    if (fails == 4) {
      transaction();
      RC_ASSERT(!(all.checkpoint().contents() == then));
    } else {
      RC_ASSERT_THROWS_AS(transaction(), OnPurpose);
      RC_ASSERT(all.checkpoint().contents() == then);
      RC_ASSERT(all.strategy.local_values(all.first) == components);
    }
    all.strategy.run(meet_with_a_tensor);
  });
}

}  // namespace
}  // namespace belfry::testing::checkpoint_props
