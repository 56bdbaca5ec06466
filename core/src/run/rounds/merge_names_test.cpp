// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Tags of merges and of variables made in replicas (SEM-132), and the switch that requires tags
// (SEM-133).
#include "belfry/backend/host_backend.h"
#include "belfry/indexed_slices.h"
#include "belfry/reduction.h"
#include "belfry/scatter.h"
#include "belfry/strategies.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/each_place.h"
#include "belfry/vjp.h"
#include "run/testing/error_of_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace belfry::merge_names_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr CallSite kLeft{"train.cc", 11};
constexpr CallSite kRight{"train.cc", 22};

using Gradients = std::vector<std::pair<std::string, double>>;

/// Named gradients, in reverse order on replica 1.
Gradients gradients_of(const ReplicaContext& replica) {
  Gradients grads{{"w", 1.0}, {"b", 100.0}};
  if (replica.replica_id() == 1) std::swap(grads[0], grads[1]);
  return grads;
}

std::map<std::string, double> by_name(const Gradients& grads) {
  return {grads.begin(), grads.end()};
}

const std::map<std::string, double> kRightSums{{"b", 200.0}, {"w", 2.0}};

class MergeNames : public ::testing::Test {
 protected:
  // Code and text of the error of a run of `body`.
  template <class Body>
  std::string text_of(const Body& body) {
    return error_of([&] { strategy_.run(body); });
  }

  HostBackend backend_{2};
  MirroredStrategy strategy_{backend_};
  MirroredStrategy strict_{backend_, StrategyOptions{.require_names = true}};
};

// The first gradient of replica 0 is `w`, and meets the first gradient of replica 1, `b`.
TEST_F(MergeNames, AreWhatALoopInAnotherOrderLacks) {
  const auto sums = strategy_.run([](ReplicaContext& replica) {
    auto grads = gradients_of(replica);
    for (auto& [name, g] : grads) g = replica.all_reduce(ReduceOp::kSum, g);
    return by_name(grads);
  });
  const std::map<std::string, double> mixed{{"b", 101.0}, {"w", 101.0}};
  EXPECT_EQ(sums[0], mixed);
  EXPECT_EQ(sums[1], mixed);
}

TEST_F(MergeNames, AreRequiredOfALoopByTheSwitch) {
  const auto body = [](ReplicaContext& replica) {
    auto grads = gradients_of(replica);
    for (auto& [name, g] : grads) g = replica.all_reduce(ReduceOp::kSum, g, kLeft);
    return by_name(grads);
  };
  EXPECT_EQ(
      error_of([&] { strict_.run(body); }),
      "BF-015 replica 0 reached all_reduce again, and it has no name\n"
      "  at train.cc:11\n"
      "  replica 0  train.cc:11  reached all_reduce again, as merge #2\n"
      "  expected: a MergeTag where a replica merges more than once in a run "
      "(require_names)\n"
      "  hint: add MergeTag{name} as first argument, with a name that tells the values apart: "
      "replica.all_reduce(MergeTag{name}, ...)");
  EXPECT_THROW(strict_.run(body), MergeMismatchError);
  EXPECT_EQ(strict_.last_failure()->code, ErrorCode::kMergeUnnamed);
  EXPECT_EQ(strict_.run([](ReplicaContext& r) { return r.all_reduce(ReduceOp::kSum, 1); })[1], 2)
      << "the strategy is unusable afterwards";
}

TEST_F(MergeNames, OfALoopInAnotherOrderDoNotMeet) {
  for (MirroredStrategy* strategy : {&strategy_, &strict_}) {
    EXPECT_EQ(error_of([&] {
                strategy->run([](ReplicaContext& replica) {
                  auto grads = gradients_of(replica);
                  for (auto& [name, g] : grads) {
                    g = replica.all_reduce(MergeTag{name, kLeft}, ReduceOp::kSum, g);
                  }
                });
              }),
              "BF-011 replicas wait in merges with different names (merge #1)\n"
              "  replica 0  train.cc:11  waits in all_reduce \"w\"\n"
              "  replica 1  train.cc:11  waits in all_reduce \"b\"\n"
              "  expected: the same MergeTag on every replica, in the same order\n"
              "  hint: go through the names in one order on every replica, or bring all values in "
              "one call, as a std::map");
  }
}

TEST_F(MergeNames, OfALoopInOneOrderMeet) {
  for (MirroredStrategy* strategy : {&strategy_, &strict_}) {
    const auto sums = strategy->run([](ReplicaContext& replica) {
      auto grads = by_name(gradients_of(replica));  // In the order of the names.
      for (auto& [name, g] : grads) g = replica.all_reduce(MergeTag{name}, ReduceOp::kSum, g);
      return grads;
    });
    EXPECT_EQ(sums[0], kRightSums);
    EXPECT_EQ(sums[1], kRightSums);
  }
}

TEST_F(MergeNames, AreTheKeysOfAMapThatIsReducedAtOnce) {
  for (MirroredStrategy* strategy : {&strategy_, &strict_}) {
    const auto sums = strategy->run([](ReplicaContext& replica) {
      return replica.all_reduce(ReduceOp::kSum, by_name(gradients_of(replica)));
    });
    EXPECT_EQ(sums[0], kRightSums);
    EXPECT_EQ(sums[1], kRightSums);
  }
}

// Row 0 of a tensor of two rows.
IndexedSlices<float> first_row() {
  return indexed_slices(Tensor<float>::full({1, 1}, 1.0F), Tensor<std::int64_t>::zeros({1}),
                        Shape{2, 1});
}

/// A verb that merges, called with a tag and, on a separate line, without.
struct Verb {
  std::string kind;      ///< The name in messages.
  std::string with_tag;  ///< The call in the hint.
  std::function<void(ReplicaContext&, const MergeTag&)> named;
  std::function<void(ReplicaContext&)> unnamed;
};

/// Variables for the verbs that change variables.
struct Changed {
  explicit Changed(Strategy& strategy)
      : sum(strategy.mirrored_variable(0, {.aggregation = Aggregation::kSum})),
        either(strategy.variable(0, {.aggregation = Aggregation::kSum})),
        table(strategy.mirrored_variable([] { return Tensor<float>::zeros({2, 1}); },
                                         {.aggregation = Aggregation::kSum})),
        either_table(table) {}

  MirroredVariable<int> sum;
  Variable<int> either;
  MirroredVariable<Tensor<float>> table;
  Variable<Tensor<float>> either_table;
};

using R = ReplicaContext;
using Tag = const MergeTag&;

int count(CrossReplicaContext& cross, const PerReplica<int>& /*values*/) {
  return cross.num_replicas();
}

std::vector<Verb> verbs_without_variables() {
  const std::vector<int> row{1};
  const std::string reduce = "replica.all_reduce(MergeTag{name}, ...)";
  const std::string gather = "replica.all_gather(MergeTag{name}, ...)";
  return {
      {"merge_call", "replica.merge_call(MergeTag{name}, ...)",
       [](R& r, Tag tag) { EXPECT_EQ(r.merge_call(tag, count, 1), 2); },
       [](R& r) { r.merge_call(count, 1); }},
      {"all_reduce", reduce,
       [](R& r, Tag tag) { EXPECT_EQ(r.all_reduce(tag, ReduceOp::kSum, 1), 2); },
       [](R& r) { r.all_reduce(ReduceOp::kSum, 1); }},
      {"all_reduce", reduce,
       [](R& r, Tag tag) { EXPECT_EQ(r.all_reduce(tag, TruncatedMean{}, 3), 3); },
       [](R& r) { r.all_reduce(TruncatedMean{}, 3); }},
      {"all_gather", gather,
       [=](R& r, Tag tag) { EXPECT_EQ(r.all_gather(tag, row), (std::vector{1, 1})); },
       [=](R& r) { r.all_gather(row); }},
      {"all_gather", gather,
       [=](R& r, Tag tag) { EXPECT_EQ(r.all_gather(tag, row, Axis(0)), (std::vector{1, 1})); },
       [=](R& r) { r.all_gather(row, Axis(0)); }},
      {"merge_call", "all_reduce_slices(replica, MergeTag{name}, ...)",
       [](R& r, Tag tag) {
         EXPECT_EQ(all_reduce_slices(r, tag, ReduceOp::kSum, first_row()).indices.count(), 2);
       },
       [](R& r) { all_reduce_slices(r, ReduceOp::kSum, first_row()); }},
      {"all_reduce", reduce,
       [](R& r, Tag tag) { EXPECT_EQ(all_reduce_vjp(r, tag, ReduceOp::kSum, 1.0), 2.0); },
       [](R& r) { all_reduce_vjp(r, ReduceOp::kSum, 1.0); }},
      {"all_gather", gather,
       [=](R& r, Tag tag) {
         EXPECT_EQ(all_gather_vjp(r, tag, row, std::vector{1, 2}),
                   std::vector{r.replica_id() == 0 ? 2 : 4});
       },
       [=](R& r) { all_gather_vjp(r, row, std::vector{1, 2}); }},
  };
}

std::vector<Verb> changes_of(const Changed& v) {
  const std::string scattering = "scatter(replica, MergeTag{name}, ...)";
  return {
      {"assign", "replica.assign(MergeTag{name}, ...)",
       [=](R& r, Tag tag) {
         r.assign(tag, v.sum, 3);
         EXPECT_EQ(v.sum.on(r), 6);
       },
       [=](R& r) { r.assign(v.sum, 3); }},
      {"assign", "replica.assign_add(MergeTag{name}, ...)",
       [=](R& r, Tag tag) {
         const int before = v.sum.on(r);
         r.assign_add(tag, v.sum, 1);
         EXPECT_EQ(v.sum.on(r), before + 2);
       },
       [=](R& r) { r.assign_add(v.sum, 1); }},
      {"assign", "replica.assign_sub(MergeTag{name}, ...)",
       [=](R& r, Tag tag) {
         const int before = v.either.on(r);
         r.assign_sub(tag, v.either, 1);
         EXPECT_EQ(v.either.on(r), before - 2);
       },
       [=](R& r) { r.assign_sub(v.either, 1); }},
      {"scatter", scattering,
       [=](R& r, Tag tag) { scatter(r, tag, ScatterOp::kAdd, v.table, first_row()); },
       [=](R& r) { scatter(r, ScatterOp::kAdd, v.table, first_row()); }},
      {"scatter", scattering,
       [=](R& r, Tag tag) { scatter(r, tag, ScatterOp::kAdd, v.either_table, first_row()); },
       [=](R& r) { scatter(r, ScatterOp::kAdd, v.either_table, first_row()); }},
  };
}

std::vector<Verb> verbs_of(Strategy& strategy) {
  std::vector<Verb> verbs = verbs_without_variables();
  for (Verb& verb : changes_of(Changed(strategy))) verbs.push_back(std::move(verb));
  return verbs;
}

TEST_F(MergeNames, ThatAreEqualMeetAtDifferentLines) {
  testing::asserts("SEM-132");
  for (const Verb& verb : verbs_of(strategy_)) {
    EXPECT_EQ(text_of([&](ReplicaContext& replica) {
                const CallSite site = replica.replica_id() == 0 ? kLeft : kRight;
                const std::string name = "sync";  // A text of its own in each replica.
                verb.named(replica, MergeTag{name, site});
              }),
              "nothing was thrown")
        << verb.kind;
  }
}

TEST_F(MergeNames, ThatDifferDoNotMeetAtOneLine) {
  testing::asserts("SEM-132");
  for (const Verb& verb : verbs_of(strategy_)) {
    const std::string text = text_of([&](ReplicaContext& replica) {
      verb.named(replica, MergeTag{replica.replica_id() == 0 ? "left" : "right", kLeft});
    });
    EXPECT_THAT(text, StartsWith("BF-011 replicas wait in merges with different names"));
    EXPECT_THAT(text, HasSubstr("  replica 0  train.cc:11  waits in " + verb.kind + " \"left\""));
    EXPECT_THAT(text, HasSubstr("  replica 1  train.cc:11  waits in " + verb.kind + " \"right\""));
  }
}

TEST_F(MergeNames, OfOneReplicaAloneDoNotMeetCallsWithout) {
  testing::asserts("SEM-132");
  for (const Verb& verb : verbs_of(strategy_)) {
    EXPECT_THAT(text_of([&](ReplicaContext& replica) {
                  if (replica.replica_id() == 0)
                    verb.named(replica, MergeTag{"left"});
                  else
                    verb.unnamed(replica);
                }),
                AllOf(StartsWith("BF-011 replicas wait at different places"),
                      HasSubstr("waits in " + verb.kind + " \"left\""),
                      HasSubstr("name the call with a MergeTag")));
  }
}

TEST_F(MergeNames, OfOneReplicaAloneDoNotMeetACallWithoutAtTheSameLine) {
  EXPECT_THAT(text_of([](ReplicaContext& replica) {
                if (replica.replica_id() == 0)
                  replica.all_reduce(MergeTag{"left", kLeft}, ReduceOp::kSum, 1.0);
                else
                  replica.all_reduce(ReduceOp::kSum, 1.0, kLeft);
              }),
              AllOf(StartsWith("BF-011 replicas wait at different places"),
                    HasSubstr("replica 0  train.cc:11  waits in all_reduce \"left\""),
                    HasSubstr("replica 1  train.cc:11  waits in all_reduce\n")));
}

TEST_F(MergeNames, MayBeTemporariesOfTheCall) {
  const auto sums = strategy_.run([](ReplicaContext& replica) {
    int sum = 0;
    for (int layer = 0; layer < 3; ++layer) {
      sum += replica.all_reduce(MergeTag{"layer " + std::to_string(layer)}, ReduceOp::kSum, layer);
    }
    return sum;
  });
  EXPECT_EQ(sums[0], 6);
}

TEST_F(MergeNames, DoNotReplaceKindsAndTypes) {
  testing::asserts("SEM-132");
  EXPECT_THAT(text_of([](ReplicaContext& replica) {
                if (replica.replica_id() == 0)
                  replica.all_reduce(MergeTag{"x"}, ReduceOp::kSum, 1);
                else
                  replica.all_gather(MergeTag{"x"}, std::vector{1});
              }),
              AllOf(HasSubstr("BF-012"), HasSubstr("waits in all_gather \"x\"")));
  EXPECT_THAT(text_of([](ReplicaContext& replica) {
                if (replica.replica_id() == 0)
                  replica.all_reduce(MergeTag{"x"}, ReduceOp::kSum, 1);
                else
                  replica.all_reduce(MergeTag{"x"}, ReduceOp::kSum, 1.0);
              }),
              AllOf(HasSubstr("BF-013"), HasSubstr("waits in all_reduce \"x\"")));
}

TEST_F(MergeNames, AreInMessagesOfWhatGoesWrong) {
  EXPECT_THAT(
      text_of([](ReplicaContext& replica) {
        replica.all_reduce(MergeTag{"w"}, ReduceOp::kSum, 1);
        const auto length = static_cast<std::size_t>(1 + replica.replica_id());
        replica.all_reduce(MergeTag{"b"}, ReduceOp::kSum, std::vector<int>(length));
      }),
      HasSubstr("BF-020 values of different structure meet in all_reduce (merge #2 \"b\")"));
  EXPECT_THAT(text_of([](ReplicaContext& replica) {
                if (replica.replica_id() == 0) replica.all_reduce(MergeTag{"w"}, ReduceOp::kSum, 1);
              }),
              AllOf(HasSubstr("BF-010"), HasSubstr("waits in all_reduce #1 \"w\"")));
  EXPECT_THROW(strategy_.run([](ReplicaContext& replica) {
    replica.merge_call(MergeTag{"sync"}, [](CrossReplicaContext&) { throw 7; });
  }),
               int);
  EXPECT_EQ(strategy_.last_failure()->summary,
            "merge_call #1 \"sync\" threw an exception of type int");
  EXPECT_THAT(text_of([](ReplicaContext& replica) {
                replica.merge_call([&](CrossReplicaContext&) {
                  replica.all_reduce(MergeTag{"w"}, ReduceOp::kSum, 1);
                });
              }),
              HasSubstr("BF-014 all_reduce \"w\" through a replica context"));
}

/// The makers of variables, with a tag.
std::vector<std::function<void(Strategy&, const MergeTag&)>> makers() {
  return {
      [](Strategy& s, const MergeTag& tag) { s.mirrored_variable(tag, 0.0); },
      [](Strategy& s, const MergeTag& tag) { s.replica_local_variable(tag, ReduceOp::kSum, 0.0); },
      [](Strategy& s, const MergeTag& tag) {
        s.replica_local_variable(tag, Aggregation::kOnlyFirst, 0.0);
      },
      [](Strategy& s, const MergeTag& tag) { s.replica_local_variable(tag, TruncatedMean{}, 0); },
      [](Strategy& s, const MergeTag& tag) { s.variable(tag, 0.0, {.trainable = false}); }};
}

TEST_F(MergeNames, OfVariablesAreCompared) {
  testing::asserts("SEM-132");
  for (const auto& make : makers()) {
    EXPECT_EQ(text_of([&](ReplicaContext& replica) {
                const std::string name = "w";
                make(strategy_, MergeTag{name, replica.replica_id() == 0 ? kLeft : kRight});
              }),
              "nothing was thrown");
    EXPECT_THAT(
        text_of([&](ReplicaContext& replica) {
          make(strategy_, MergeTag{replica.replica_id() == 0 ? "w" : "b", kLeft});
        }),
        AllOf(StartsWith("BF-050 replicas made different variables under one name"),
              HasSubstr("  replica 0  train.cc:11  asked for \"\""), HasSubstr("tagged \"w\"\n"),
              HasSubstr("  replica 1  train.cc:11  asked for"), HasSubstr("tagged \"b\"\n"),
              HasSubstr("expected: the same MergeTag on every replica")));
  }
  EXPECT_THAT(text_of([&](ReplicaContext& replica) {
                if (replica.replica_id() == 0)
                  strategy_.mirrored_variable(MergeTag{"w"}, 0.0);
                else
                  strategy_.mirrored_variable(0.0);
              }),
              HasSubstr("BF-050"));
}

// A name in the options tells variables apart in any order and needs no tag. Names may differ by a
// suffix (SEM-48), also with equal tags.
TEST_F(MergeNames, InTheOptionsOfVariablesFindThemInAnyOrder) {
  const auto values = strict_.run([&](ReplicaContext& replica) {
    std::map<std::string, double> made;
    for (const auto& [name, g] : gradients_of(replica)) {
      made[name] = strict_.mirrored_variable([g = g] { return g; }, {.name = name}).on(replica);
    }
    return made;
  });
  EXPECT_EQ(values[0], (std::map<std::string, double>{{"b", 100.0}, {"w", 1.0}}));
  EXPECT_EQ(values[1], values[0]);
  EXPECT_EQ(error_of([&] {
              strict_.run([&](ReplicaContext& replica) {
                const std::string name = replica.replica_id() == 0 ? "v" : "v_1";
                strict_.mirrored_variable(MergeTag{"v"}, 0.0, {.name = name});
              });
            }),
            "nothing was thrown");
}

TEST_F(MergeNames, OfVariablesHaveNoEffectOutsideReplicas) {
  for (const auto& make : makers()) {
    make(strategy_, MergeTag{"w"});
    make(strict_, MergeTag{"w"});
  }
  EXPECT_EQ(strategy_.read(strategy_.mirrored_variable(MergeTag{"w"}, 3.0)), 3.0);
}

class RequiredNames : public MergeNames {
 protected:
  template <class Body>
  std::string strict_text(const Body& body) {
    return error_of([&] { strict_.run(body); });
  }
};

TEST_F(RequiredNames, AreAskedOfEveryVerbThatIsReachedAgain) {
  testing::asserts("SEM-133");
  for (const Verb& verb : verbs_of(strict_)) {
    EXPECT_EQ(strict_text([&](ReplicaContext& replica) { verb.unnamed(replica); }),
              "nothing was thrown")
        << "once is enough for " << verb.with_tag;
    EXPECT_THAT(strict_text([&](ReplicaContext& replica) {
                  verb.unnamed(replica);
                  verb.unnamed(replica);
                }),
                AllOf(StartsWith("BF-015 replica 0 reached " + verb.kind + " again"),
                      HasSubstr("  at merge_names_test.cpp:"),
                      HasSubstr("tells the values apart: " + verb.with_tag)));
    EXPECT_EQ(strict_text([&](ReplicaContext& replica) {
                for (const char* name : {"w", "b", "w"}) verb.named(replica, MergeTag{name});
              }),
              "nothing was thrown")
        << verb.with_tag;
  }
}

TEST_F(RequiredNames, AreNotAskedOfCallsThatAreReachedOnce) {
  testing::asserts("SEM-133");
  const auto once = [](ReplicaContext& replica) {
    replica.all_reduce(ReduceOp::kSum, 1, kLeft);
    replica.all_reduce(ReduceOp::kSum, 1, kRight);
    replica.all_reduce(ReduceOp::kSum, 1, CallSite{"other.cc", 11});
    replica.all_gather(std::vector{1}, kLeft);
    // A nested run begins anew.
    replica.merge_call(
        [](CrossReplicaContext& cross) {
          cross.run([](ReplicaContext& inner) { inner.all_reduce(ReduceOp::kSum, 1, kLeft); });
        },
        kLeft);
  };
  EXPECT_EQ(strict_text(once), "nothing was thrown");
  EXPECT_EQ(strict_text(once), "nothing was thrown") << "each run begins anew";
}

TEST_F(RequiredNames, AreAskedOfAReplicaThatMergesMoreOftenThanOthers) {
  testing::at_each_place(2, [&](int odd) {
    const std::string name = "replica " + std::to_string(odd);
    EXPECT_THAT(strict_text([&](ReplicaContext& replica) {
                  const bool is_odd = replica.replica_id() == odd;
                  replica.all_reduce(ReduceOp::kSum, 1, kLeft);
                  replica.all_reduce(ReduceOp::kSum, 1, is_odd ? kLeft : kRight);
                }),
                AllOf(HasSubstr("BF-015"), HasSubstr(name + "  train.cc:11  reached all_reduce")));
  });
}

TEST_F(RequiredNames, AreAskedOfVariablesMadeAgainWithoutOne) {
  EXPECT_THAT(strict_text([&](ReplicaContext&) {
                for (int i = 0; i < 2; ++i) strict_.mirrored_variable(i, {}, kLeft);
              }),
              AllOf(StartsWith("BF-015 replica 0 reached the making of a variable again"),
                    HasSubstr("  at train.cc:11\n"),
                    HasSubstr("strategy.mirrored_variable(MergeTag{name}, ...), or name the "
                              "variable in its options: {.name = name}")));
  EXPECT_THAT(strict_text([&](ReplicaContext&) {
                for (int i = 0; i < 2; ++i) strict_.replica_local_variable(ReduceOp::kSum, i);
              }),
              HasSubstr("strategy.replica_local_variable(MergeTag{name}, ...)"));
  EXPECT_EQ(strict_text([&](ReplicaContext&) {
              for (const char* name : {"w", "b", "w"}) {
                strict_.mirrored_variable(MergeTag{name}, 0);
              }
              strict_.mirrored_variable(0, {}, kLeft);
              strict_.mirrored_variable(0, {}, kRight);
            }),
            "nothing was thrown");
}

TEST_F(RequiredNames, AreConfiguredBetweenRuns) {
  const auto twice = [](ReplicaContext& replica) {
    for (int i = 0; i < 2; ++i) replica.all_reduce(ReduceOp::kSum, 1);
  };
  EXPECT_EQ(text_of(twice), "nothing was thrown") << "off without being asked for";
  strategy_.configure({.require_names = true});
  EXPECT_THAT(text_of(twice), HasSubstr("BF-015"));
  strategy_.configure({});
  EXPECT_EQ(text_of(twice), "nothing was thrown");
}

TEST_F(RequiredNames, AreAskedByEveryStrategy) {
  const auto twice = [](ReplicaContext& replica) {
    for (int i = 0; i < 2; ++i) replica.all_reduce(ReduceOp::kSum, 1);
  };
  CentralStorageStrategy central(backend_, {.require_names = true});
  EXPECT_THAT(error_of([&] { central.run(twice); }), HasSubstr("BF-015"));
  // A single replica obeys the rules of many (SEM-15).
  MirroredStrategy single(backend_, {.devices = {backend_.device_spec(0)}, .require_names = true});
  EXPECT_THAT(error_of([&] { single.run(twice); }), HasSubstr("BF-015"));
}

}  // namespace
}  // namespace belfry::merge_names_test
