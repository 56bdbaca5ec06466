// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Messages for replicas that do not meet. The strategy works after each failure.
#include "belfry/backend/host_backend.h"
#include "belfry/indexed_slices.h"
#include "belfry/scatter.h"
#include "belfry/strategies.h"
#include "belfry/testing/asserts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace belfry::merge_errors_test {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;

constexpr CallSite kLeft{"train.cc", 11};
constexpr CallSite kRight{"train.cc", 22};

int count(CrossReplicaContext& cross) { return cross.num_replicas(); }
int other(CrossReplicaContext& cross) { return -cross.num_replicas(); }

// Row 0 of a tensor.
IndexedSlices<float> rows_of(Shape dense) {
  return indexed_slices(Tensor<float>::zeros({1, dense.extent(1)}),
                        Tensor<std::int64_t>::zeros({1}), dense);
}

class MergeErrors : public ::testing::Test {
 protected:
  // The text of the exception of a run of `body` on every replica.
  template <class Expected, class Body>
  std::string text_of(const Body& body) {
    std::string text = "nothing was thrown";
    try {
      strategy_.run(body);
    } catch (const Expected& error) {
      text = error.what();
    }
    EXPECT_EQ(strategy_.run([](ReplicaContext& replica) { return replica.merge_call(count); })[2],
              3)
        << "the strategy is unusable afterwards";
    return text;
  }

  HostBackend backend_{3};
  MirroredStrategy strategy_{backend_};
};

TEST_F(MergeErrors, OneReplicaSkips) {
  testing::asserts("SEM-5");
  EXPECT_EQ(text_of<MergeMismatchError>([](ReplicaContext& replica) {
              if (replica.replica_id() != 1) replica.merge_call(count, kLeft);
            }),
            "BF-010 some replicas ended without a merge that others wait in\n"
            "  replicas 0,2  train.cc:11  waits in merge_call #1\n"
            "  replica 1  returned before its first merge\n"
            "  expected: every replica reaches the same merges in the same order\n"
            "  hint: take merges out of branches and loops whose length depends on the replica");
}

TEST_F(MergeErrors, OneReplicaMeetsOnceMore) {
  testing::asserts("SEM-5");
  EXPECT_THAT(
      text_of<MergeMismatchError>([](ReplicaContext& replica) {
        replica.merge_call(count, kLeft);
        if (replica.replica_id() == 2) replica.merge_call(count, kRight);
      }),
      AllOf(HasSubstr("BF-010"), HasSubstr("replicas 0,1  train.cc:11  returned after merge #1"),
            HasSubstr("replica 2  train.cc:22  waits in merge_call #2")));
}

TEST_F(MergeErrors, DifferentPlaces) {
  testing::asserts("SEM-4", "SEM-5");
  EXPECT_EQ(text_of<MergeMismatchError>([](ReplicaContext& replica) {
              if (replica.replica_id() == 0)
                replica.merge_call(count, kLeft);
              else
                replica.merge_call(count, kRight);
            }),
            "BF-011 replicas wait at different places (merge #1)\n"
            "  replica 0  train.cc:11  waits in merge_call\n"
            "  replicas 1,2  train.cc:22  waits in merge_call\n"
            "  expected: every replica at the same call, in the same order\n"
            "  hint: take the branch inside the merge function, or name the call with a MergeTag");
}

TEST_F(MergeErrors, DifferentPlacesOfOtherVerbs) {
  testing::asserts("SEM-4");
  const auto v = strategy_.mirrored_variable(0, {.aggregation = Aggregation::kSum});
  const auto place = [](ReplicaContext& replica) {
    return replica.replica_id() == 0 ? kLeft : kRight;
  };
  const std::vector<std::pair<const char*, std::function<void(ReplicaContext&)>>> verbs = {
      {"all_reduce", [&](ReplicaContext& r) { r.all_reduce(ReduceOp::kSum, 1, place(r)); }},
      {"all_gather", [&](ReplicaContext& r) { r.all_gather(std::vector<int>{1}, place(r)); }},
      {"assign", [&](ReplicaContext& r) { r.assign(v, 1, place(r)); }}};
  for (const auto& [name, verb] : verbs) {
    const auto text = text_of<MergeMismatchError>(verb);
    EXPECT_THAT(text, HasSubstr(std::string("train.cc:22  waits in ") + name));
    EXPECT_THAT(text,
                EndsWith("hint: choose the value in the branches and call once after them, or name "
                         "the call with a MergeTag"));
  }
}

TEST_F(MergeErrors, DifferentNames) {
  EXPECT_THAT(text_of<MergeMismatchError>([](ReplicaContext& replica) {
                const char* name = replica.replica_id() == 0 ? "left" : "right";
                replica.merge_call(MergeTag{name, kLeft}, count);
              }),
              AllOf(HasSubstr("BF-011"), HasSubstr("waits in merge_call \"left\""),
                    HasSubstr("waits in merge_call \"right\"")));
}

TEST_F(MergeErrors, DifferentKinds) {
  testing::asserts("SEM-4", "SEM-5");
  EXPECT_EQ(text_of<MergeMismatchError>([](ReplicaContext& replica) {
              if (replica.replica_id() == 2)
                replica.all_reduce(ReduceOp::kSum, 1, kLeft);
              else
                replica.merge_call(count, kRight);
            }),
            "BF-012 replicas wait in different kinds of merge (merge #1)\n"
            "  replicas 0,1  train.cc:22  waits in merge_call\n"
            "  replica 2  train.cc:11  waits in all_reduce\n"
            "  expected: every replica in merge_call");
}

TEST_F(MergeErrors, InALoopNameTheRoundThatDiffers) {
  const auto text = text_of<MergeMismatchError>([](ReplicaContext& replica) {
    for (int round = 1; round <= 4; ++round) {
      if (replica.replica_id() == 2 && round == 3)
        replica.merge_call(count, kLeft);
      else
        replica.all_reduce(ReduceOp::kSum, 1, kLeft);
    }
  });
  EXPECT_THAT(text, HasSubstr("BF-012 replicas wait in different kinds of merge (merge #3)\n"));
  EXPECT_THAT(text_of<StructureMismatchError>([](ReplicaContext& replica) {
                for (int round = 1; round <= 4; ++round) {
                  const bool other = replica.replica_id() == 1 && round == 4;
                  replica.all_reduce(ReduceOp::kSum, std::vector<int>(other ? 3 : 2));
                }
              }),
              HasSubstr("BF-020 values of different structure meet in all_reduce (merge #4)\n"));
}

TEST_F(MergeErrors, DifferentTypes) {
  testing::asserts("SEM-4", "SEM-5");
  const auto any = [](CrossReplicaContext&, const auto&) {};
  EXPECT_THAT(
      text_of<MergeMismatchError>([&](ReplicaContext& replica) {
        if (replica.replica_id() == 2)
          replica.merge_call(any, 1.0, kLeft);
        else
          replica.merge_call(any, 1, kLeft);
      }),
      AllOf(HasSubstr("BF-013 replicas brought arguments of different types"), HasSubstr("int")));
}

TEST_F(MergeErrors, DifferentFunctions) {
  testing::asserts("SEM-4", "SEM-5");
  EXPECT_EQ(text_of<MergeMismatchError>([](ReplicaContext& replica) {
              replica.merge_call(replica.replica_id() == 1 ? &count : &other, kLeft);
            }),
            "BF-011 replicas passed different functions to one merge (merge #1)\n"
            "  replicas 0,2  train.cc:11  waits in merge_call with one function\n"
            "  replica 1  train.cc:11  waits in merge_call with another\n"
            "  expected: the same function from every replica\n"
            "  hint: take the branch inside the merge function");
}

// The arguments have one type; only the lambda has a type for each instantiation.
TEST_F(MergeErrors, FunctionsOfDifferentTypes) {
  testing::asserts("SEM-4", "SEM-5");
  const auto pass = [](ReplicaContext& replica, auto unit) {
    using Unit = decltype(unit);
    const auto add = [](CrossReplicaContext&, const PerReplica<int>& values) {
      return static_cast<Unit>(values[0]);
    };
    static_cast<void>(replica.merge_call(add, 1, kLeft));
  };
  EXPECT_EQ(text_of<MergeMismatchError>([&](ReplicaContext& replica) {
              if (replica.replica_id() == 2) return pass(replica, 1.0);
              pass(replica, 1);
            }),
            "BF-013 replicas passed functions of different types to one merge (merge #1)\n"
            "  replicas 0-2  train.cc:11  waits in merge_call\n"
            "  expected: a function of one type from every replica\n"
            "  hint: make the function once, outside code that is compiled anew for each type: a "
            "lambda in a template or a generic lambda has a type for each instantiation");
}

TEST_F(MergeErrors, DifferentVariablesOnOneLine) {
  testing::asserts("SEM-4", "SEM-5");
  const auto left =
      strategy_.mirrored_variable(0.0, {.name = "left", .aggregation = Aggregation::kSum});
  const auto right =
      strategy_.mirrored_variable(0.0, {.name = "right", .aggregation = Aggregation::kSum});
  EXPECT_EQ(text_of<MergeMismatchError>([&](ReplicaContext& replica) {
              replica.assign_add(replica.replica_id() == 1 ? right : left, 1.0, kLeft);
            }),
            "BF-011 replicas change different variables, or one in different ways (merge #1)\n"
            "  replicas 0,2  train.cc:11  waits in assign: assign_add to left\n"
            "  replica 1  train.cc:11  waits in assign: assign_add to right\n"
            "  expected: the same change of the same variable by every replica\n"
            "  hint: choose the variable and the operation outside the replica function");
}

TEST_F(MergeErrors, DifferentChangesOfOneVariable) {
  const auto loss =
      strategy_.mirrored_variable(2.0, {.name = "loss", .aggregation = Aggregation::kSum});
  const auto change = [&](ReplicaContext& replica) {
    switch (replica.replica_id()) {
      case 0:
        return replica.assign(loss, 1.0, kLeft);
      case 1:
        return replica.assign_add(loss, 1.0, kLeft);
      default:
        return replica.assign_sub(loss, 1.0, kLeft);
    }
  };
  EXPECT_THAT(text_of<MergeMismatchError>(change),
              AllOf(HasSubstr("BF-011"),
                    HasSubstr("replica 0  train.cc:11  waits in assign: assign to loss\n"),
                    HasSubstr("replica 1  train.cc:11  waits in assign: assign_add to loss\n"),
                    HasSubstr("replica 2  train.cc:11  waits in assign: assign_sub to loss\n")));
  EXPECT_THAT(strategy_.local_values(loss), ::testing::Each(2.0)) << "nothing was changed";
}

TEST_F(MergeErrors, DifferentScatters) {
  const auto table =
      strategy_.mirrored_variable([] { return Tensor<float>::zeros({2, 1}); },
                                  {.name = "table", .aggregation = Aggregation::kSum});
  EXPECT_THAT(
      text_of<MergeMismatchError>([&](ReplicaContext& replica) {
        const auto op = replica.replica_id() == 2 ? ScatterOp::kMultiply : ScatterOp::kAdd;
        scatter(replica, op, table, rows_of({2, 1}), kLeft);
      }),
      AllOf(HasSubstr("BF-011"),
            HasSubstr("replicas 0,1  train.cc:11  waits in scatter: scatter add to table"),
            HasSubstr("replica 2  train.cc:11  waits in scatter: scatter multiply to table")));
}

TEST_F(MergeErrors, DifferentShapesOfSlices) {
  EXPECT_EQ(text_of<StructureMismatchError>([](ReplicaContext& replica) {
              const std::int64_t rows = replica.replica_id() == 1 ? 3 : 2;
              all_reduce_slices(replica, ReduceOp::kSum, rows_of({rows, 1}), kLeft);
            }),
            "BF-020 slices of [2,1] and of [3,1] do not add up\n"
            "  at train.cc:11\n"
            "  replicas 0,2  train.cc:11  brings slices of [2,1]\n"
            "  replica 1  train.cc:11  brings slices of [3,1]\n"
            "  expected: slices of tensors of one shape\n"
            "  hint: give every part the shape of the whole tensor");
}

TEST_F(MergeErrors, DifferentReductionsOfSlices) {
  EXPECT_THAT(text_of<StructureMismatchError>([](ReplicaContext& replica) {
                const auto op = replica.replica_id() == 0 ? ReduceOp::kMean : ReduceOp::kSum;
                all_reduce_slices(replica, op, rows_of({2, 1}), kLeft);
              }),
              AllOf(HasSubstr("BF-020 replicas ask for different reductions of slices"),
                    HasSubstr("replica 0  train.cc:11  reduces by mean"),
                    HasSubstr("replicas 1,2  train.cc:11  reduces by sum")));
}

TEST_F(MergeErrors, DifferentLengths) {
  testing::asserts("SEM-36");
  EXPECT_EQ(text_of<StructureMismatchError>([](ReplicaContext& replica) {
              const auto length = static_cast<std::size_t>(1 + replica.replica_id());
              replica.all_reduce(ReduceOp::kSum, std::vector<int>(length, 1), kLeft);
            }),
            "BF-020 values of different structure meet in all_reduce (merge #1)\n"
            "  replica 0  train.cc:11  brings int32[1]\n"
            "  replica 1  train.cc:11  brings int32[2]\n"
            "  replica 2  train.cc:11  brings int32[3]\n"
            "  expected: the same structure, lengths and shapes on every replica\n"
            "  hint: pad the values, or gather them when lengths differ on purpose");
}

// Replica 2 differs in an earlier leaf than replica 1 does.
TEST_F(MergeErrors, DifferentLengthsInTheFirstLeafOfAny) {
  testing::asserts("SEM-36");
  using Lists = std::vector<std::vector<int>>;
  const PerReplica<Lists> values{Lists{{1}, {1}}, Lists{{1}, {1, 2}}, Lists{{1, 2}, {1}}};
  EXPECT_THAT(text_of<StructureMismatchError>([&](ReplicaContext& replica) {
                replica.all_reduce(ReduceOp::kSum, values[replica.replica_id()], kLeft);
              }),
              AllOf(HasSubstr("  replicas 0,1  train.cc:11  brings int32[1] at [0]\n"),
                    HasSubstr("  replica 2  train.cc:11  brings int32[2] at [0]\n")));
  EXPECT_THAT(text_of<StructureMismatchError>([&](ReplicaContext& replica) {
                const auto own = static_cast<std::size_t>(1 + replica.replica_id() / 2);
                replica.all_reduce(ReduceOp::kSum, Lists(own, {1}), kLeft);
              }),
              AllOf(HasSubstr("  replicas 0,1  train.cc:11  has 1 leaf\n"),
                    HasSubstr("  replica 2  train.cc:11  brings int32[1] at [1]\n")));
}

TEST_F(MergeErrors, DifferentStructuresWithoutLeaves) {
  using Deep = std::vector<std::vector<std::vector<int>>>;
  EXPECT_THAT(text_of<StructureMismatchError>([&](ReplicaContext& replica) {
                const auto own = static_cast<std::size_t>(replica.replica_id() / 2);
                replica.all_reduce(ReduceOp::kSum, Deep(own), kLeft);
              }),
              AllOf(HasSubstr("  replicas 0,1  train.cc:11  brings no elements\n"),
                    HasSubstr("  replica 2  train.cc:11  brings no elements at [0]\n")));
  EXPECT_THAT(text_of<StructureMismatchError>([&](ReplicaContext& replica) {
                std::map<std::string, int> own;
                if (replica.replica_id() == 1) own["a"] = 1;
                replica.all_reduce(ReduceOp::kSum, own, kLeft);
              }),
              AllOf(HasSubstr("  replicas 0,2  train.cc:11  brings no elements\n"),
                    HasSubstr("  replica 1  train.cc:11  brings int32 at {a}\n")));
}

TEST_F(MergeErrors, DifferentOperators) {
  EXPECT_THAT(text_of<StructureMismatchError>([](ReplicaContext& replica) {
                const auto op = replica.replica_id() == 0 ? ReduceOp::kSum : ReduceOp::kMean;
                replica.all_reduce(op, 1.0, kLeft);
              }),
              AllOf(HasSubstr("BF-020"), HasSubstr("replica 0  train.cc:11  reduces by sum"),
                    HasSubstr("replicas 1,2  train.cc:11  reduces by mean")));
}

TEST_F(MergeErrors, AReplicaThrows) {
  EXPECT_EQ(text_of<std::runtime_error>([](ReplicaContext& replica) {
              if (replica.replica_id() == 1) throw std::runtime_error("bad label");
              replica.merge_call(count, kLeft);
            }),
            "bad label");
}

TEST_F(MergeErrors, AReplicaThrowsAndTheReportTellsTheWholeStory) {
  testing::asserts("SEM-6");
  EXPECT_THROW(strategy_.run([](ReplicaContext& replica) {
    replica.merge_call(count, kLeft);
    if (replica.replica_id() == 1) throw std::runtime_error("bad label");
    replica.merge_call(count, kRight);
  }),
               std::runtime_error);
  ASSERT_TRUE(strategy_.last_failure().has_value());
  EXPECT_EQ(to_string(*strategy_.last_failure()),
            "BF-005 a replica threw std::runtime_error \"bad label\"\n"
            "  replicas 0,2  train.cc:22  waits in merge_call #2\n"
            "  replica 1  train.cc:11  threw std::runtime_error \"bad label\" after merge #1");
}

TEST_F(MergeErrors, SeveralReplicasThrowAndTheLowestIsRethrown) {
  testing::asserts("SEM-6");
  EXPECT_EQ(text_of<std::runtime_error>([](ReplicaContext& replica) {
              if (replica.replica_id() > 0) {
                throw std::runtime_error("from " + std::to_string(replica.replica_id()));
              }
            }),
            "from 1");
  EXPECT_NE(strategy_.last_failure()->replicas[2].exception, nullptr);
}

// Merges in its destructor, with any result.
struct SumAtEnd {
  ~SumAtEnd() {
    try {
      replica.all_reduce(ReduceOp::kSum, 1, kRight);
    } catch (...) {
    }
  }

  ReplicaContext& replica;
};

TEST_F(MergeErrors, AnExceptionOutranksTheMergeOfADestructorThatItRuns) {
  testing::asserts("SEM-6");
  EXPECT_EQ(text_of<std::runtime_error>([](ReplicaContext& replica) {
              const SumAtEnd sum{replica};
              if (replica.replica_id() == 1) throw std::runtime_error("bad label");
              replica.merge_call(count, kLeft);
            }),
            "bad label");
  EXPECT_THROW(strategy_.run([](ReplicaContext& replica) {
    const SumAtEnd sum{replica};
    if (replica.replica_id() == 1) throw std::runtime_error("bad label");
    replica.merge_call(count, kLeft);
  }),
               std::runtime_error);
  EXPECT_EQ(to_string(*strategy_.last_failure()),
            "BF-005 a replica threw std::runtime_error \"bad label\"\n"
            "  replicas 0,2  train.cc:11  waits in merge_call\n"
            "  replica 1  train.cc:22  threw std::runtime_error \"bad label\", then waits in "
            "all_reduce");
  EXPECT_NE(strategy_.last_failure()->replicas[1].exception, nullptr);
}

TEST_F(MergeErrors, TheLowestOfHiddenAndOpenExceptionsIsRethrown) {
  for (const int hidden : {0, 2}) {
    EXPECT_EQ(text_of<std::runtime_error>([hidden](ReplicaContext& replica) {
                const int own = replica.replica_id();
                std::optional<SumAtEnd> sum;
                if (own == hidden) sum.emplace(replica);
                if (own != 1) throw std::runtime_error("from " + std::to_string(own));
                replica.merge_call(count, kLeft);
              }),
              "from 0");
  }
}

// The cancellation unwinds the replica. An exception thrown during the unwinding is a consequence
// of the cancellation.
TEST_F(MergeErrors, WhatACancelledReplicaThrowsOutranksNothing) {
  EXPECT_THAT(text_of<MergeMismatchError>([](ReplicaContext& replica) {
                try {
                  const SumAtEnd sum{replica};
                  if (replica.replica_id() != 1) replica.merge_call(count, kLeft);
                } catch (...) {
                  throw std::runtime_error("instead");
                }
              }),
              HasSubstr("BF-012"));
}

TEST_F(MergeErrors, TheMergeFunctionThrows) {
  testing::asserts("SEM-6");
  EXPECT_EQ(text_of<std::runtime_error>([](ReplicaContext& replica) {
              replica.merge_call([](CrossReplicaContext&) { throw std::runtime_error("no room"); },
                                 kLeft);
            }),
            "no room");
  EXPECT_THAT(to_string(*strategy_.last_failure()),
              AllOf(HasSubstr("BF-006 merge_call #1 threw std::runtime_error \"no room\""),
                    HasSubstr("replicas 0-2  train.cc:11  waits in merge_call #1")));
}

TEST_F(MergeErrors, TheMergeFunctionThrowsSomethingElse) {
  EXPECT_THROW(strategy_.run([](ReplicaContext& replica) {
    replica.merge_call([](CrossReplicaContext&) { throw 7; });
  }),
               int);
  EXPECT_EQ(strategy_.last_failure()->summary, "merge_call #1 threw an exception of type int");
}

TEST_F(MergeErrors, IntegersHaveNoMean) {
  testing::asserts("SEM-35");
  EXPECT_THAT(text_of<InvalidArgumentError>([](ReplicaContext& replica) {
                replica.all_reduce(ReduceOp::kMean, std::vector<int>{1, 2}, kLeft);
              }),
              AllOf(HasSubstr("BF-035"), HasSubstr("int32"), HasSubstr("train.cc:11")));
}

TEST_F(MergeErrors, BoolsAreNotReduced) {
  testing::asserts("SEM-35");
  EXPECT_THAT(text_of<InvalidArgumentError>(
                  [](ReplicaContext& replica) { replica.all_reduce(ReduceOp::kSum, true, kLeft); }),
              AllOf(HasSubstr("BF-022"), HasSubstr("bool")));
}

TEST_F(MergeErrors, CancellationUnwindsWhatReplicasHold) {
  testing::asserts("SEM-7");
  std::atomic<int> alive{0};
  struct Guard {
    std::atomic<int>& alive;
    explicit Guard(std::atomic<int>& count) : alive(count) { ++alive; }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
    ~Guard() { --alive; }
  };
  EXPECT_EQ(text_of<std::logic_error>([&](ReplicaContext& replica) {
              const Guard guard(alive);
              if (replica.replica_id() == 2) throw std::logic_error("stop");
              replica.merge_call(count);
            }),
            "stop");
  EXPECT_EQ(alive, 0);
}

// An error type of a user, derived from an error of belfry.
struct BadLabel : InvalidArgumentError {
  using InvalidArgumentError::InvalidArgumentError;
  int label = 42;
};

TEST_F(MergeErrors, ErrorsOfAMergeFunctionKeepTheirTypes) {
  EXPECT_THAT(text_of<BadLabel>([](ReplicaContext& replica) {
                replica.merge_call(
                    [](CrossReplicaContext&) {
                      throw BadLabel(ErrorCode::kInvalidArgument, "no such label");
                    },
                    kLeft);
              }),
              HasSubstr("BF-030 no such label"));
  // BF-061 of a device has a different type than BF-061 of a view, which throw_error makes.
  EXPECT_THAT(
      text_of<DeviceError>([](ReplicaContext& replica) {
        replica.merge_call(
            [](CrossReplicaContext&) { throw DeviceError(ErrorCode::kOutOfBounds, "row 7 of 2"); },
            kLeft);
      }),
      HasSubstr("BF-061 row 7 of 2"));
  // The report still says where all were.
  EXPECT_THROW(strategy_.run([](ReplicaContext& replica) {
    replica.merge_call(
        [](CrossReplicaContext&) { throw BadLabel(ErrorCode::kInvalidArgument, "no such label"); },
        kLeft);
  }),
               BadLabel);
  EXPECT_THAT(to_string(*strategy_.last_failure()),
              AllOf(HasSubstr("BF-030 no such label"),
                    HasSubstr("replicas 0-2  train.cc:11  waits in merge_call #1")));
}

TEST_F(MergeErrors, ACancellationOfAUsersDoesNotLeaveTheRun) {
  testing::asserts("SEM-7");
  EXPECT_THAT(text_of<ContextError>([](ReplicaContext& replica) {
                if (replica.replica_id() == 1) throw ReplicaCancelled{};
                return std::string(100, 'x');
              }),
              HasSubstr("BF-003 a replica threw belfry::ReplicaCancelled in a run that has not "
                        "failed"));
  EXPECT_THAT(text_of<ContextError>([](ReplicaContext& replica) {
                if (replica.replica_id() == 1) throw ReplicaCancelled{};
                replica.merge_call(count, kLeft);
              }),
              HasSubstr("BF-003"));
  EXPECT_THAT(text_of<ContextError>([](ReplicaContext& replica) {
                replica.merge_call([](CrossReplicaContext&) { throw ReplicaCancelled{}; }, kLeft);
              }),
              AllOf(HasSubstr("BF-003 merge_call threw belfry::ReplicaCancelled"),
                    HasSubstr("replicas 0-2  train.cc:11  waits in merge_call #1")));
}

}  // namespace
}  // namespace belfry::merge_errors_test
