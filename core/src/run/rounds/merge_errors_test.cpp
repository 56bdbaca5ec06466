// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Messages for replicas that do not meet. The strategy works after each failure.
#include "belfry/backend/host_backend.h"
#include "belfry/indexed_slices.h"
#include "belfry/scatter.h"
#include "belfry/strategies.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/each_place.h"
#include "run/testing/error_of_test.h"

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
using testing::at_each_place;
using ::testing::EndsWith;
using ::testing::HasSubstr;

constexpr CallSite kLeft{"train.cc", 11};
constexpr CallSite kRight{"train.cc", 22};

// The calls of merge functions. Merge functions are called on one thread.
int merges = 0;
int count(CrossReplicaContext& cross) {
  ++merges;
  return cross.num_replicas();
}
int other(CrossReplicaContext& cross) { return -count(cross); }

// Row 0 of a tensor.
IndexedSlices<float> rows_of(Shape dense) {
  return indexed_slices(Tensor<float>::zeros({1, dense.extent(1)}),
                        Tensor<std::int64_t>::zeros({1}), dense);
}

class MergeErrors : public ::testing::Test {
 protected:
  // The text of the exception of a run of `body` on every replica. The run calls merge functions
  // `calls` times: never for a refused round.
  template <class Expected, class Body>
  std::string text_of(const Body& body, int calls = 0) {
    std::string text = "nothing was thrown";
    merges = 0;
    try {
      strategy_.run(body);
    } catch (const Expected& error) {
      text = error.what();
    }
    EXPECT_EQ(merges, calls);
    failure_ = strategy_.last_failure();
    EXPECT_EQ(strategy_.run([](ReplicaContext& replica) { return replica.merge_call(count); })[2],
              3)
        << "the strategy is unusable afterwards";
    return text;
  }

  HostBackend backend_{3};
  MirroredStrategy strategy_{backend_};
  std::optional<ErrorReport> failure_;  // Of the last call of text_of.
};

TEST_F(MergeErrors, OneReplicaSkips) {
  testing::asserts("SEM-5");
  at_each_place(3, [&](int odd) {
    EXPECT_EQ(text_of<MergeMismatchError>([&](ReplicaContext& replica) {
                if (replica.replica_id() != odd) replica.merge_call(count, kLeft);
              }),
              "BF-010 some replicas ended without a merge that others wait in\n" +
                  lines_of_three(odd, "train.cc:11  waits in merge_call #1",
                                 "returned before its first merge") +
                  "  expected: every replica reaches the same merges in the same order\n"
                  "  hint: take merges out of branches and loops whose length depends on the "
                  "replica");
  });
}

TEST_F(MergeErrors, OneReplicaMeetsOnceMore) {
  testing::asserts("SEM-5");
  at_each_place(3, [&](int odd) {
    const auto body = [&](ReplicaContext& replica) {
      replica.merge_call(count, kLeft);
      if (replica.replica_id() == odd) replica.merge_call(count, kRight);
    };
    EXPECT_THAT(text_of<MergeMismatchError>(body, 1),
                AllOf(HasSubstr("BF-010"),
                      HasSubstr(lines_of_three(odd, "train.cc:11  returned after merge #1",
                                               "train.cc:22  waits in merge_call #2"))));
  });
}

TEST_F(MergeErrors, DifferentPlaces) {
  testing::asserts("SEM-4", "SEM-5");
  at_each_place(3, [&](int odd) {
    EXPECT_EQ(text_of<MergeMismatchError>([&](ReplicaContext& replica) {
                if (replica.replica_id() == odd)
                  replica.merge_call(count, kLeft);
                else
                  replica.merge_call(count, kRight);
              }),
              "BF-011 replicas wait at different places (merge #1)\n" +
                  lines_of_three(odd, "train.cc:22  waits in merge_call",
                                 "train.cc:11  waits in merge_call") +
                  "  expected: every replica at the same call, in the same order\n"
                  "  hint: take the branch inside the merge function, or name the call with a "
                  "MergeTag");
  });
}

TEST_F(MergeErrors, DifferentPlacesOfOtherVerbs) {
  testing::asserts("SEM-4");
  const auto v = strategy_.mirrored_variable(0, {.aggregation = Aggregation::kSum});
  int odd = 0;
  const auto place = [&](ReplicaContext& replica) {
    return replica.replica_id() == odd ? kLeft : kRight;
  };
  const std::vector<std::pair<const char*, std::function<void(ReplicaContext&)>>> verbs = {
      {"all_reduce", [&](ReplicaContext& r) { r.all_reduce(ReduceOp::kSum, 1, place(r)); }},
      {"all_gather", [&](ReplicaContext& r) { r.all_gather(std::vector<int>{1}, place(r)); }},
      {"assign", [&](ReplicaContext& r) { r.assign(v, 1, place(r)); }}};
  at_each_place(3, [&](int place_of_odd) {
    odd = place_of_odd;
    for (const auto& [name, verb] : verbs) {
      const auto text = text_of<MergeMismatchError>(verb);
      EXPECT_THAT(text, HasSubstr(std::string("train.cc:22  waits in ") + name));
      EXPECT_THAT(text,
                  EndsWith("hint: choose the value in the branches and call once after them, or "
                           "name the call with a MergeTag"));
    }
  });
}

TEST_F(MergeErrors, DifferentNames) {
  at_each_place(3, [&](int odd) {
    EXPECT_THAT(text_of<MergeMismatchError>([&](ReplicaContext& replica) {
                  const char* name = replica.replica_id() == odd ? "left" : "right";
                  replica.merge_call(MergeTag{name, kLeft}, count);
                }),
                AllOf(HasSubstr("BF-011"),
                      HasSubstr(lines_of_three(odd, "train.cc:11  waits in merge_call \"right\"",
                                               "train.cc:11  waits in merge_call \"left\""))));
  });
}

TEST_F(MergeErrors, DifferentKinds) {
  testing::asserts("SEM-4", "SEM-5");
  at_each_place(3, [&](int odd) {
    EXPECT_EQ(text_of<MergeMismatchError>([&](ReplicaContext& replica) {
                if (replica.replica_id() == odd)
                  replica.all_reduce(ReduceOp::kSum, 1, kLeft);
                else
                  replica.merge_call(count, kRight);
              }),
              "BF-012 replicas wait in different kinds of merge (merge #1)\n" +
                  lines_of_three(odd, "train.cc:22  waits in merge_call",
                                 "train.cc:11  waits in all_reduce") +
                  "  expected: every replica in " + (odd == 0 ? "all_reduce" : "merge_call"));
  });
}

TEST_F(MergeErrors, InALoopNameTheRoundThatDiffers) {
  at_each_place(3, [&](int odd) {
    const auto text = text_of<MergeMismatchError>([&](ReplicaContext& replica) {
      for (int round = 1; round <= 4; ++round) {
        if (replica.replica_id() == odd && round == 3)
          replica.merge_call(count, kLeft);
        else
          replica.all_reduce(ReduceOp::kSum, 1, kLeft);
      }
    });
    EXPECT_THAT(text, HasSubstr("BF-012 replicas wait in different kinds of merge (merge #3)\n"));
    EXPECT_THAT(text_of<StructureMismatchError>([&](ReplicaContext& replica) {
                  for (int round = 1; round <= 4; ++round) {
                    const bool other = replica.replica_id() == odd && round == 4;
                    replica.all_reduce(ReduceOp::kSum, std::vector<int>(other ? 3 : 2));
                  }
                }),
                HasSubstr("BF-020 values of different structure meet in all_reduce (merge #4)\n"));
  });
}

TEST_F(MergeErrors, DifferentTypes) {
  testing::asserts("SEM-4", "SEM-5");
  const auto any = [](CrossReplicaContext&, const auto&) { ++merges; };
  at_each_place(3, [&](int odd) {
    EXPECT_THAT(
        text_of<MergeMismatchError>([&](ReplicaContext& replica) {
          if (replica.replica_id() == odd)
            replica.merge_call(any, 1.0, kLeft);
          else
            replica.merge_call(any, 1, kLeft);
        }),
        AllOf(HasSubstr("BF-013 replicas brought arguments of different types"), HasSubstr("int")));
  });
}

TEST_F(MergeErrors, DifferentFunctions) {
  testing::asserts("SEM-4", "SEM-5");
  at_each_place(3, [&](int odd) {
    const std::string first = "train.cc:11  waits in merge_call with one function";
    const std::string second = "train.cc:11  waits in merge_call with another";
    EXPECT_EQ(text_of<MergeMismatchError>([&](ReplicaContext& replica) {
                replica.merge_call(replica.replica_id() == odd ? &count : &other, kLeft);
              }),
              "BF-011 replicas passed different functions to one merge (merge #1)\n" +
                  lines_of_three(odd, odd == 0 ? second : first, odd == 0 ? first : second) +
                  "  expected: the same function from every replica\n"
                  "  hint: take the branch inside the merge function");
  });
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
  at_each_place(3, [&](int odd) {
    EXPECT_EQ(text_of<MergeMismatchError>([&](ReplicaContext& replica) {
                if (replica.replica_id() == odd) return pass(replica, 1.0);
                pass(replica, 1);
              }),
              "BF-013 replicas passed functions of different types to one merge (merge #1)\n"
              "  replicas 0-2  train.cc:11  waits in merge_call\n"
              "  expected: a function of one type from every replica\n"
              "  hint: make the function once, outside code that is compiled anew for each type: a "
              "lambda in a template or a generic lambda has a type for each instantiation");
  });
}

TEST_F(MergeErrors, DifferentVariablesOnOneLine) {
  testing::asserts("SEM-4", "SEM-5");
  const auto left =
      strategy_.mirrored_variable(0.0, {.name = "left", .aggregation = Aggregation::kSum});
  const auto right =
      strategy_.mirrored_variable(0.0, {.name = "right", .aggregation = Aggregation::kSum});
  at_each_place(3, [&](int odd) {
    EXPECT_EQ(text_of<MergeMismatchError>([&](ReplicaContext& replica) {
                replica.assign_add(replica.replica_id() == odd ? right : left, 1.0, kLeft);
              }),
              "BF-011 replicas change different variables, or one in different ways (merge #1)\n" +
                  lines_of_three(odd, "train.cc:11  waits in assign: assign_add to left",
                                 "train.cc:11  waits in assign: assign_add to right") +
                  "  expected: the same change of the same variable by every replica\n"
                  "  hint: choose the variable and the operation outside the replica function");
    EXPECT_EQ(strategy_.read(left) + strategy_.read(right), 0) << "nothing was changed";
  });
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
  at_each_place(3, [&](int odd) {
    EXPECT_THAT(
        text_of<MergeMismatchError>([&](ReplicaContext& replica) {
          const auto op = replica.replica_id() == odd ? ScatterOp::kMultiply : ScatterOp::kAdd;
          scatter(replica, op, table, rows_of({2, 1}), kLeft);
        }),
        AllOf(
            HasSubstr("BF-011"),
            HasSubstr(lines_of_three(odd, "train.cc:11  waits in scatter: scatter add to table",
                                     "train.cc:11  waits in scatter: scatter multiply to table"))));
  });
}

TEST_F(MergeErrors, DifferentShapesOfSlices) {
  at_each_place(3, [&](int odd) {
    EXPECT_EQ(text_of<StructureMismatchError>([&](ReplicaContext& replica) {
                const std::int64_t rows = replica.replica_id() == odd ? 3 : 2;
                all_reduce_slices(replica, ReduceOp::kSum, rows_of({rows, 1}), kLeft);
              }),
              std::string("BF-020 slices of ") +
                  (odd == 0 ? "[3,1] and of [2,1]" : "[2,1] and of [3,1]") +
                  " do not add up\n"
                  "  at train.cc:11\n" +
                  lines_of_three(odd, "train.cc:11  brings slices of [2,1]",
                                 "train.cc:11  brings slices of [3,1]") +
                  "  expected: slices of tensors of one shape\n"
                  "  hint: give every part the shape of the whole tensor");
  });
}

TEST_F(MergeErrors, DifferentReductionsOfSlices) {
  at_each_place(3, [&](int odd) {
    EXPECT_THAT(text_of<StructureMismatchError>([&](ReplicaContext& replica) {
                  const auto op = replica.replica_id() == odd ? ReduceOp::kMean : ReduceOp::kSum;
                  all_reduce_slices(replica, op, rows_of({2, 1}), kLeft);
                }),
                AllOf(HasSubstr("BF-020 replicas ask for different reductions of slices"),
                      HasSubstr(lines_of_three(odd, "train.cc:11  reduces by sum",
                                               "train.cc:11  reduces by mean"))));
  });
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

// Two replicas differ from the first replica: the earlier leaf counts.
TEST_F(MergeErrors, DifferentLengthsInTheFirstLeafOfAny) {
  testing::asserts("SEM-36");
  using Lists = std::vector<std::vector<int>>;
  at_each_place(3, [&](int odd) {
    EXPECT_THAT(text_of<StructureMismatchError>([&](ReplicaContext& replica) {
                  const int own = replica.replica_id();
                  const Lists second = own == (odd + 2) % 3 ? Lists{{1}, {1, 2}} : Lists{{1}, {1}};
                  replica.all_reduce(ReduceOp::kSum, own == odd ? Lists{{1, 2}, {1}} : second,
                                     kLeft);
                }),
                HasSubstr(lines_of_three(odd, "train.cc:11  brings int32[1] at [0]",
                                         "train.cc:11  brings int32[2] at [0]")));
    EXPECT_THAT(text_of<StructureMismatchError>([&](ReplicaContext& replica) {
                  const std::size_t own = replica.replica_id() == odd ? 2 : 1;
                  replica.all_reduce(ReduceOp::kSum, Lists(own, {1}), kLeft);
                }),
                HasSubstr(lines_of_three(odd, "train.cc:11  has 1 leaf",
                                         "train.cc:11  brings int32[1] at [1]")));
  });
}

TEST_F(MergeErrors, DifferentStructuresWithoutLeaves) {
  using Deep = std::vector<std::vector<std::vector<int>>>;
  at_each_place(3, [&](int odd) {
    EXPECT_THAT(text_of<StructureMismatchError>([&](ReplicaContext& replica) {
                  const std::size_t own = replica.replica_id() == odd ? 1 : 0;
                  replica.all_reduce(ReduceOp::kSum, Deep(own), kLeft);
                }),
                HasSubstr(lines_of_three(odd, "train.cc:11  brings no elements",
                                         "train.cc:11  brings no elements at [0]")));
    EXPECT_THAT(text_of<StructureMismatchError>([&](ReplicaContext& replica) {
                  std::map<std::string, int> own;
                  if (replica.replica_id() == odd) own["a"] = 1;
                  replica.all_reduce(ReduceOp::kSum, own, kLeft);
                }),
                HasSubstr(lines_of_three(odd, "train.cc:11  brings no elements",
                                         "train.cc:11  brings int32 at {a}")));
  });
}

TEST_F(MergeErrors, DifferentOperators) {
  at_each_place(3, [&](int odd) {
    EXPECT_THAT(
        text_of<StructureMismatchError>([&](ReplicaContext& replica) {
          const auto op = replica.replica_id() == odd ? ReduceOp::kSum : ReduceOp::kMean;
          replica.all_reduce(op, 1.0, kLeft);
        }),
        AllOf(HasSubstr("BF-020"), HasSubstr(lines_of_three(odd, "train.cc:11  reduces by mean",
                                                            "train.cc:11  reduces by sum"))));
  });
}

TEST_F(MergeErrors, AReplicaThrows) {
  testing::asserts("SEM-6");
  at_each_place(3, [&](int odd) {
    EXPECT_EQ(text_of<std::runtime_error>(
                  [&](ReplicaContext& replica) {
                    replica.merge_call(count, kLeft);
                    if (replica.replica_id() == odd) throw std::runtime_error("bad label");
                    replica.merge_call(count, kRight);
                  },
                  1),
              "bad label");
    ASSERT_TRUE(failure_.has_value());
    EXPECT_EQ(to_string(*failure_) + "\n",
              "BF-005 a replica threw std::runtime_error \"bad label\"\n" +
                  lines_of_three(odd, "train.cc:22  waits in merge_call #2",
                                 "train.cc:11  threw std::runtime_error \"bad label\" after merge "
                                 "#1"));
  });
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
  at_each_place(3, [&](int odd) {
    EXPECT_EQ(text_of<std::runtime_error>([&](ReplicaContext& replica) {
                const SumAtEnd sum{replica};
                if (replica.replica_id() == odd) throw std::runtime_error("bad label");
                replica.merge_call(count, kLeft);
              }),
              "bad label");
    EXPECT_EQ(to_string(*failure_) + "\n",
              "BF-005 a replica threw std::runtime_error \"bad label\"\n" +
                  lines_of_three(odd, "train.cc:11  waits in merge_call",
                                 "train.cc:22  threw std::runtime_error \"bad label\", then waits "
                                 "in all_reduce"));
    EXPECT_NE(failure_->replicas[static_cast<std::size_t>(odd)].exception, nullptr);
  });
}

TEST_F(MergeErrors, TheLowestOfHiddenAndOpenExceptionsIsRethrown) {
  // Replica `odd` does not throw.
  at_each_place(3, [&](int odd) {
    for (const int hidden : {0, 1, 2}) {
      if (hidden == odd) continue;
      EXPECT_EQ(text_of<std::runtime_error>([&](ReplicaContext& replica) {
                  const int own = replica.replica_id();
                  std::optional<SumAtEnd> sum;
                  if (own == hidden) sum.emplace(replica);
                  if (own != odd) throw std::runtime_error("from " + std::to_string(own));
                  replica.merge_call(count, kLeft);
                }),
                odd == 0 ? "from 1" : "from 0");
    }
  });
}

// The cancellation unwinds the replica. An exception thrown during the unwinding is a consequence
// of the cancellation.
TEST_F(MergeErrors, WhatACancelledReplicaThrowsOutranksNothing) {
  at_each_place(3, [&](int odd) {
    EXPECT_THAT(text_of<MergeMismatchError>([&](ReplicaContext& replica) {
                  try {
                    const SumAtEnd sum{replica};
                    if (replica.replica_id() != odd) replica.merge_call(count, kLeft);
                  } catch (...) {
                    throw std::runtime_error("instead");
                  }
                }),
                HasSubstr("BF-012"));
  });
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
  at_each_place(3, [&](int odd) {
    EXPECT_EQ(text_of<std::logic_error>([&](ReplicaContext& replica) {
                const Guard guard(alive);
                if (replica.replica_id() == odd) throw std::logic_error("stop");
                replica.merge_call(count);
              }),
              "stop");
    EXPECT_EQ(alive, 0);
  });
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
  at_each_place(3, [&](int odd) {
    EXPECT_THAT(text_of<ContextError>([&](ReplicaContext& replica) {
                  if (replica.replica_id() == odd) throw ReplicaCancelled{};
                  return std::string(100, 'x');
                }),
                HasSubstr("BF-003 a replica threw belfry::ReplicaCancelled in a run that has not "
                          "failed"));
    EXPECT_THAT(text_of<ContextError>([&](ReplicaContext& replica) {
                  if (replica.replica_id() == odd) throw ReplicaCancelled{};
                  replica.merge_call(count, kLeft);
                }),
                HasSubstr("BF-003"));
  });
  EXPECT_THAT(text_of<ContextError>([](ReplicaContext& replica) {
                replica.merge_call([](CrossReplicaContext&) { throw ReplicaCancelled{}; }, kLeft);
              }),
              AllOf(HasSubstr("BF-003 merge_call threw belfry::ReplicaCancelled"),
                    HasSubstr("replicas 0-2  train.cc:11  waits in merge_call #1")));
}

}  // namespace
}  // namespace belfry::merge_errors_test
