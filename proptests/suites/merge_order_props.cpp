// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// INV-2 and INV-3: the k-th merge runs once, in program order, after every replica has arrived and
// before any replica goes on. Contexts are current exactly where they belong.
#include "belfry/testing/asserts.h"
#include "belfry/testing/code_of.h"
#include "suites/property.h"

#include <stdexcept>
#include <thread>
#include <vector>

namespace belfry::testing::merge_order_props {
namespace {

class MergeOrder : public Property {};

// A merge, as the merge function saw the replicas of its process.
struct SeenMerge {
  std::vector<int> arrived;  // By replica: the last merge at which the replica has arrived,
  std::vector<int> resumed;  // and the last merge from which the replica has gone on.
  int sum_of_rounds;         // Over the replicas of all processes.
};

std::vector<int> entries_of(const std::vector<int>& replicas, const std::vector<int>& rounds) {
  std::vector<int> entries;
  for (const int id : replicas) entries.push_back(rounds[static_cast<std::size_t>(id)]);
  return entries;
}

// Waits `times` times for work of the device, so that other replicas arrive first.
void delay_arrival(int times) {
  for (int i = 0; i < times; ++i) Tensor<float>::full({2}, 1.0F).to_host();
}

TEST_F(MergeOrder, HasEveryMergeBetweenTheLastArrivalAndTheFirstResume) {
  testing::asserts("SEM-2");
  holds([this](const BackendRequest& request) {
    const int rounds = *rc::gen::inRange(1, 6);
    Bench bench(*this, request);
    const std::vector<int>& own = bench.own();  // The replicas of this process.
    std::vector<int> arrived(static_cast<std::size_t>(request.devices), 0);
    std::vector<int> resumed = arrived;
    std::vector<SeenMerge> merges;

    bench.strategy().run([&](ReplicaContext& replica) {
      const int id = replica.replica_id();
      for (int round = 1; round <= rounds; ++round) {
        delay_arrival(id % 3);
        arrived[static_cast<std::size_t>(id)] = round;
        replica.merge_call(
            [&](CrossReplicaContext& cross, const PerReplica<int>& all) {
              merges.push_back({entries_of(own, arrived), entries_of(own, resumed),
                                cross.reduce(ReduceOp::kSum, all).value()});
            },
            round);
        resumed[static_cast<std::size_t>(id)] = round;
      }
      meet_with_a_tensor(replica);
    });

    RC_ASSERT(merges.size() == (own.empty() ? 0 : static_cast<std::size_t>(rounds)));
    int round = 0;
    for (const SeenMerge& merge : merges) {
      ++round;
      RC_ASSERT(merge.arrived == std::vector<int>(own.size(), round));
      RC_ASSERT(merge.resumed == std::vector<int>(own.size(), round - 1));
      RC_ASSERT(merge.sum_of_rounds == round * request.devices);
    }
  });
}

TEST_F(MergeOrder, HasEveryMergeOnTheThreadThatCalledRun) {
  testing::asserts("SEM-2");
  holds([this](const BackendRequest& drawn) {
    const auto own_place = place();  // Processes agree on it: once, before the first run.
    for (const CarrierKind carrier :
         {CarrierKind::kFiber, CarrierKind::kBaton, CarrierKind::kConcurrent}) {
      BackendRequest request = drawn;
      request.carrier = carrier;
      Bench bench(*this, request, own_place);
      const std::thread::id caller = std::this_thread::get_id();

      const auto are_on_caller = bench.strategy().run([&](ReplicaContext& replica) {
        meet_with_a_tensor(replica);
        return replica.merge_call(
            [&](CrossReplicaContext&) { return std::this_thread::get_id() == caller; });
      });

      for (const bool is_on_caller : are_on_caller) RC_ASSERT(is_on_caller);
    }
  });
}

TEST_F(MergeOrder, HandsArgumentsOverByReplicaId) {
  testing::asserts("SEM-3", "SEM-12");
  holds([this](const BackendRequest& request, std::uint16_t seed) {
    Bench bench(*this, request);
    const auto value_of = [&](int id) { return static_cast<int>(mixed_bits(seed, 0, id) % 1000); };

    const auto merged = bench.strategy().run([&](ReplicaContext& replica) {
      meet_with_a_tensor(replica);
      return replica.merge_call(
          [](CrossReplicaContext&, const PerReplica<int>& values) {
            return std::vector<int>(values.begin(), values.end());
          },
          value_of(replica.replica_id()));
    });

    std::vector<int> expected;
    for (const int id : bench.own()) expected.push_back(value_of(id));
    for (const std::vector<int>& values : merged) RC_ASSERT(values == expected);
  });
}

ErrorCode code_of_cross_replica_work(Strategy& strategy) {
  return code_of([&] { strategy.cross_replica().broadcast(1); });
}

ErrorCode code_of_merging(ReplicaContext& replica) {
  return code_of([&] { replica.merge_call([](CrossReplicaContext&) {}); });
}

// The errors of cross-replica work in a replica.
struct CodesInReplica {
  ErrorCode before_merge;
  ErrorCode after_merge;
};

TEST_F(MergeOrder, KeepsReplicaAndCrossReplicaWorkApart) {
  holds([this](const BackendRequest& request, bool throws) {
    const int thrower = throws ? *rc::gen::inRange(0, request.devices) : -1;
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    ErrorCode merging_in_merge = ErrorCode::kInternal;
    int broadcast_in_merge = 0;
    std::vector<ErrorCode> work_in_inner_run(static_cast<std::size_t>(request.devices));
    std::vector<ErrorCode> merging_in_inner_run = work_in_inner_run;
    std::vector<int> replicas_in_inner_run(work_in_inner_run.size());

    const auto body = [&](ReplicaContext& replica) {
      const ErrorCode before_merge = code_of_cross_replica_work(strategy);
      replica.merge_call([&](CrossReplicaContext& cross) {
        merging_in_merge = code_of_merging(replica);
        broadcast_in_merge = cross.broadcast(7).value();
        cross.run([&](ReplicaContext& inner) {
          const auto id = static_cast<std::size_t>(inner.replica_id());
          work_in_inner_run[id] = code_of_cross_replica_work(strategy);
          merging_in_inner_run[id] = code_of_merging(replica);
          replicas_in_inner_run[id] = inner.num_replicas();
        });
      });
      meet_with_a_tensor(replica);
      if (replica.replica_id() == thrower) throw std::runtime_error("on purpose");
      return CodesInReplica{before_merge, code_of_cross_replica_work(strategy)};
    };
    if (throws) {
      RC_ASSERT_THROWS_AS(strategy.run(body), std::runtime_error);
    } else {
      for (const CodesInReplica& codes : strategy.run(body)) {
        RC_ASSERT(codes.before_merge == ErrorCode::kWrongContext);
        RC_ASSERT(codes.after_merge == ErrorCode::kWrongContext);
      }
    }

    RC_ASSERT(merging_in_merge == ErrorCode::kMergeNested);
    RC_ASSERT(broadcast_in_merge == 7);
    for (const int replica : bench.own()) {
      const auto id = static_cast<std::size_t>(replica);
      RC_ASSERT(work_in_inner_run[id] == ErrorCode::kWrongContext);
      RC_ASSERT(merging_in_inner_run[id] == ErrorCode::kMergeNested);
      RC_ASSERT(replicas_in_inner_run[id] == request.devices);
    }
    // After a normal and after an exceptional end, the caller is in cross-replica context again.
    RC_ASSERT(strategy.cross_replica().broadcast(3).value() == 3);
  });
}

}  // namespace
}  // namespace belfry::testing::merge_order_props
