// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// SEM-7: user code during the unwinding of a failed run. The code may swallow its cancellation, and
// its destructors may make calls that cannot fail. All other calls of a destructor end the program
// with a message.
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/each_place.h"
#include "suites/property.h"
#include "suites/throwing/throwing_fixture.h"

#include <exception>
#include <string>
#include <vector>

namespace belfry::testing::unwinding_props {
namespace {

class Unwinding : public Property {
 protected:
  /// Runs `body` and returns the point of its exception; 0 without an exception.
  template <class Body>
  static int point_of(Strategy& strategy, const Body& body) {
    try {
      strategy.run(body);
    } catch (const InjectedFault& fault) {
      return fault.point;
    }
    return 0;
  }
};

/// Calls `fn` in its destructor.
template <class F>
struct AtEnd {
  explicit AtEnd(F what) : fn(std::move(what)) {}
  AtEnd(const AtEnd&) = delete;
  AtEnd& operator=(const AtEnd&) = delete;
  ~AtEnd() { fn(); }

  F fn;
};

float sum_of(ReplicaContext& replica) {
  return replica.all_reduce(ReduceOp::kSum, static_cast<float>(replica.replica_id()));
}
float sum_of_ids(int replicas) { return static_cast<float>(replicas * (replicas - 1) / 2); }

TEST_F(Unwinding, SwallowedCancellationsHideNoException) {
  holds([this](const BackendRequest& request) {
    const int thrower = *rc::gen::inRange(0, request.devices);
    const int rounds = *rc::gen::inRange(0, 8);
    const int throws_in = *rc::gen::inRange(0, rounds + 1);
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    std::vector<int> swallowed(static_cast<std::size_t>(request.devices));
    std::vector<int> standard(swallowed.size());
    const int point = point_of(strategy, [&](ReplicaContext& replica) {
      const auto id = static_cast<std::size_t>(replica.replica_id());
      for (int round = 0; round < rounds; ++round) {
        if (replica.replica_id() == thrower && round == throws_in) throw InjectedFault{thrower + 1};
        try {
          try {
            sum_of(replica);
          } catch (const std::exception&) {
            standard[id] += 1;
          }
        } catch (...) {
          swallowed[id] += 1;
        }
      }
      if (replica.replica_id() == thrower) throw InjectedFault{thrower + 1};
    });
    RC_ASSERT(point == thrower + 1);
    for (std::size_t id = 0; id < swallowed.size(); ++id) {
      // Every round from the failed round on. A cancellation is no std::exception.
      RC_ASSERT(swallowed[id] == (static_cast<int>(id) == thrower ? 0 : rounds - throws_in));
      RC_ASSERT(standard[id] == 0);
    }
    strategy.run(meet_with_a_tensor);
  });
}

TEST_F(Unwinding, CaughtExceptionsOfReplicasFailNoRun) {
  holds([this](const BackendRequest& request) {
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    const auto sums = strategy.run([](ReplicaContext& replica) {
      float sum = 0;
      try {
        const AtEnd met([&] { sum = sum_of(replica); });  // During the unwinding.
        throw InjectedFault{1};
      } catch (...) {
        sum += sum_of(replica);  // While the exception is handled.
      }
      meet_with_a_tensor(replica);
      return sum;
    });
    for (float sum : sums) RC_ASSERT(sum == 2 * sum_of_ids(request.devices));
  });
}

TEST_F(Unwinding, OfAllReplicasLetsDestructorsMeet) {
  testing::asserts("SEM-7");
  holds([this](const BackendRequest& request) {
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    std::vector<float> sums(static_cast<std::size_t>(request.devices), -1.0F);
    const int point = point_of(strategy, [&](ReplicaContext& replica) {
      meet_with_a_tensor(replica);
      const int id = replica.replica_id();
      const AtEnd met([&] { sums[static_cast<std::size_t>(id)] = sum_of(replica); });
      throw InjectedFault{id + 1};
    });
    RC_ASSERT(point == 1);
    for (float sum : sums) RC_ASSERT(sum == sum_of_ids(request.devices));
  });
}

TEST_F(Unwinding, LetsDestructorsReadAndWriteComponents) {
  testing::asserts("SEM-7");
  holds([this](const BackendRequest& request) {
    const int thrower = *rc::gen::inRange(0, request.devices);
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    const auto mirrored = strategy.mirrored_variable(row_of(7));
    const auto local = strategy.replica_local_variable(ReduceOp::kSum, row_of(1));
    const int point = point_of(strategy, [&](ReplicaContext& replica) {
      meet_with_a_tensor(replica);
      const AtEnd back([&] { local.on(replica) = mirrored.on(replica); });
      local.on(replica) = row_of(2);
      if (replica.replica_id() == thrower) throw InjectedFault{thrower + 1};
      sum_of(replica);
    });
    RC_ASSERT(point == thrower + 1);
    for (const Row& one : strategy.local_values(local)) RC_ASSERT(one == row_of(7));
    strategy.run(meet_with_a_tensor);
  });
}

TEST_F(Unwinding, LetsDestructorsWaitForTensorsOnEveryCarrier) {
  holds([this](BackendRequest request) {
    const int thrower = *rc::gen::inRange(0, request.devices);
    for (CarrierKind carrier :
         {CarrierKind::kFiber, CarrierKind::kBaton, CarrierKind::kConcurrent}) {
      request.carrier = carrier;
      Bench bench(*this, request);
      Strategy& strategy = bench.strategy();
      const auto local =
          strategy.replica_local_variable(ReduceOp::kSum, [] { return tensor_of(1); });
      std::vector<Row> seen(static_cast<std::size_t>(request.devices));
      const int point = point_of(strategy, [&](ReplicaContext& replica) {
        meet_with_a_tensor(replica);
        const int id = replica.replica_id();
        const TensorRow own = tensor_of(static_cast<float>(id));
        const AtEnd waits(
            [&] { seen[static_cast<std::size_t>(id)] = add(own, local.on(replica)).to_host(); });
        if (id == thrower) throw InjectedFault{thrower + 1};
        sum_of(replica);
      });
      RC_ASSERT(point == thrower + 1);
      for (int id = 0; id < request.devices; ++id) {
        RC_ASSERT(seen[static_cast<std::size_t>(id)] == row_of(static_cast<float>(id + 1)));
      }
      strategy.run(meet_with_a_tensor);
    }
  });
}

TEST_F(Unwinding, OfAMergeLetsDestructorsDoCrossReplicaWork) {
  holds([this](const BackendRequest& request) {
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    const auto variable = strategy.mirrored_variable([] { return tensor_of(1); });
    const int point = point_of(strategy, [&](ReplicaContext& replica) {
      meet_with_a_tensor(replica);
      replica.merge_call([&](CrossReplicaContext& cross) {
        const AtEnd update([&] {
          cross.update(variable, [](TensorRow& component) { component = tensor_of(2); });
          cross.run(meet_with_a_tensor);
        });
        throw InjectedFault{9};
      });
    });
    RC_ASSERT(point == 9);
    for (const TensorRow& one : strategy.local_values(variable)) {
      RC_ASSERT(one.to_host() == row_of(2));
    }
  });
}

TEST_F(Unwinding, LetsDestructorsCatchExceptionsOfMerges) {
  holds([this](const BackendRequest& request) {
    const int thrower = *rc::gen::inRange(0, request.devices);
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    std::vector<int> caught(static_cast<std::size_t>(request.devices));
    const int point = point_of(strategy, [&](ReplicaContext& replica) {
      meet_with_a_tensor(replica);
      if (replica.replica_id() == thrower) throw InjectedFault{thrower + 1};
      const AtEnd meets([&] {
        try {
          sum_of(replica);
        } catch (...) {
          caught[static_cast<std::size_t>(replica.replica_id())] += 1;
        }
      });
      sum_of(replica);
    });
    RC_ASSERT(point == thrower + 1);
    for (int id = 0; id < request.devices; ++id) {
      RC_ASSERT(caught[static_cast<std::size_t>(id)] == (id == thrower ? 0 : 1));
    }
  });
}

TEST_F(Unwinding, LeavesNoexceptFunctionsOfSuccessfulRunsAlone) {
  Bench bench(*this, devices(3));
  const auto sums = bench.strategy().run([](ReplicaContext& replica) noexcept {
    const TensorRow own = add(tensor_of(sum_of(replica)), 1.0F);
    return replica.all_reduce(ReduceOp::kSum, own).to_host();
  });
  for (const Row& sum : sums) EXPECT_EQ(sum, row_of(12));  // Three times 0 + 1 + 2 and 1.
}

// A noexcept function cannot be unwound: the program ends with a message.
class UnwindingDeathTest : public ::testing::Test {
 protected:
  template <class Body>
  static void fail_beside(int odd, const Body& body) {
    const auto backend = backend_factory().make(devices(2));
    const auto strategy = strategy_factory().make(*backend, {});
    strategy->run([&](ReplicaContext& replica) {
      if (replica.replica_id() == odd) throw InjectedFault{1};
      body(replica);
    });
  }
};

TEST_F(UnwindingDeathTest, OfAFunctionWithoutExceptionsEndsTheProgram) {
  at_each_place(2, [](int odd) {
    EXPECT_DEATH(fail_beside(odd, [](ReplicaContext& replica) noexcept { sum_of(replica); }),
                 "belfry::ReplicaCancelled");
  });
}

TEST_F(UnwindingDeathTest, ThroughADestructorThatMergesEndsTheProgram) {
  at_each_place(2, [](int odd) {
    EXPECT_DEATH(fail_beside(odd,
                             [](ReplicaContext& replica) {
                               const AtEnd meets([&] { sum_of(replica); });
                               sum_of(replica);
                             }),
                 "belfry::ReplicaCancelled");
  });
}

}  // namespace
}  // namespace belfry::testing::unwinding_props
