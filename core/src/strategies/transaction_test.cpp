// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Several updates and runs are made together or not at all.
#include "belfry/backend/host_backend.h"
#include "belfry/strategies.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace belfry::transaction_test {
namespace {

using ::testing::Each;

struct OnPurpose : std::runtime_error {
  OnPurpose() : std::runtime_error("on purpose") {}
};

class Transactions : public ::testing::Test {
 protected:
  // Two updates, an assignment and a write of each replica. A replica may throw at the end.
  void step(int thrower = -1) {
    cross_.update(w_, [](Tensor<float>& w) { w = add(w, 1.0F); });
    strategy_.run([&](ReplicaContext& replica) {
      replica.assign_add(count_, 1);
      local_.on(replica) += 10 * (replica.replica_id() + 1);
      replica.assign_add(tensor_, Tensor<float>::full({1}, 5.0F));
      if (replica.replica_id() == thrower) throw OnPurpose();
    });
  }
  void expect(float w, int count, const std::vector<int>& local, float tensor) {
    for (const auto& one : strategy_.local_values(w_)) EXPECT_EQ(one.item(), w);
    EXPECT_THAT(strategy_.local_values(count_), Each(count));
    EXPECT_THAT(strategy_.local_values(local_), ::testing::ElementsAreArray(local));
    for (const auto& one : strategy_.local_values(tensor_)) EXPECT_EQ(one.item(), tensor);
  }

  HostBackend backend_{2};
  MirroredStrategy strategy_{backend_};
  CrossReplicaContext& cross_ = strategy_.cross_replica();
  MirroredVariable<Tensor<float>> w_ =
      strategy_.mirrored_variable([] { return Tensor<float>::full({1}, 1.0F); });
  MirroredVariable<int> count_ =
      strategy_.mirrored_variable(0, {.aggregation = Aggregation::kOnlyFirst});
  ReplicaLocalVariable<int> local_ = strategy_.replica_local_variable(ReduceOp::kSum, 0);
  ReplicaLocalVariable<Tensor<float>> tensor_ = strategy_.replica_local_variable(
      ReduceOp::kSum, [] { return Tensor<float>::full({1}, 0.0F); });
};

TEST_F(Transactions, Nest) {
  testing::asserts("SEM-59");
  strategy_.transaction([&] {
    step();
    EXPECT_THROW(strategy_.transaction([&] { step(1); }), OnPurpose);
    expect(2, 1, {10, 20}, 5);
    step();
  });
  expect(3, 2, {20, 40}, 10);
}

TEST_F(Transactions, HappenInMerges) {
  strategy_.run([&](ReplicaContext& replica) {
    replica.merge_call([&](CrossReplicaContext& cross) {
      try {
        strategy_.transaction([&] {
          cross.update(w_, [](Tensor<float>& w) { w = add(w, 1.0F); });
          cross.update(count_, [](int&) { throw OnPurpose(); });
        });
      } catch (const OnPurpose&) {
      }
    });
  });
  expect(1, 0, {0, 0}, 0);
  EXPECT_THROW(strategy_.run([&](ReplicaContext&) { strategy_.transaction([] {}); }), ContextError);
}

TEST_F(Transactions, LeaveWhatTheyMade) {
  testing::asserts("SEM-59");
  MirroredVariable<int> made;
  EXPECT_THROW(strategy_.transaction([&] {
    made = strategy_.mirrored_variable(3);
    throw OnPurpose();
  }),
               OnPurpose);
  EXPECT_EQ(strategy_.read(made), 3);
}

// A number that can be copied while `is_closed` is false.
struct Guarded {
  Guarded(const bool& is_closed, int number) : closed(&is_closed), value(number) {}
  Guarded(const Guarded& other) : closed(other.closed), value(other.value) {
    if (*closed) throw OnPurpose();
  }
  Guarded(Guarded&&) noexcept = default;
  Guarded& operator=(const Guarded&) = default;
  Guarded& operator=(Guarded&&) noexcept = default;
  ~Guarded() = default;

  const bool* closed;
  int value;
};

TEST_F(Transactions, RestoreValuesWithoutACopy) {
  bool closed = false;
  const auto guarded = strategy_.mirrored_variable([&] { return Guarded(closed, 3); });
  EXPECT_THROW(strategy_.transaction([&] {
    step();
    cross_.update(guarded, [](Guarded& one) { one.value = 4; });
    closed = true;
    cross_.update(guarded, [](Guarded& one) { one.value = 5; });
  }),
               OnPurpose);
  closed = false;
  for (const Guarded& one : strategy_.local_values(guarded)) EXPECT_EQ(one.value, 3);
  expect(1, 0, {0, 0}, 0);
}

}  // namespace
}  // namespace belfry::transaction_test
