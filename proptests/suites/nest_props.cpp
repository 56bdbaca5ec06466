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

// A nest that a replica has, and the nest that it must be.
struct Compared {
  SampleNest got;
  SampleNest expected;
};

void require_equal(const std::vector<Compared>& nests) {
  for (const Compared& nest : nests) {
    RC_ASSERT(same_bits(nest.got, nest.expected));
    RC_ASSERT(nest.got.tensor.placement() == nest.expected.tensor.placement());
  }
}

class Nests : public Property {
 protected:
  // Runs `body` on every replica. `body` gets the nest of the replica, and returns other nests with
  // the nests that they must be.
  template <class Body>
  void are_equal_on_every_replica(const Body& body) {
    holds([this, &body] {
      const NestCase drawn = *nest_case();
      Bench bench(*this, drawn.backend);
      const auto nests = bench.strategy().run([&](ReplicaContext& replica) {
        meet_with_a_tensor(replica);
        const SampleNest own = nest_of(drawn.shape, drawn.seed, replica.replica_id());
        return body(replica, own, drawn);
      });
      for (const std::vector<Compared>& of_replica : nests) require_equal(of_replica);
    });
  }
};

TEST_F(Nests, ReduceToTheReductionsOfTheirLeaves) {
  testing::asserts("SEM-20");
  are_equal_on_every_replica(
      [](ReplicaContext& replica, const SampleNest& own, const NestCase& drawn) {
        const int replicas = replica.num_replicas();
        const auto expected = [&](ReduceOp op) {
          return reduced_nest(drawn.shape, drawn.seed, replicas, op);
        };
        const SampleNest sum = replica.all_reduce(ReduceOp::kSum, own);
        const SampleNest mean = replica.all_reduce(ReduceOp::kMean, own);
        const SampleNest unchanged = nest_of(drawn.shape, drawn.seed, replica.replica_id());
        return std::vector<Compared>{
            {sum, expected(ReduceOp::kSum)}, {mean, expected(ReduceOp::kMean)}, {own, unchanged}};
      });
}

TEST_F(Nests, ReturnFromAMergeToTheirReplica) {
  are_equal_on_every_replica(
      [](ReplicaContext& replica, const SampleNest& own, const NestCase& /*drawn*/) {
        const SampleNest back = replica.merge_call(
            [](CrossReplicaContext&, const PerReplica<SampleNest>& nests) { return nests; }, own);
        return std::vector<Compared>{{back, own}};
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
    struct Received {
      std::vector<Compared> nests;
      int beside_b;
      int plain;
    };
    const auto received = strategy.run(
        [&](ReplicaContext& replica, const SampleNest& direct,
            const std::map<std::string, std::pair<SampleNest, int>>& nested, int plain) {
          const SampleNest own = nest_of(drawn.shape, drawn.seed, replica.replica_id());
          const auto& [in_b, beside_b] = nested.at("b");
          return Received{
              {{direct, own}, {nested.at("a").first, own}, {in_b, own}}, beside_b, plain};
        },
        results, several, 5);

    for (const Received& of_replica : received) {
      require_equal(of_replica.nests);
      RC_ASSERT(of_replica.beside_b == 2);
      RC_ASSERT(of_replica.plain == 5);
    }
  });
}

TEST_F(Nests, OfMergeResultsAreUnpackedLeafByLeaf) {
  testing::asserts("SEM-13");
  holds([this] {
    Bench bench(*this, (*nest_case()).backend);
    const auto results = bench.strategy().run([&](ReplicaContext& replica) {
      meet_with_a_tensor(replica);
      return replica.merge_call(
          [](CrossReplicaContext& cross, const PerReplica<int>& ids) {
            const Mirrored<int> same = cross.broadcast(9);
            return std::tuple(ids, std::string("plain"), std::pair(ids, same),
                              std::optional<PerReplica<int>>(ids),
                              std::vector<PerReplica<int>>{ids, ids});
          },
          replica.replica_id());
    });

    for (int id = 0; id < results.size(); ++id) {
      const auto& [mine, shared, both, maybe, listed] = results[id];
      RC_ASSERT(mine == id);
      RC_ASSERT(shared == "plain");
      RC_ASSERT(both == std::pair(id, 9));
      RC_ASSERT(maybe == id);
      RC_ASSERT((listed == std::vector<int>{id, id}));
    }
  });
}

}  // namespace
}  // namespace belfry::testing::nest_props
