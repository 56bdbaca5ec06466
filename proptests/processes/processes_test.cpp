// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Strategies over several processes, here threads: results, and the messages in each process if a
// process differs.
#include "belfry/belfry.h"
#include "belfry/sim/backend.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/each_place.h"
#include "belfry/testing/thread_group.h"
#include "processes/forwarding_group.h"
#include "processes/hosts.h"
#include "processes/two_processes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

namespace belfry::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr CallSite kLeft{"train.cc", 11};
constexpr CallSite kRight{"train.cc", 22};

// Replicas 0 and 1, 2, and 3 to 5 are those of the processes.
TEST(Processes, SayWhereTheReplicaOfAnotherProcessIs) {
  testing::asserts("SEM-150");
  const int process_of[] = {0, 0, 1, 2, 2, 2};
  on_hosts([&](MultiWorkerMirroredStrategy& strategy, sim::Host& host) {
    const int rank = host.group().rank();
    const auto losses = strategy.run([](ReplicaContext& replica) { return replica.replica_id(); });
    for (int id = 0; id < 6; ++id) {
      if (process_of[id] == rank) continue;
      try {
        std::ignore = losses[id];
        ADD_FAILURE() << "no error for replica " << id;
      } catch (const InvalidArgumentError& error) {
        const std::string where =
            "replica " + std::to_string(id) + " is in process " + std::to_string(process_of[id]);
        EXPECT_THAT(error.what(),
                    AllOf(HasSubstr(where), HasSubstr("this is process " + std::to_string(rank)),
                          HasSubstr("for (const auto& loss : losses)"), HasSubstr("all_reduce")));
      }
    }
  });
}

// Counts the calls of a group, and their bytes.
class CountedGroup final : public ForwardingGroup {
 public:
  using ForwardingGroup::ForwardingGroup;

  std::vector<std::vector<std::byte>> gather(std::span<const std::byte> bytes) override {
    ++calls;
    most_bytes = std::max(most_bytes, bytes.size());
    return ForwardingGroup::gather(bytes);
  }
  std::vector<std::byte> broadcast(std::span<const std::byte> bytes, int from) override {
    ++calls;
    return ForwardingGroup::broadcast(bytes, from);
  }

  int calls = 0;
  std::size_t most_bytes = 0;
};

TEST(Processes, ExchangeAFewBytesForAMergeWithoutData) {
  testing::asserts("SEM-151");
  run_processes(3, [](ProcessGroup& group) {
    CountedGroup counted(group);
    sim::Backend backend{{.devices = 2}};
    MultiWorkerMirroredStrategy strategy{backend, counted};
    counted.calls = 0;
    counted.most_bytes = 0;
    strategy.run([](ReplicaContext& replica) {
      for (int merge = 0; merge < 5; ++merge) replica.merge_call([](CrossReplicaContext&) {});
    });
    EXPECT_EQ(counted.calls, 6);  // One for each merge, and one for the end of the run.
    EXPECT_LE(counted.most_bytes, 128U);
  });
}

// Numbers, lists and tensors.
TEST(Processes, ExchangeOnceForAnAllReduce) {
  testing::asserts("SEM-151");
  run_processes(3, [](ProcessGroup& group) {
    CountedGroup counted(group);
    sim::Backend backend{{.devices = 2}};
    MultiWorkerMirroredStrategy strategy{backend, counted};
    counted.calls = 0;
    strategy.run([](ReplicaContext& replica) {
      const int own = replica.replica_id() + 1;
      EXPECT_EQ(replica.all_reduce(ReduceOp::kSum, own), 21);
      const auto both = replica.all_reduce(ReduceOp::kMean, std::vector<double>{2.0 * own, 1});
      EXPECT_EQ(both, (std::vector<double>{7, 1}));
      const auto tensor = Tensor<float>::full({3}, static_cast<float>(own));
      EXPECT_EQ(replica.all_reduce(ReduceOp::kSum, tensor).to_host(),
                (std::vector<float>{21, 21, 21}));
    });
    EXPECT_EQ(counted.calls, 4);  // One for each reduction, and one for the end of the run.
  });
}

TEST(Processes, TellEveryProcessThatOneSkipsAMerge) {
  testing::asserts("SEM-152");
  at_each_place(3, [](int odd) {
    const auto texts = texts_of_host_run<MergeMismatchError>([&](ReplicaContext& replica) {
      if (process_of(replica.replica_id()) != odd) replica.all_reduce(ReduceOp::kSum, 1, kLeft);
    });
    EXPECT_THAT(texts, Each(AllOf(HasSubstr("BF-010"),
                                  has_lines(odd, "  train.cc:11  waits in all_reduce #1",
                                            "  returned before its first merge"))));
  });
}

// Process `odd` calls `strange`, and the other processes call `usual`.
template <class E, class Usual, class Strange>
std::vector<std::string> texts_if_one_differs(int odd, const Usual& usual, const Strange& strange) {
  return texts_of_host_run<E>([&](ReplicaContext& replica) {
    process_of(replica.replica_id()) == odd ? strange(replica) : usual(replica);
  });
}

TEST(Processes, TellEveryProcessThatMergesDiffer) {
  testing::asserts("SEM-152");
  std::atomic<int> calls = 0;
  const auto merge = [&](CrossReplicaContext&) { ++calls; };
  const auto sum = [](ReplicaContext& r) { r.all_reduce(ReduceOp::kSum, 1, kLeft); };
  const auto sum_of = [](const char* name) {
    return [name](ReplicaContext& r) { r.all_reduce(MergeTag{name, kLeft}, ReduceOp::kSum, 1); };
  };
  const auto on_left = [&](ReplicaContext& r) { r.merge_call_at(kLeft, merge); };
  const auto on_right = [&](ReplicaContext& r) { r.merge_call_at(kRight, merge); };
  at_each_place(3, [&](int odd) {
    EXPECT_THAT(texts_if_one_differs<MergeMismatchError>(odd, on_left, on_right),
                Each(AllOf(HasSubstr("BF-011"), has_lines(odd, "  train.cc:11  waits in merge_call",
                                                          "  train.cc:22  waits in merge_call"))));
    EXPECT_THAT(texts_if_one_differs<MergeMismatchError>(odd, sum, on_right),
                Each(AllOf(HasSubstr("BF-012"), has_lines(odd, "  train.cc:11  waits in all_reduce",
                                                          "  train.cc:22  waits in merge_call"))));
    EXPECT_THAT(texts_if_one_differs<MergeMismatchError>(odd, sum_of("loss"), sum_of("accuracy")),
                Each(AllOf(HasSubstr("BF-011"),
                           has_lines(odd, "  train.cc:11  waits in all_reduce \"loss\"",
                                     "  train.cc:11  waits in all_reduce "
                                     "\"accuracy\""))));
    const auto sum_of_double = [](ReplicaContext& r) { r.all_reduce(ReduceOp::kSum, 1.0, kLeft); };
    EXPECT_THAT(texts_if_one_differs<MergeMismatchError>(odd, sum, sum_of_double),
                Each(HasSubstr("BF-013")));
  });
  EXPECT_EQ(calls, 0) << "a refused round calls no merge function";
}

TEST(Processes, MeetAtTagsOnDifferentLines) {
  testing::asserts("SEM-151");
  at_each_place(6, [](int odd) {
    const auto texts = texts_of_host_run<MergeMismatchError>([&](ReplicaContext& replica) {
      const MergeTag tag{"loss", replica.replica_id() == odd ? kLeft : kRight};
      EXPECT_EQ(replica.all_reduce(tag, ReduceOp::kSum, replica.replica_id()), 15);
    });
    EXPECT_THAT(texts, Each("nothing was thrown"));
  });
}

TEST(Processes, TellEveryProcessThatStructuresDiffer) {
  testing::asserts("SEM-152");
  at_each_place(3, [](int odd) {
    const auto is_odd = [odd](const ReplicaContext& replica) {
      return process_of(replica.replica_id()) == odd;
    };
    const auto operators = texts_of_host_run<StructureMismatchError>([&](ReplicaContext& replica) {
      replica.all_reduce(is_odd(replica) ? ReduceOp::kMean : ReduceOp::kSum, 1.0, kLeft);
    });
    EXPECT_THAT(operators,
                Each(AllOf(HasSubstr("BF-020"), has_lines(odd, "  train.cc:11  reduces by sum",
                                                          "  train.cc:11  reduces by mean"))));
    const auto axes = texts_of_host_run<StructureMismatchError>([&](ReplicaContext& replica) {
      replica.all_gather(std::vector<int>{1}, Axis(is_odd(replica) ? -1 : 0), kLeft);
    });
    EXPECT_THAT(axes, Each(has_lines(odd, "  train.cc:11  gathers along 0",
                                     "  train.cc:11  gathers along -1")));
  });
}

TEST(Processes, TellEveryProcessThatVerbsOfMergeFunctionsDiffer) {
  testing::asserts("SEM-152");
  at_each_place(3, [](int odd) {
    const auto texts = texts_on_hosts<MergeMismatchError>([&](auto& strategy, sim::Host& host) {
      const bool reduces = host.group().rank() == odd;
      strategy.run([reduces](ReplicaContext& replica) {
        replica.merge_call_at(
            kLeft,
            [reduces](CrossReplicaContext& cross, const PerReplica<int>& all) {
              if (reduces) cross.reduce(ReduceOp::kSum, all, kRight);
            },
            1);
      });
    });
    const std::string stranger = "process " + std::to_string(odd) + "  train.cc:22  calls reduce";
    EXPECT_THAT(texts, Each(AllOf(HasSubstr("BF-012"), HasSubstr(stranger))));
    for (const int other : {0, 1, 2}) {
      if (other == odd) continue;
      EXPECT_THAT(texts,
                  Each(HasSubstr(with_replicas(other) + "  train.cc:11  returned after merge #1")));
    }
  });
}

// `body(odd, host)` throws "row 9" in process `odd` alone. The other processes name process `odd`,
// and have `place` in their texts.
void expect_failure_of_one(int odd, const std::string& place, const OnHost& body) {
  std::vector<std::string> own(3);
  const auto peers = texts_on_hosts<PeerFailedError>([&](auto& strategy, sim::Host& host) {
    try {
      body(strategy, host);
    } catch (const std::out_of_range& error) {
      own[static_cast<std::size_t>(host.group().rank())] = error.what();
    }
  });
  const std::string name = "process " + std::to_string(odd);
  for (int rank = 0; rank < 3; ++rank) {
    const auto process = static_cast<std::size_t>(rank);
    EXPECT_EQ(own[process], rank == odd ? "row 9" : "");
    if (rank == odd) continue;
    EXPECT_THAT(peers[process], AllOf(HasSubstr("BF-071 " + name + " failed"), HasSubstr("row 9"),
                                      HasSubstr(name + place)));
  }
}

TEST(Processes, EndTheRunOfAllIfAReplicaThrows) {
  testing::asserts("SEM-154");
  at_each_place(6, [](int odd) {
    const std::string place = ", replica " + std::to_string(odd) + "  train.cc:11";
    expect_failure_of_one(process_of(odd), place, [&](auto& strategy, sim::Host&) {
      strategy.run([&](ReplicaContext& replica) {
        replica.all_reduce(ReduceOp::kSum, 1, kLeft);
        if (replica.replica_id() == odd) throw std::out_of_range("row 9");
        replica.all_reduce(ReduceOp::kSum, 1, kRight);
      });
    });
  });
}

// The summary names the lowest failed process.
TEST(Processes, NameAllProcessesThatFailInTheSummaryOfTheLowest) {
  testing::asserts("SEM-154");
  at_each_place(3, [](int odd) {
    std::vector<std::string> texts(3);
    on_hosts([&](MultiWorkerMirroredStrategy& strategy, sim::Host& host) {
      const int rank = host.group().rank();
      try {
        strategy.run([&](ReplicaContext& replica) {
          if (rank != odd) throw std::out_of_range("row " + std::to_string(rank));
          replica.all_reduce(ReduceOp::kSum, 1, kLeft);
        });
      } catch (const std::exception& error) {
        texts[static_cast<std::size_t>(rank)] = error.what();
      }
    });
    const std::string lowest = std::to_string(odd == 0 ? 1 : 0);
    const std::string highest = std::to_string(odd == 2 ? 1 : 2);
    EXPECT_THAT(texts[static_cast<std::size_t>(odd)],
                AllOf(HasSubstr("BF-071 process " + lowest + " failed: std::out_of_range \"row " +
                                lowest + "\"\n"),
                      HasSubstr("process " + highest), HasSubstr("\"row " + highest + "\"")));
  });
}

TEST(Processes, EndTheRunThoughAMergeFunctionSwallowsItsError) {
  testing::asserts("SEM-154");
  at_each_place(3, [](int odd) {
    expect_failure_of_one(odd, "", [&](auto& strategy, sim::Host& host) {
      const bool throws = host.group().rank() == odd;
      strategy.run([&](ReplicaContext& replica) {
        replica.merge_call(
            [throws](CrossReplicaContext& cross, const PerReplica<int>& all) {
              if (throws) throw std::out_of_range("row 9");
              for (int attempt = 0; attempt < 3; ++attempt) {
                try {
                  cross.reduce(ReduceOp::kSum, all);
                } catch (const PeerFailedError&) {
                }
              }
            },
            1);
      });
    });
  });
}

TEST(Processes, MakeTheSameStrategy) {
  testing::asserts("SEM-150");
  at_each_place(3, [](int odd) {
    std::vector<std::string> texts(3);
    run_processes(3, [&](ProcessGroup& group) {
      sim::Backend backend{{.devices = 1}};
      const auto rank = static_cast<std::size_t>(group.rank());
      try {
        MultiWorkerMirroredStrategy{backend, group, {.require_names = group.rank() == odd}};
      } catch (const InvalidArgumentError& error) {
        texts[rank] = error.what();
      }
      // The group is level again.
      EXPECT_EQ(MultiWorkerMirroredStrategy(backend, group).num_replicas(), 3);
    });
    EXPECT_THAT(texts, Each(AllOf(HasSubstr("names required"), HasSubstr("names free"))));
  });
}

TEST(Processes, OfAGroupOfOneAreAMirroredStrategy) {
  testing::asserts("SEM-150");
  const auto hash_of = [](auto&&... group) {
    sim::Backend backend{{.devices = 3, .seed = 5}};
    const auto use = [&](Strategy& strategy) {
      auto variable = strategy.mirrored_variable(1.0, {.aggregation = Aggregation::kSum});
      strategy.run([&](ReplicaContext& replica) {
        replica.assign_add(variable, replica.all_reduce(ReduceOp::kSum, 1.0));
      });
      EXPECT_EQ(strategy.read(variable), 10);
    };
    if constexpr (sizeof...(group) == 0) {
      MirroredStrategy strategy{backend};
      use(strategy);
    } else {
      MultiWorkerMirroredStrategy strategy{backend, group...};
      use(strategy);
    }
    return backend.hash();
  };
  SingleProcess alone;
  EXPECT_EQ(hash_of(alone), hash_of());
}

}  // namespace
}  // namespace belfry::testing
