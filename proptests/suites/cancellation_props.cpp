// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// SEM-7: the calls that a replica may make after it swallowed its cancellation, on every carrier.
#include "belfry/cross_replica_context.h"
#include "belfry/dataset.h"
#include "belfry/scatter.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/each_place.h"
#include "suites/property.h"
#include "suites/throwing/throwing_fixture.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace belfry::testing::cancellation_props {
namespace {

constexpr int kPatience = 16;
constexpr int kMany = 1000;  // More rounds than an abandoned replica reaches.

/// The objects of a replica whose run fails.
struct Belongings {
  ReplicaContext& replica;
  Strategy& strategy;
  const MirroredVariable<TensorRow>& mirrored;
  const ReplicaLocalVariable<TensorRow>& local;
  const Completion& enqueued;
  TensorRow row;
  TensorRow one;
  TensorRow matrix;
  Tensor<std::int32_t> index;
};

struct LaterCall {
  const char* name;
  void (*make)(Belongings&);
};

// Merges, variables, and work on devices.
const LaterCall kRefused[] = {
    {"all_reduce", [](Belongings& own) { own.replica.all_reduce(ReduceOp::kSum, 1.0F); }},
    {"all_gather", [](Belongings& own) { own.replica.all_gather(Row{1}); }},
    {"merge_call", [](Belongings& own) { own.replica.merge_call([](CrossReplicaContext&) {}); }},
    {"assign, mirrored", [](Belongings& own) { own.replica.assign(own.mirrored, own.row); }},
    {"assign, local", [](Belongings& own) { own.replica.assign(own.local, own.row); }},
    {"assign_add, local", [](Belongings& own) { own.replica.assign_add(own.local, own.row); }},
    {"on, mirrored", [](Belongings& own) { own.mirrored.on(own.replica); }},
    {"on, local", [](Belongings& own) { own.local.on(own.replica); }},
    {"a variable", [](Belongings& own) { own.strategy.mirrored_variable(1.0F); }},
    {"full", [](Belongings&) { tensor_of(1); }},
    {"from", [](Belongings&) { TensorRow::from({1}, {1.0F}); }},
    {"zeros", [](Belongings&) { TensorRow::zeros({2}); }},
    {"a tensor without elements", [](Belongings&) { TensorRow::zeros({0}); }},
    {"random_uniform", [](Belongings&) { random_uniform<float>({2}, 1); }},
    {"add", [](Belongings& own) { add(own.row, own.row); }},
    {"exp", [](Belongings& own) { exp(own.row); }},
    {"cast", [](Belongings& own) { cast<std::int32_t>(own.row); }},
    {"less", [](Belongings& own) { less(own.row, 1.0F); }},
    {"matmul", [](Belongings& own) { matmul(own.matrix, own.matrix); }},
    {"row_sum", [](Belongings& own) { row_sum(own.matrix); }},
    {"gather_rows", [](Belongings& own) { gather_rows(own.matrix, own.index); }},
    {"concatenate", [](Belongings& own) { concatenate<float>({own.row, own.row}); }},
    {"slice", [](Belongings& own) { slice(own.matrix, Axis(1), 0, 1); }},
    {"scale", [](Belongings& own) { scale(own.row, 2.0F); }},
    {"copy_to",
     [](Belongings& own) {
       own.row.copy_to(own.strategy.placement(1 - own.replica.replica_id()));
     }},
    {"to_host", [](Belongings& own) { own.row.to_host(); }},
    {"item", [](Belongings& own) { own.one.item(); }},
    {"device_of", [](Belongings& own) { device_of(own.row.placement()); }},
    {"Completion", [](Belongings& own) { Completion(*own.row.placement().backend, {0}); }},
    {"wait", [](Belongings& own) { own.enqueued.wait(); }},
    {"done", [](Belongings& own) { own.enqueued.done(); }},
    {"delay", [](Belongings& own) { own.enqueued.delay(own.row.placement()); }},
    {"full in a variable scope",
     [](Belongings& own) {
       const auto scope = own.strategy.replica_local_variable_scope(ReduceOp::kSum);
       tensor_of(1);
     }},
};

// Questions that the host can answer.
const LaterCall kAnswered[] = {
    {"replica_id", [](Belongings& own) { own.replica.replica_id(); }},
    {"num_replicas", [](Belongings& own) { own.replica.num_replicas(); }},
    {"device", [](Belongings& own) { own.replica.device(); }},
    {"placement", [](Belongings& own) { own.replica.placement(); }},
    {"current_replica", [](Belongings&) { current_replica(); }},
    {"current_device", [](Belongings&) { current_device(); }},
    {"devices of a variable", [](Belongings& own) { own.mirrored.devices(); }},
    {"a variable scope",
     [](Belongings& own) { own.strategy.replica_local_variable_scope(ReduceOp::kSum); }},
    {"shape", [](Belongings& own) { own.row.shape(); }},
    {"reshaped", [](Belongings& own) { own.row.reshaped({3, 1}); }},
    {"slice of rows", [](Belongings& own) { slice(own.matrix, Axis(0), 0, 1); }},
    {"copy_to where it is", [](Belongings& own) { own.row.copy_to(own.row.placement()); }},
    {"to_host of no elements", [](Belongings&) { TensorRow().to_host(); }},
    {"a data set",
     [](Belongings&) {
       for ([[maybe_unused]] const int number : Dataset<int>::range(3)) {
       }
     }},
};

class Cancellation : public Property {
 protected:
  enum class Outcome { kNone, kReturned, kCancelled, kThrewElse };

  static BackendRequest two_devices(CarrierKind carrier) {
    BackendRequest request = devices(2);
    request.carrier = carrier;
    return request;
  }
  static constexpr CarrierKind kCarriers[] = {CarrierKind::kFiber, CarrierKind::kBaton,
                                              CarrierKind::kConcurrent};

  /// Checks the outcome of each of `calls` in a separate run that has failed, in each replica.
  template <std::size_t N>
  void expect(Outcome expected, const LaterCall (&calls)[N]) {
    at_each_place(2, [&](int odd) { expect_beside(odd, expected, calls); });
  }

 private:
  template <std::size_t N>
  void expect_beside(int odd, Outcome expected, const LaterCall (&calls)[N]) {
    for (const CarrierKind carrier : kCarriers) {
      Bench bench(*this, two_devices(carrier));
      Strategy& strategy = bench.strategy();
      const auto mirrored = strategy.mirrored_variable([] { return tensor_of(1); },
                                                       {.aggregation = Aggregation::kSum});
      const auto local =
          strategy.replica_local_variable(ReduceOp::kSum, [] { return tensor_of(1); });
      const Completion enqueued = strategy.cross_replica().group(mirrored);
      for (const LaterCall& call : calls) {
        SCOPED_TRACE(to_string(two_devices(carrier)) + ", " + call.name);
        Outcome outcome = Outcome::kNone;
        const auto body = [&](ReplicaContext& replica) {
          meet_with_a_tensor(replica);
          if (replica.replica_id() == odd) throw InjectedFault{1};
          Belongings own{replica,
                         strategy,
                         mirrored,
                         local,
                         enqueued,
                         tensor_of(1),
                         TensorRow::full({1}, 1.0F),
                         TensorRow::full({2, 2}, 1.0F),
                         Tensor<std::int32_t>::full({1}, 0)};
          outcome = later(own, call);
        };
        EXPECT_THROW(strategy.run(body), InjectedFault);
        EXPECT_EQ(outcome, expected);
      }
      strategy.run(meet_with_a_tensor);
    }
  }

  /// Calls on a replica that has swallowed its cancellation.
  static Outcome later(Belongings& own, const LaterCall& call) {
    try {
      meet_with_a_tensor(own.replica);
      return Outcome::kNone;
    } catch (const ReplicaCancelled&) {
    }
    try {
      call.make(own);
      return Outcome::kReturned;
    } catch (const ReplicaCancelled&) {
      return Outcome::kCancelled;
    } catch (...) {
      return Outcome::kThrewElse;
    }
  }
};

TEST_F(Cancellation, IsThrownAgainByMergesAndDeviceWork) {
  testing::asserts("SEM-7");
  expect(Outcome::kCancelled, kRefused);
}

TEST_F(Cancellation, IsNotThrownByQueries) {
  testing::asserts("SEM-7");
  expect(Outcome::kReturned, kAnswered);
}

TEST_F(Cancellation, AbandonsReplicasThatKeepUsingTheirDevices) {
  at_each_place(2, [&](int odd) {
    for (const CarrierKind carrier : kCarriers) {
      SCOPED_TRACE(to_string(two_devices(carrier)));
      Bench bench(*this, two_devices(carrier));
      Strategy& strategy = bench.strategy();
      int swallowed = 0;
      TensorRow sum;  // Outlives the replica, whose stack is lost.
      const auto body = [&](ReplicaContext& replica) {
        meet_with_a_tensor(replica);
        if (replica.replica_id() == odd) throw InjectedFault{1};
        sum = tensor_of(0);
        for (int i = 0; i < kMany; ++i) {
          try {
            if (i == 0) meet_with_a_tensor(replica);
            sum = add(sum, 1.0F);
            sum.to_host();
          } catch (...) {
            swallowed += 1;
          }
        }
      };
      EXPECT_THROW(strategy.run(body), InjectedFault);
      EXPECT_EQ(swallowed, kPatience);
      ASSERT_TRUE(strategy.last_failure());
      const ReplicaReport& last = strategy.last_failure()->replicas.back();
      EXPECT_EQ(last.replica_id, 1 - odd);
      EXPECT_EQ(last.what, "was abandoned: it swallowed its cancellation 16 times");
      strategy.run(meet_with_a_tensor);
    }
  });
}

}  // namespace
}  // namespace belfry::testing::cancellation_props
