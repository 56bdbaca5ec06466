// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Copies before writes of storage that two replicas use: the same copies in every schedule.
#include "belfry/belfry.h"
#include "belfry/sim/backend.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "buffer.h"
#include "testing/all_schedules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <vector>

namespace belfry::sim::replica_use_test {
namespace {

using testing::AllSchedules;
using ::testing::ElementsAre;

using Handles = std::vector<Tensor<float>>;
using Body = std::function<void(ReplicaContext&, Handles&)>;

// Counts the copies before writes.
class Copies final : public Observer {
 public:
  void observe(const Observation& seen) override {
    count += seen.kind == Observation::Kind::kCopiedOnWrite ? 1 : 0;
  }
  int count = 0;
};

// The numbers of copies in all schedules of two replicas, each with a handle of a tensor.
std::set<int> copies_in_every_schedule(const Body& body) {
  std::set<int> counts;
  AllSchedules schedules;
  do {
    Copies copies;
    Backend backend{{.devices = 2, .record = false},
                    Attachments{.chooser = &schedules, .observer = &copies}};
    MirroredStrategy strategy{backend};
    Handles handles(2, Tensor<float>::full(Shape{}, 1.0F, strategy.placement(1)));
    strategy.run([&](ReplicaContext& replica) { body(replica, handles); });
    counts.insert(copies.count);
  } while (schedules.next());
  return counts;
}

// Replica 0 writes while replica 1 uses its handle for the last time.
TEST(AReplicaUse, MakesACopyOfAWriteBesideTheEndOfAHandle) {
  belfry::testing::asserts("SEM-194");
  EXPECT_THAT(copies_in_every_schedule([](ReplicaContext& replica, Handles& handles) {
                if (replica.replica_id() == 0) scale(handles[0], 3.0F);
                if (replica.replica_id() == 1) handles[1] = multiply(handles[1], 2.0F);
              }),
              ElementsAre(1));
}

TEST(AReplicaUse, MakesACopyForEachOfTwoWriters) {
  belfry::testing::asserts("SEM-194");
  EXPECT_THAT(copies_in_every_schedule([](ReplicaContext& replica, Handles& handles) {
                scale(handles[static_cast<std::size_t>(replica.replica_id())], 3.0F);
              }),
              ElementsAre(2));
}

// After the merge replica 0 has the only handle in every schedule.
TEST(AReplicaUse, EndsWithTheNextMerge) {
  belfry::testing::asserts("SEM-194");
  EXPECT_THAT(copies_in_every_schedule([](ReplicaContext& replica, Handles& handles) {
                if (replica.replica_id() == 1) handles[1] = multiply(handles[1], 2.0F);
                replica.merge_call([](CrossReplicaContext&) {});
                if (replica.replica_id() == 0) scale(handles[0], 3.0F);
              }),
              ElementsAre(0));
}

TEST(AReplicaUse, OfOneReplicaMakesNoCopy) {
  EXPECT_THAT(copies_in_every_schedule([](ReplicaContext& replica, Handles& handles) {
                if (replica.replica_id() == 1) return;
                handles[1] = multiply(handles[1], 2.0F);
                scale(handles[0], 3.0F);
                scale(handles[0], 2.0F);
              }),
              ElementsAre(0));
}

}  // namespace
}  // namespace belfry::sim::replica_use_test
