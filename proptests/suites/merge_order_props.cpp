// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// INV-2 and INV-3: the k-th merge runs once, in program order, after every replica has arrived and
// before any replica goes on. Contexts are current exactly where they belong.
#include "belfry/testing/asserts.h"
#include "suites/property.h"

#include <stdexcept>
#include <thread>
#include <vector>

namespace belfry::testing::merge_order_props {
namespace {

class MergeOrder : public Property {};

// The round of each replica. Each replica writes its own entry; merges read while no replica runs.
struct Progress {
  explicit Progress(int replicas)
      : arrived(static_cast<std::size_t>(replicas)), resumed(static_cast<std::size_t>(replicas)) {}
  std::vector<int> arrived;
  std::vector<int> resumed;
  int merged = 0;
  bool in_order = true;
};

void wait_for_the_device() { Tensor<float>::full({2}, 1.0F).to_host(); }

TEST_F(MergeOrder, HasEveryMergeBetweenTheLastArrivalAndTheFirstResume) {
  testing::asserts("SEM-2");
  holds([this](const BackendRequest& request) {
    const int rounds = *rc::gen::inRange(1, 6);
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    Progress progress(request.devices);
    strategy.run([&](ReplicaContext& replica) {
      const auto id = static_cast<std::size_t>(replica.replica_id());
      for (int round = 1; round <= rounds; ++round) {
        // Replicas wait for their devices for different times before they arrive.
        for (std::size_t i = 0; i < id % 3; ++i) wait_for_the_device();
        progress.arrived[id] = round;
        replica.merge_call(
            [&progress, &bench, &request, round](CrossReplicaContext& cross,
                                                 const PerReplica<int>& rounds) {
              for (const int own : bench.own()) {
                const auto i = static_cast<std::size_t>(own);
                progress.in_order &= progress.arrived[i] == round;
                progress.in_order &= progress.resumed[i] == round - 1;
              }
              progress.in_order &= ++progress.merged == round;
              // All processes are in the merge of this round.
              const int sum = cross.reduce(ReduceOp::kSum, rounds).value();
              progress.in_order &= sum == round * request.devices;
            },
            round);
        progress.resumed[id] = round;
      }
      meet_with_a_tensor(replica);
    });
    RC_ASSERT(progress.in_order);
    RC_ASSERT(progress.merged == (bench.own().empty() ? 0 : rounds));
  });
}

TEST_F(MergeOrder, HasEveryMergeOnTheThreadThatCalledRun) {
  testing::asserts("SEM-2");
  holds([this](const BackendRequest& drawn) {
    BackendRequest request = drawn;
    const auto own_place = place();
    for (const CarrierKind carrier :
         {CarrierKind::kFiber, CarrierKind::kBaton, CarrierKind::kConcurrent}) {
      request.carrier = carrier;
      Bench bench(*this, request, own_place);
      const std::thread::id caller = std::this_thread::get_id();
      const auto here = bench.strategy().run([&](ReplicaContext& replica) {
        meet_with_a_tensor(replica);
        return replica.merge_call(
            [&](CrossReplicaContext&) { return std::this_thread::get_id() == caller; });
      });
      for (const bool one : here) RC_ASSERT(one);
    }
  });
}

TEST_F(MergeOrder, HandsArgumentsOverByReplicaId) {
  testing::asserts("SEM-3", "SEM-12");
  holds([this](const BackendRequest& request, std::uint16_t seed) {
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    const auto value = [&](int id) { return static_cast<int>(mixed_bits(seed, 0, id) % 1000); };
    const auto seen = strategy.run([&](ReplicaContext& replica) {
      meet_with_a_tensor(replica);
      return replica.merge_call(
          [](CrossReplicaContext&, const PerReplica<int>& values) {
            return std::vector<int>(values.begin(), values.end());
          },
          value(replica.replica_id()));
    });
    std::vector<int> expected;
    for (const int id : bench.own()) expected.push_back(value(id));
    for (const std::vector<int>& values : seen) RC_ASSERT(values == expected);
  });
}

bool cross_replica_work_is_refused(Strategy& strategy) {
  try {
    strategy.cross_replica().broadcast(1);
  } catch (const ContextError& error) {
    return error.code() == ErrorCode::kWrongContext;
  }
  return false;
}

bool merging_is_refused(ReplicaContext& replica) {
  try {
    replica.merge_call([](CrossReplicaContext&) {});
  } catch (const ContextError& error) {
    return error.code() == ErrorCode::kMergeNested;
  }
  return false;
}

TEST_F(MergeOrder, KeepsReplicaAndCrossReplicaWorkApart) {
  holds([this](const BackendRequest& request, bool throws) {
    const int thrower = throws ? *rc::gen::inRange(0, request.devices) : -1;
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    bool in_merge = false;
    const auto body = [&](ReplicaContext& replica) {
      const bool before = cross_replica_work_is_refused(strategy);
      const bool here = replica.merge_call([&](CrossReplicaContext& cross) {
        const auto inner = cross.run([&](ReplicaContext& again) {
          return cross_replica_work_is_refused(strategy) && merging_is_refused(replica) &&
                 again.num_replicas() == cross.num_replicas();
        });
        in_merge = merging_is_refused(replica) && cross.broadcast(7)[0] == 7;
        bool all = true;
        for (bool one : inner) all &= one;
        return all;
      });
      meet_with_a_tensor(replica);
      if (replica.replica_id() == thrower) throw std::runtime_error("on purpose");
      return before && here && cross_replica_work_is_refused(strategy);
    };
    if (throws) {
      RC_ASSERT_THROWS_AS(strategy.run(body), std::runtime_error);
    } else {
      for (bool fine : strategy.run(body)) RC_ASSERT(fine);
    }
    RC_ASSERT(in_merge);
    // After a normal and after an exceptional end, the caller is in cross-replica context again.
    RC_ASSERT(strategy.cross_replica().broadcast(3).value() == 3);
  });
}

}  // namespace
}  // namespace belfry::testing::merge_order_props
