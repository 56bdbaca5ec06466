// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// No variable changes inside a function that is called for each component, device or element, by
// any call (SEM-41).
#include "belfry/backend/host_backend.h"
#include "belfry/checkpoint.h"
#include "belfry/current.h"
#include "belfry/scatter.h"
#include "belfry/strategies.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "run/testing/error_of_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace belfry::inside_update_test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using Way = std::pair<std::string, std::function<void()>>;

class InsideUpdate : public ::testing::Test {
 protected:
  // A run with a merge that calls `change`.
  std::function<void()> merging(const std::function<void()>& change) {
    return [this, change] {
      strategy_.run([&](ReplicaContext& replica) {
        replica.merge_call([&](CrossReplicaContext&) { change(); });
      });
    };
  }
  std::function<void()> in_scope(const std::function<void()>& change) {
    return [this, change] {
      const Scope scope = strategy_.scope();
      change();
    };
  }
  std::function<void()> fetching(const std::function<void()>& change) {
    return [this, change] { cross_.fetch(v_, [&](int) { return change(), 0; }); };
  }
  // Calls `often` by every verb with a function for each component, device or element.
  std::vector<Way> outer(const std::function<void()>& often) {
    return {
        {"update",
         [this, often] {
           cross_.update(v_, [&](int& own) {
             own += 1;
             often();
           });
         }},
        {"update_each",
         [this, often] {
           cross_.update_each(v_, [&](int& own) {
             own += 1;
             return often(), 0;
           });
         }},
        {"update_non_slot",
         [this, often] { cross_.update_non_slot(strategy_.non_slot_devices(), often); }},
        {"map",
         [this, often] { cross_.map(std::vector<int>{1, 2}, [&](int) { return often(), 0; }); }},
        {"distribute_values",
         [this, often] { strategy_.distribute_values([&](int) { return often(), 0; }); }},
        {"initialiser", [this, often] { strategy_.mirrored_variable([&] { return often(), 0; }); }},
    };
  }

  HostBackend backend_{3};
  MirroredStrategy strategy_{backend_};
  CrossReplicaContext& cross_ = strategy_.cross_replica();
  MirroredVariable<int> v_ = strategy_.mirrored_variable(1);
  MirroredVariable<int> w_ = strategy_.mirrored_variable(2, {.aggregation = Aggregation::kSum});
  ReplicaLocalVariable<int> local_ = strategy_.replica_local_variable(ReduceOp::kSum, 3);
};

TEST_F(InsideUpdate, NoWayChangesAVariable) {
  testing::asserts("SEM-41");
  const auto rows = strategy_.mirrored_variable([] { return Tensor<float>::zeros({2, 1}); });
  const auto slices =
      indexed_slices(Tensor<float>::full({1, 1}, 1.0F, strategy_.placement(0)),
                     Tensor<std::int64_t>::full({1}, 1, strategy_.placement(0)), Shape{2, 1});
  Checkpoint checkpoint(strategy_);
  checkpoint.add(w_);
  const TensorFile file = checkpoint.contents();
  cross_.update(w_, [](int& own) { own = 4; });
  const std::function<void()> update = [&] { cross_.update(w_, [](int& own) { own += 10; }); };
  const std::function<void()> total = [&] { cross_.assign_total(local_, 12); };
  const Way ways[] = {
      {"update", update},
      {"assign_total", total},
      {"assign_each", [&] { cross_.assign_each(local_, 12); }},
      {"scatter", [&] { scatter(cross_, ScatterOp::kAdd, rows, slices); }},
      {"restore", [&] { checkpoint.restore(file); }},
      {"assign in a run",
       [&] { strategy_.run([&](ReplicaContext& replica) { replica.assign_add(w_, 1); }); }},
      {"assign to a component in a run",
       [&] { strategy_.run([&](ReplicaContext& replica) { replica.assign_add(local_, 1); }); }},
      {"write of a component in a run",
       [&] { strategy_.run([&](ReplicaContext& replica) { local_.on(replica) += 1; }); }},
      {"update in a merge", merging(update)},
      {"total in a merge", merging(total)},
      {"restore in a merge", merging([&] { checkpoint.restore(file); })},
      {"run in a merge", merging(merging(update))},
      {"update in a scope", in_scope(update)},
      {"total in a scope", in_scope(total)},
      {"run in a scope", in_scope(merging(update))},
      {"update in a fetch", fetching(update)},
      {"total in a fetch in a scope", in_scope(fetching(total))},
  };
  for (const auto& [way, change] : ways) {
    for (const auto& [verb, often] : outer(change)) {
      EXPECT_THAT(error_of(often), AllOf(StartsWith("BF-001 "), HasSubstr("after one another")))
          << way << " inside " << verb;
    }
  }
  EXPECT_THAT(strategy_.local_values(v_), Each(1));
  EXPECT_THAT(strategy_.local_values(w_), Each(4));
  EXPECT_THAT(strategy_.local_values(local_), Each(3));
  EXPECT_THAT(strategy_.read(rows).to_host(), Each(0.0F));
  // Outside of an update every call works.
  for (const auto& [way, change] : ways) EXPECT_EQ(error_of(change), "nothing was thrown") << way;
}

// Reads in an update see neither the components in work nor their device.
TEST_F(InsideUpdate, WhatOnlyReadsIsFine) {
  const Variable<int> either = local_;
  std::vector<int> seen;
  const auto read = [&] {
    const auto sums = strategy_.run([&](ReplicaContext& replica) {
      EXPECT_FALSE(current_update_device());
      const int own = v_.on(replica) + either.on(replica);
      return replica.all_reduce(ReduceOp::kSum, own);
    });
    seen = {sums[2], cross_.fetch(w_, [](int value) { return 10 * value; }),
            strategy_.read(local_)};
    const Scope scope = strategy_.scope();
    EXPECT_FALSE(current_update_device());
    seen.push_back(strategy_.read(w_));
  };
  for (const auto& [verb, often] : outer(read)) {
    seen.clear();
    const int before = strategy_.read(v_);
    EXPECT_EQ(error_of(often), "nothing was thrown") << verb;
    EXPECT_THAT(seen, ElementsAre(3 * (before + 3), 20, 9, 2)) << verb;
  }
  EXPECT_EQ(strategy_.read(v_), 3) << "update and update_each add one";
}

TEST_F(InsideUpdate, AnotherStrategyIsNoWay) {
  MirroredStrategy other(backend_);
  const auto theirs = other.mirrored_variable(5);
  CrossReplicaContext& cross = other.cross_replica();
  const std::function<void()> ways[] = {
      [&] { cross.update(theirs, [](int& own) { own += 1; }); },
      [&] { other.run([](ReplicaContext&) {}); },
      [&] { const Scope scope = other.scope(); },
  };
  for (const auto& change : ways) {
    for (const auto& [verb, often] : outer(change)) {
      EXPECT_THAT(error_of(often), HasSubstr("of one strategy inside the context of another"))
          << verb;
    }
  }
  EXPECT_THAT(other.local_values(theirs), Each(5));
}

}  // namespace
}  // namespace belfry::inside_update_test
