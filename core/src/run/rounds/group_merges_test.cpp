// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Merges of groups of replicas: members, the order of merges, and the reports of groups without a
// merge. The strategy works after each failure.
#include "belfry/backend/host_backend.h"
#include "belfry/current.h"
#include "belfry/detail/participants.h"
#include "belfry/distributed_values.h"
#include "belfry/group_context.h"
#include "belfry/replica_groups.h"
#include "belfry/strategies.h"
#include "belfry/testing/asserts.h"
#include "run/testing/error_of_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace belfry::group_merges_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Members = std::vector<std::vector<int>>;

constexpr CallSite kLeft{"train.cc", 11};
constexpr CallSite kRight{"train.cc", 22};

class GroupMerges : public ::testing::Test {
 protected:
  // The text of the error of a run of `body`. All replicas and all groups still meet afterwards.
  std::string text_of(const std::function<void(ReplicaContext&)>& body) {
    std::string text = error_of([&] { strategy_.run(body); });
    const auto sums = strategy_.run([&](ReplicaContext& replica) {
      const int all = replica.all_reduce(ReduceOp::kSum, 1);
      return 10 * all + replica.in(pairs_).all_reduce(ReduceOp::kSum, 1);
    });
    for (const int sum : sums) EXPECT_EQ(sum, 62) << "the strategy is unusable afterwards";
    return text;
  }

  HostBackend backend_{6};
  MirroredStrategy strategy_{backend_};
  ReplicaGroups pairs_ = strategy_.groups({{0, 3}, {1, 4}, {2, 5}});
};

TEST_F(GroupMerges, DescriptionsAreChecked) {
  testing::asserts("SEM-270");
  const auto refused = [&](const Members& members) {
    return error_of([&] { (void)strategy_.groups(members, kLeft); });
  };
  EXPECT_THAT(refused({}), AllOf(HasSubstr("BF-030"), HasSubstr("no group of replicas")));
  EXPECT_THAT(refused({{0, 1}, {}}), HasSubstr("group 1 has no replica"));
  EXPECT_THAT(refused({{0, 6}}), HasSubstr("group 0 has replica 6 of 6 replicas"));
  EXPECT_THAT(refused({{0, -1}}), HasSubstr("group 0 has replica -1 of 6 replicas"));
  EXPECT_THAT(refused({{0, 1}, {2, 0}}),
              AllOf(HasSubstr("replica 0 is twice in groups, in group 0 and in group 1"),
                    HasSubstr("train.cc:11")));
  EXPECT_THAT(refused({{3, 3}}), HasSubstr("replica 3 is twice in groups"));
  EXPECT_EQ(refused({{5, 0}}), "nothing was thrown");
}

TEST_F(GroupMerges, MeshesAreChecked) {
  testing::asserts("SEM-271");
  const auto refused = [&](const std::vector<MeshAxis>& axes) {
    return error_of([&] { (void)strategy_.mesh(axes, kLeft); });
  };
  EXPECT_THAT(refused({}), AllOf(HasSubstr("BF-030"), HasSubstr("a mesh without an axis")));
  EXPECT_THAT(refused({{"a", 2}, {"b", 2}}), HasSubstr("a mesh of 2 x 2 for 6 replicas"));
  EXPECT_THAT(refused({{"a", 6}, {"b", 0}}), HasSubstr("axis \"b\" of a mesh has size 0"));
  EXPECT_THAT(refused({{"a", 2}, {"a", 3}}), HasSubstr("two axes of a mesh have the name \"a\""));
  // A product beyond 64 bits: 2^40 * 2^40.
  EXPECT_THAT(refused({{"a", 1 << 20}, {"b", 1 << 20}, {"c", 1 << 20}, {"d", 1 << 20}}),
              HasSubstr("for 6 replicas"));
  const ReplicaMesh mesh = strategy_.mesh({{"a", 2}, {"b", 3}});
  EXPECT_THAT(error_of([&] { (void)mesh.along("c", kLeft); }),
              AllOf(HasSubstr("BF-030"), HasSubstr("a mesh has no axis \"c\""),
                    HasSubstr("\"a\", \"b\""), HasSubstr("train.cc:11")));
  EXPECT_EQ(to_string(mesh), "a 2 x b 3");
  EXPECT_EQ(to_string(mesh.along("a")), "{{0, 3}, {1, 4}, {2, 5}}");
  EXPECT_EQ(mesh.along("b").members(1), (std::vector{3, 4, 5}));
  EXPECT_EQ(mesh.along("a").members(1), (std::vector{1, 4}));
}

TEST_F(GroupMerges, AContextCountsMembersInAscendingOrder) {
  testing::asserts("SEM-270");
  const ReplicaGroups groups = strategy_.groups({{4, 1, 0}, {5, 2, 3}});
  const auto seen = strategy_.run([&](ReplicaContext& replica) {
    const auto group = replica.in(groups);
    return std::vector{group.group(), group.index(), group.size(), group.replica_id(),
                       group.num_replicas()};
  });
  EXPECT_EQ(seen[4], (std::vector{0, 2, 3, 4, 6}));
  EXPECT_EQ(seen[3], (std::vector{1, 1, 3, 3, 6}));
}

TEST_F(GroupMerges, AMergeFunctionHasTheMembersByReplicaId) {
  testing::asserts("SEM-272");
  const auto results = strategy_.run([&](ReplicaContext& replica) {
    const auto members = [](CrossReplicaContext& cross, const PerReplica<int>& ids) {
      std::vector<int> seen{cross.num_replicas(), ids.size()};
      for (int id = 0; id < ids.size(); ++id) {
        if (ids.has(id)) seen.push_back(ids[id]);
      }
      seen.push_back(cross.reduce(ReduceOp::kSum, ids)[0]);
      return seen;
    };
    return replica.in(pairs_).merge_call(members, 10 * replica.replica_id());
  });
  EXPECT_EQ(results[1], (std::vector{6, 6, 10, 40, 50}));
  EXPECT_EQ(results[5], (std::vector{6, 6, 20, 50, 70}));
}

// Groups of a round go in the order of lowest members, and a group with fewer merges is not
// waited for.
TEST_F(GroupMerges, GroupsHaveRoundsOfTheirOwnInOneOrder) {
  testing::asserts("SEM-273");
  std::vector<int> order;
  strategy_.run([&](ReplicaContext& replica) {
    const auto group = replica.in(strategy_.groups({{2, 5}, {0, 1}, {3, 4}}));
    for (int round = 0; round <= group.group(); ++round) {
      group.merge_call([&](CrossReplicaContext&,
                           const PerReplica<int>& numbers) { order.push_back(*numbers.begin()); },
                       group.group());
    }
  });
  // Group 1 has the lowest replica. Then groups 1 and 2, then group 2.
  EXPECT_THAT(order, ElementsAre(1, 0, 2, 1, 2, 2));
}

TEST_F(GroupMerges, NestedContextsHaveTheMembersOfBoth) {
  testing::asserts("SEM-270");
  const ReplicaMesh mesh = strategy_.mesh({{"a", 2}, {"b", 3}});
  const ReplicaGroups low = strategy_.groups({{0, 1, 3}, {2, 4, 5}});
  const auto results = strategy_.run([&](ReplicaContext& replica) {
    const auto both = replica.along(mesh, "b").in(low);
    return std::vector{both.size(), both.index(),
                       both.all_reduce(ReduceOp::kSum, replica.replica_id())};
  });
  EXPECT_EQ(results[1], (std::vector{2, 1, 1}));  // 0 and 1.
  EXPECT_EQ(results[2], (std::vector{1, 0, 2}));
  EXPECT_EQ(results[4], (std::vector{2, 0, 9}));  // 4 and 5.
}

TEST_F(GroupMerges, AbsentMembersAreNotWaitedFor) {
  testing::asserts("SEM-273");
  // Replicas 0, 1 and 4 take part, with the values 0, 1 and 4.
  detail::ReplicaArray<int> some(3);
  for (const int id : {0, 1, 4}) some.emplace_back(id);
  const auto sums =
      strategy_.run([&](ReplicaContext& replica,
                        int id) { return replica.in(pairs_).all_reduce(ReduceOp::kSum, 1 + id); },
                    PerReplica<int>(std::move(some), detail::Participants(6, {0, 1, 4})));
  EXPECT_EQ(sums[0], 1);
  EXPECT_EQ(sums[1], 2 + 5);
}

TEST_F(GroupMerges, OneReplicaAloneIsAGroup) {
  testing::asserts("SEM-270");
  const auto group = current_replica()->in(current_strategy().groups({{0}}));
  EXPECT_EQ(group.all_reduce(ReduceOp::kSum, 7), 7);
  EXPECT_EQ(
      group.merge_call([](CrossReplicaContext&, const PerReplica<int>& xs) { return xs[0]; }, 3),
      3);
}

TEST_F(GroupMerges, AReplicaWithoutAGroupIsRefused) {
  testing::asserts("SEM-275");
  const ReplicaGroups some = strategy_.groups({{0, 1}, {3, 4}});
  EXPECT_THAT(text_of([&](ReplicaContext& replica) {
                (void)replica.in(some, kLeft).all_reduce(ReduceOp::kSum, 1);
              }),
              AllOf(HasSubstr("BF-030 replica 2 is in no group"), HasSubstr("train.cc:11")));
  HostBackend other{2};
  MirroredStrategy smaller{other};
  const ReplicaGroups two = smaller.groups({{0, 1}});
  EXPECT_THAT(text_of([&](ReplicaContext& replica) { (void)replica.in(two, kLeft); }),
              HasSubstr("BF-030 groups of 2 replicas in a run of 6"));
}

// The report names the group of the missing member alone.
TEST_F(GroupMerges, AMemberThatEndsIsReportedWithItsGroup) {
  testing::asserts("SEM-275");
  EXPECT_EQ(
      text_of([&](ReplicaContext& replica) {
        if (replica.replica_id() != 4) {
          (void)replica.in(pairs_).all_reduce(ReduceOp::kSum, 1, kLeft);
        }
      }),
      "BF-010 some replicas of group {1, 4} ended without a merge that others of it wait in\n"
      "  replica 1  train.cc:11  waits in all_reduce #1 of group {1, 4}\n"
      "  replica 4  returned before its first merge\n"
      "  expected: every member reaches the same merges of the group in the same order\n"
      "  hint: take merges of the group out of branches and loops whose length differs between "
      "members, or make groups of the replicas that come");
}

TEST_F(GroupMerges, GroupsInOppositeOrderAreACircle) {
  testing::asserts("SEM-275");
  const ReplicaMesh mesh = strategy_.mesh({{"a", 2}, {"b", 3}});
  // Replica 0 begins with the row, the rest with the columns.
  const std::string text = text_of([&](ReplicaContext& replica) {
    const auto row = replica.along(mesh, "b");
    const auto column = replica.along(mesh, "a");
    if (replica.replica_id() == 0) (void)row.all_reduce(ReduceOp::kSum, 1, kLeft);
    (void)column.all_reduce(ReduceOp::kSum, 1, kRight);
    if (replica.replica_id() != 0) (void)row.all_reduce(ReduceOp::kSum, 1, kLeft);
  });
  // The columns of 1 and 2 meet, then row 0, then the column of 0. No replica waits in vain.
  EXPECT_EQ(text, "nothing was thrown");

  // Replicas 1 and 3 begin with the row: 0 waits in a column for 3, 3 in a row for 4, 4 in a column
  // for 1, and 1 in a row for 0.
  const std::string circle = text_of([&](ReplicaContext& replica) {
    const auto row = replica.along(mesh, "b");
    const auto column = replica.along(mesh, "a");
    const int id = replica.replica_id();
    const bool row_first = id == 1 || id == 3;
    if (row_first) (void)row.all_reduce(ReduceOp::kSum, 1, kLeft);
    (void)column.all_reduce(ReduceOp::kSum, 1, kRight);
    if (!row_first) (void)row.all_reduce(ReduceOp::kSum, 1, kLeft);
  });
  EXPECT_THAT(
      circle,
      AllOf(
          HasSubstr("BF-011 replicas wait for one another in groups: replica 0 waits for 3, 3 "
                    "waits for 4, 4 waits for 1, 1 waits for 0\n"),
          HasSubstr(
              "  replica 0  train.cc:22  waits in all_reduce #1 of group {0, 3}, for replica 3\n"),
          HasSubstr("  replica 1  train.cc:11  waits in all_reduce #1 of group {0, 1, 2}, for "
                    "replica 0\n"),
          HasSubstr("hint: use the groups in the same order on every replica")));
  EXPECT_THAT(circle, Not(HasSubstr("replica 2 ")));
  EXPECT_THAT(circle, Not(HasSubstr("replica 5")));
}

TEST_F(GroupMerges, AMergeOfAllInPlaceOfAGroupIsACircle) {
  testing::asserts("SEM-275");
  EXPECT_THAT(text_of([&](ReplicaContext& replica) {
                if (replica.replica_id() == 3) {
                  (void)replica.all_reduce(ReduceOp::kSum, 1, kLeft);
                } else {
                  (void)replica.in(pairs_).all_reduce(ReduceOp::kSum, 1, kRight);
                }
              }),
              AllOf(HasSubstr("BF-011 replicas wait for one another in groups"),
                    HasSubstr("replica 0  train.cc:22  waits in all_reduce #1 of group {0, 3}, for "
                              "replica 3"),
                    HasSubstr("replica 3  train.cc:11  waits in all_reduce #1, for replica 0")));
}

TEST_F(GroupMerges, DescriptionsThatDifferAreReported) {
  testing::asserts("SEM-275");
  const ReplicaGroups triple = strategy_.groups({{0, 3, 4}, {1}, {2, 5}});
  const std::string text = text_of([&](ReplicaContext& replica) {
    const auto group = replica.in(replica.replica_id() == 0 ? triple : pairs_);
    (void)group.all_reduce(ReduceOp::kSum, 1, kLeft);
  });
  EXPECT_THAT(
      text, AllOf(HasSubstr("BF-011 replicas describe their group differently: replica 0 waits for "
                            "3, 3 waits for 0"),
                  HasSubstr("replica 0  train.cc:11  waits in all_reduce #1 of group {0, 3, 4}"),
                  HasSubstr("replica 3  train.cc:11  waits in all_reduce #1 of group {0, 3}")));
  // Equal members are the same group, in every object.
  EXPECT_EQ(text_of([&](ReplicaContext& replica) {
              const ReplicaGroups own = strategy_.groups({{5, 2}, {3, 0}, {4, 1}});
              (void)replica.in(replica.replica_id() < 3 ? own : pairs_)
                  .all_reduce(ReduceOp::kSum, 1, kLeft);
            }),
            "nothing was thrown");
}

TEST_F(GroupMerges, AMismatchNamesTheMembersAlone) {
  testing::asserts("SEM-275");
  const std::string text = text_of([&](ReplicaContext& replica) {
    (void)replica.in(pairs_).all_reduce(ReduceOp::kSum, 1,
                                        replica.replica_id() == 4 ? kRight : kLeft);
  });
  EXPECT_THAT(text,
              AllOf(HasSubstr("BF-011 replicas wait at different places (group {1, 4})\n"),
                    HasSubstr("replica 1  train.cc:11  waits in all_reduce of group {1, 4}\n"),
                    HasSubstr("replica 4  train.cc:22  waits in all_reduce of group {1, 4}\n")));
  EXPECT_THAT(text, Not(HasSubstr("replica 0")));
  EXPECT_THAT(text, Not(HasSubstr("replica 2")));
}

TEST_F(GroupMerges, AnExceptionOfAMergeFunctionNamesTheGroup) {
  testing::asserts("SEM-275");
  EXPECT_THROW(strategy_.run([&](ReplicaContext& replica) {
    replica.in(pairs_).merge_call(
        [](CrossReplicaContext&, const PerReplica<int>& ids) {
          if (ids.has(1)) throw std::runtime_error("of the program");
        },
        replica.replica_id());
  }),
               std::runtime_error);
  ASSERT_TRUE(strategy_.last_failure());
  EXPECT_THAT(strategy_.last_failure()->summary, HasSubstr("merge_call #1 of group {1, 4} threw"));
  ASSERT_EQ(strategy_.last_failure()->replicas.size(), 2u);
  EXPECT_EQ(strategy_.last_failure()->replicas[0].replica_id, 1);
  EXPECT_EQ(strategy_.last_failure()->replicas[1].replica_id, 4);
}

TEST_F(GroupMerges, ChangesOfMirroredVariablesAreRefused) {
  testing::asserts("SEM-274");
  auto weight = strategy_.mirrored_variable(1.0, {.name = "w", .aggregation = Aggregation::kSum});
  EXPECT_THAT(
      text_of([&](ReplicaContext& replica) {
        auto group = replica.in(pairs_);
        group.assign_add(weight, 1.0, kLeft);
      }),
      AllOf(HasSubstr("BF-080"), HasSubstr("assign_add to w through the context of group {0, 3}"),
            HasSubstr("train.cc:11")));
  const auto update = [&](CrossReplicaContext& cross) {
    cross.update(weight, [](double& w) { w = 5; });
  };
  EXPECT_THAT(text_of([&](ReplicaContext& replica) { replica.in(pairs_).merge_call(update); }),
              AllOf(HasSubstr("BF-080"), HasSubstr("update in a merge of group {0, 3}")));
  EXPECT_THAT(text_of([&](ReplicaContext& replica) {
                replica.in(pairs_).merge_call([&](CrossReplicaContext&) {
                  const Scope scope = strategy_.scope();
                  update(strategy_.cross_replica());
                });
              }),
              HasSubstr("update in a merge of group {0, 3}"));
  EXPECT_EQ(strategy_.read(weight), 1.0);
}

TEST_F(GroupMerges, VariablesOfTheReplicaArePartOfItsGroupContext) {
  testing::asserts("SEM-274");
  auto seen = strategy_.replica_local_variable(ReduceOp::kSum, 0.0);
  auto weight = strategy_.mirrored_variable(2.0);
  strategy_.run([&](ReplicaContext& replica) {
    auto group = replica.in(pairs_);
    group.assign_add(seen, group.all_reduce(ReduceOp::kSum, weight.on(group)));
    seen.on(group) += 1;
  });
  EXPECT_EQ(strategy_.read(seen), 6 * (4.0 + 1));
}

// Replica 0 makes the variable after a merge of a group, and the rest of the replicas waits.
TEST_F(GroupMerges, VariablesAreMadeBetweenMergesOfGroups) {
  testing::asserts("SEM-273");
  const auto values = strategy_.run([&](ReplicaContext& replica) {
    const auto group = replica.in(pairs_);
    const int twice = group.index() == 0 && group.group() == 0 ? 1 : 0;
    const int sum = group.all_reduce(ReduceOp::kSum, twice);
    auto made = strategy_.mirrored_variable(7, {.name = "made"});
    return made.on(replica) + group.all_reduce(ReduceOp::kSum, sum);
  });
  EXPECT_EQ(values[0], 9);
  EXPECT_EQ(values[1], 7);
}

TEST_F(GroupMerges, NamesAreRequiredInGroupsToo) {
  testing::asserts("SEM-273");
  MirroredStrategy named{backend_, {.require_names = true}};
  const auto twice = [&](ReplicaContext& replica, bool tags) {
    const auto group = replica.in(pairs_);
    for (int i = 0; i < 2; ++i) {
      const std::string name = "round " + std::to_string(i);
      if (tags) {
        (void)group.all_reduce(MergeTag{name}, ReduceOp::kSum, 1);
      } else {
        (void)group.all_reduce(ReduceOp::kSum, 1);
      }
    }
  };
  EXPECT_THAT(error_of([&] { named.run(twice, false); }), HasSubstr("it has no name"));
  EXPECT_EQ(error_of([&] { named.run(twice, true); }), "nothing was thrown");
}

}  // namespace
}  // namespace belfry::group_merges_test
