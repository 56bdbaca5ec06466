// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Nests: each leaf of an argument, a merge or a result arrives at its own replica (INV-1), and the
// reduction of a nest is the reductions of its leaves.
#include "belfry/testing/asserts.h"
#include "belfry/testing/nests.h"
#include "suites/property.h"

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace belfry::testing::nest_props {
namespace {

struct NestCase {
  BackendRequest backend;
  NestShape shape;
  std::uint64_t seed = 0;
};

void showValue(const NestCase& value, std::ostream& out) {
  out << to_string(value.backend) << ", nests of " << value.shape.length << " and "
      << value.shape.entries << (value.shape.has_maybe ? " with an optional" : "") << " from seed "
      << value.seed;
}

rc::Gen<NestCase> nest_case() {
  return rc::gen::map(
      rc::gen::tuple(backend_request(), rc::gen::inRange(1, 8), rc::gen::inRange(0, 4),
                     rc::gen::arbitrary<bool>(), rc::gen::arbitrary<std::uint16_t>()),
      [](const std::tuple<BackendRequest, int, int, bool, std::uint16_t>& drawn) {
        const auto& [backend, length, entries, has_maybe, seed] = drawn;
        return NestCase{backend, {length, entries, has_maybe}, seed};
      });
}

class Nests : public Property {
 protected:
  // Runs `body` on every replica. `body` returns whether all values were right.
  template <class Body>
  void hold_on_every_replica(const Body& body) {
    holds([this, &body] {
      const NestCase drawn = *nest_case();
      Bench bench(*this, drawn.backend);
      Strategy& strategy = bench.strategy();
      const auto fine = strategy.run([&](ReplicaContext& replica) -> bool {
        meet_with_a_tensor(replica);
        return body(replica, drawn);
      });
      for (bool one : fine) RC_ASSERT(one);
    });
  }
};

TEST_F(Nests, ReduceToTheReductionsOfTheirLeaves) {
  testing::asserts("SEM-20");
  hold_on_every_replica([](ReplicaContext& replica, const NestCase& drawn) {
    const int replicas = replica.num_replicas();
    const SampleNest own = nest_of(drawn.shape, drawn.seed, replica.replica_id());
    bool fine = true;
    for (ReduceOp op : {ReduceOp::kSum, ReduceOp::kMean}) {
      const SampleNest got = replica.all_reduce(op, own);
      fine &= same_bits(got, reduced_nest(drawn.shape, drawn.seed, replicas, op));
      fine &= got.tensor.placement() == replica.placement();
    }
    // The argument of the reduction is unchanged.
    return fine && same_bits(own, nest_of(drawn.shape, drawn.seed, replica.replica_id()));
  });
}

TEST_F(Nests, ReduceInMergesAsTheyDoInReplicas) {
  hold_on_every_replica([](ReplicaContext& replica, const NestCase& drawn) {
    const SampleNest own = nest_of(drawn.shape, drawn.seed, replica.replica_id());
    const SampleNest got = replica.merge_call(
        [](CrossReplicaContext& cross, const PerReplica<SampleNest>& nests) {
          return cross.reduce(ReduceOp::kMean, nests);
        },
        own);
    return same_bits(got, replica.all_reduce(ReduceOp::kMean, own));
  });
}

TEST_F(Nests, ReturnFromAMergeToTheirReplica) {
  hold_on_every_replica([](ReplicaContext& replica, const NestCase& drawn) {
    const SampleNest own = nest_of(drawn.shape, drawn.seed, replica.replica_id());
    const SampleNest back = replica.merge_call(
        [](CrossReplicaContext&, const PerReplica<SampleNest>& nests) { return nests; }, own);
    return same_bits(back, own) && back.tensor.placement() == own.tensor.placement();
  });
}

TEST_F(Nests, AreSelectedByReplicaFromResultsAndArguments) {
  holds([this] {
    const NestCase drawn = *nest_case();
    Bench bench(*this, drawn.backend);
    Strategy& strategy = bench.strategy();
    const PerReplica<SampleNest> results = strategy.run([&](ReplicaContext& replica) {
      meet_with_a_tensor(replica);
      return nest_of(drawn.shape, drawn.seed, replica.replica_id());
    });
    RC_ASSERT(results.size() == drawn.backend.devices);
    using Several = std::map<std::string, std::pair<PerReplica<SampleNest>, int>>;
    const Several several{{"a", {results, 1}}, {"b", {results, 2}}};
    const auto fine = strategy.run(
        [&](ReplicaContext& replica, const SampleNest& direct,
            const std::map<std::string, std::pair<SampleNest, int>>& nested, int plain) {
          const SampleNest own = nest_of(drawn.shape, drawn.seed, replica.replica_id());
          return same_bits(direct, own) && same_bits(nested.at("a").first, own) &&
                 same_bits(nested.at("b").first, own) && nested.at("b").second == 2 && plain == 5;
        },
        results, several, 5);
    for (bool one : fine) RC_ASSERT(one);
  });
}

TEST_F(Nests, OfMergeResultsAreUnpackedLeafByLeaf) {
  testing::asserts("SEM-13");
  hold_on_every_replica([](ReplicaContext& replica, const NestCase&) {
    const int id = replica.replica_id();
    const auto [mine, shared, both, maybe, listed] = replica.merge_call(
        [](CrossReplicaContext& cross, const PerReplica<int>& ids) {
          const Mirrored<int> same = cross.broadcast(9);
          return std::tuple(ids, std::string("plain"), std::pair(ids, same),
                            std::optional<PerReplica<int>>(ids),
                            std::vector<PerReplica<int>>{ids, ids});
        },
        id);
    return mine == id && shared == "plain" && both == std::pair(id, 9) && maybe == id &&
           listed == std::vector<int>{id, id};
  });
}

}  // namespace
}  // namespace belfry::testing::nest_props
