// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The end of replicas in a failed run (SEM-7). The suites repeat the tests on other carriers.
#include "belfry/backend/executor.h"
#include "belfry/backend/host_backend.h"
#include "belfry/strategies.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/each_place.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace belfry::cancellation_test {
namespace {

constexpr int kPatience = 16;
constexpr int kMany = 1000;  // Of those that are abandoned nobody comes so far.

// The exception that replicas throw on purpose.
struct Boom {};

class Cancellation : public ::testing::Test {
 protected:
  /// Runs `body`, which throws a Boom on a replica, and checks that the strategy still works.
  template <class Body>
  void fail_in(const Body& body) {
    EXPECT_THROW(strategy_.run(body), Boom);
    const auto sums = strategy_.run([](ReplicaContext& replica) {
      const auto own = Tensor<float>::full({1}, static_cast<float>(replica.replica_id()));
      return replica.all_reduce(ReduceOp::kSum, own).item();
    });
    for (const float sum : sums) EXPECT_EQ(sum, 3.0F);  // 0 + 1 + 2
  }

  /// The abandoned replicas of the report.
  std::vector<int> abandoned() {
    std::vector<int> replicas;
    const std::optional<ErrorReport>& report = strategy_.last_failure();
    if (!report) return replicas;
    for (const ReplicaReport& one : report->replicas) {
      if (one.what == "was abandoned: it swallowed its cancellation 16 times") {
        replicas.push_back(one.replica_id);
      }
    }
    return replicas;
  }

  HostBackend backend_{3};
  MirroredStrategy strategy_{backend_};
};

/// Calls `call` many times, and counts the exceptions in `swallowed`.
template <class F>
void insist(int& swallowed, const F& call) {
  for (int i = 0; i < kMany; ++i) {
    try {
      call();
    } catch (...) {
      swallowed += 1;
    }
  }
}

/// Calls `fn` in its destructor.
template <class F>
struct AtEnd {
  explicit AtEnd(F what) : fn(std::move(what)) {}
  AtEnd(const AtEnd&) = delete;
  AtEnd& operator=(const AtEnd&) = delete;
  ~AtEnd() { fn(); }

  F fn;
};

TEST_F(Cancellation, OfReplicasThatMergeAllTheSameIsGivenUp) {
  testing::asserts("SEM-7");
  // Replica `odd` throws, the next replica obeys, and the third replica insists.
  testing::at_each_place(3, [&](int odd) {
    std::vector<int> swallowed(3);
    const int insists = (odd + 2) % 3;
    EXPECT_THROW(strategy_.run([&](ReplicaContext& replica) {
      const int id = replica.replica_id();
      if (id == odd) throw Boom{};
      if (id != insists) replica.all_reduce(ReduceOp::kSum, 1.0F);
      insist(swallowed[static_cast<std::size_t>(id)],
             [&] { replica.all_reduce(ReduceOp::kSum, 1.0F); });
    }),
                 Boom);
    std::vector<int> expected(3);
    expected[static_cast<std::size_t>(insists)] = kPatience;
    EXPECT_EQ(swallowed, expected);
    EXPECT_EQ(abandoned(), std::vector{insists});
    // Replicas that obey are not abandoned.
    fail_in([&](ReplicaContext& replica) {
      if (replica.replica_id() == odd) throw Boom{};
      replica.all_reduce(ReduceOp::kSum, 1.0F);
    });
    EXPECT_EQ(abandoned(), std::vector<int>());
  });
}

TEST_F(Cancellation, AbandonsReplicasThatKeepUsingTheirDevices) {
  std::vector<int> swallowed(3);
  // The tensors outlive the replicas, whose stacks are lost.
  std::vector<Tensor<float>> sums(3);
  EXPECT_THROW(strategy_.run([&](ReplicaContext& replica) {
    const auto id = static_cast<std::size_t>(replica.replica_id());
    if (id == 0) throw Boom{};
    sums[id] = Tensor<float>::full({2}, 0.0F);
    try {
      replica.all_reduce(ReduceOp::kSum, 1.0F);
    } catch (...) {
      swallowed[id] += 1;
    }
    insist(swallowed[id], [&] {
      sums[id] = add(sums[id], 1.0F);
      sums[id].to_host();
    });
  }),
               Boom);
  EXPECT_EQ(swallowed, (std::vector{0, kPatience, kPatience}));
  EXPECT_EQ(abandoned(), (std::vector{1, 2}));
  fail_in([](ReplicaContext&) { throw Boom{}; });
}

/// Merges in vain below `depth` frames with memory of their own.
int insist_below(ReplicaContext& replica, int depth) {
  const std::vector<int> owned(static_cast<std::size_t>(depth + 1), 1);
  int swallowed = 0;
  if (depth == 0) {
    insist(swallowed, [&] { replica.all_reduce(ReduceOp::kSum, owned.front()); });
    return swallowed;
  }
  return insist_below(replica, depth - 1) + owned.front();
}

// A build with LeakSanitizer checks the memory of the abandoned replicas.
TEST_F(Cancellation, KeepsWhatAbandonedReplicasOwn) {
  EXPECT_THROW(strategy_.run([](ReplicaContext& replica) {
    if (replica.replica_id() == 0) throw Boom{};
    insist_below(replica, 16);
  }),
               Boom);
  EXPECT_EQ(abandoned(), (std::vector{1, 2}));
}

TEST_F(Cancellation, SwallowedAsOftenAsIsAllowedIsNotReported) {
  int swallowed = 0;
  fail_in([&](ReplicaContext& replica) {
    if (replica.replica_id() == 0) throw Boom{};
    for (int i = 0; i < (replica.replica_id() == 1 ? kPatience : 0); ++i) {
      try {
        replica.all_reduce(ReduceOp::kSum, 1.0F);
      } catch (...) {
        swallowed += 1;
      }
    }
  });
  EXPECT_EQ(swallowed, kPatience);
  EXPECT_EQ(abandoned(), std::vector<int>{});
}

TEST_F(Cancellation, LetsDestructorsWaitForTensors) {
  std::vector<float> seen(3);
  fail_in([&](ReplicaContext& replica) {
    const auto id = static_cast<std::size_t>(replica.replica_id());
    const auto own = Tensor<float>::full({1}, static_cast<float>(id));
    const AtEnd waits([&] { seen[id] = add(own, 1.0F).item(); });
    if (id == 0) throw Boom{};
    replica.all_reduce(ReduceOp::kSum, 1.0F);
  });
  EXPECT_EQ(seen, (std::vector{1.0F, 2.0F, 3.0F}));
}

// A gate without an opener stands for a device that cannot go on.
TEST_F(Cancellation, OutranksADestructorThatWaitsForEver) {
  Gate gate;
  int given_up = 0;
  fail_in([&](ReplicaContext& replica) {
    if (replica.replica_id() == 0) throw Boom{};
    const AtEnd waits([&] {
      if (replica.replica_id() != 1) return;
      try {
        backend_.executor().block_until({.kind = OperationKind::kHostWait}, gate);
      } catch (const ReplicaCancelled&) {
        given_up += 1;
      }
    });
    replica.all_reduce(ReduceOp::kSum, 1.0F);
  });
  EXPECT_EQ(given_up, 1);
  ASSERT_TRUE(strategy_.last_failure());
  EXPECT_EQ(strategy_.last_failure()->code, ErrorCode::kReplicaThrew);
}

TEST_F(Cancellation, OfANestedRunConcernsItsOwnReplicasAlone) {
  const auto values = strategy_.run([](ReplicaContext& replica) {
    const float merged = replica.merge_call([](CrossReplicaContext& cross) {
      EXPECT_THROW(cross.run([](ReplicaContext& inner) {
        if (inner.replica_id() == 0) throw Boom{};
        inner.all_reduce(ReduceOp::kSum, 1.0F);
      }),
                   Boom);
      return Tensor<float>::full({1}, 2.0F).item();
    });
    return add(Tensor<float>::full({1}, merged), 1.0F).item();
  });
  for (const float value : values) EXPECT_EQ(value, 3.0F);
}

}  // namespace
}  // namespace belfry::cancellation_test
