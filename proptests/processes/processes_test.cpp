// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Strategies over several processes, here threads: results, and the messages in each process if a
// process differs.
#include "belfry/belfry.h"
#include "belfry/indexed_slices.h"
#include "belfry/sim/backend.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/thread_group.h"
#include "processes/two_processes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

namespace belfry::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr CallSite kLeft{"train.cc", 11};
constexpr CallSite kRight{"train.cc", 22};

TEST(Processes, AddTheValuesOfAllReplicas) {
  testing::asserts("SEM-151", "SEM-153");
  std::vector<double> sums(4);
  with_strategies([&](MultiWorkerMirroredStrategy& strategy, ProcessGroup&) {
    const auto own = strategy.run([](ReplicaContext& replica) {
      return replica.all_reduce(ReduceOp::kSum, 1.0 + replica.replica_id());
    });
    for (int id = 0; id < 4; ++id) {
      if (own.has(id)) sums[static_cast<std::size_t>(id)] = own[id];
    }
  });
  EXPECT_THAT(sums, Each(10.0));  // 1 + 2 + 3 + 4
}

TEST(Processes, NumberTheReplicasOfAllProcesses) {
  testing::asserts("SEM-150");
  std::vector<int> process_of_replica(4, -1);
  with_strategies([&](MultiWorkerMirroredStrategy& strategy, ProcessGroup& group) {
    EXPECT_EQ(strategy.num_replicas(), 4);
    EXPECT_EQ(strategy.worker_devices().size(), 2u);
    const auto ids = strategy.run([](ReplicaContext& replica) {
      EXPECT_EQ(replica.num_replicas(), 4);
      EXPECT_EQ(replica.device().index, replica.replica_id() % 2);
      return replica.replica_id();
    });
    EXPECT_EQ(ids.size(), 4);
    for (const int id : ids) process_of_replica[static_cast<std::size_t>(id)] = group.rank();
    EXPECT_EQ(strategy.worker_device_index()[group.rank() == 0 ? 1 : 2], group.rank() == 0 ? 1 : 0);
    EXPECT_THROW(std::ignore = ids[group.rank() == 0 ? 3 : 0], InvalidArgumentError);
    EXPECT_THROW(strategy.placement(group.rank() == 0 ? 3 : 0), InvalidArgumentError);
  });
  EXPECT_THAT(process_of_replica, ElementsAre(0, 0, 1, 1));
}

TEST(Processes, GiveMergeFunctionsTheValuesOfTheirReplicas) {
  testing::asserts("SEM-153");
  std::vector<std::vector<double>> seen(2);
  std::vector<double> means(2);
  with_strategies([&](MultiWorkerMirroredStrategy& strategy, ProcessGroup& group) {
    const auto rank = static_cast<std::size_t>(group.rank());
    const auto results = strategy.run([&](ReplicaContext& replica) {
      return replica.merge_call(
          [&seen, rank](CrossReplicaContext& cross, const PerReplica<double>& all) {
            seen[rank].assign(all.begin(), all.end());
            return cross.reduce(ReduceOp::kMean, all);
          },
          1.0 + replica.replica_id());
    });
    means[rank] = *results.begin();
  });
  EXPECT_THAT(seen, ElementsAre(ElementsAre(1, 2), ElementsAre(3, 4)));
  EXPECT_THAT(means, Each(2.5));
}

TEST(Processes, BroadcastTheValueOfProcessZero) {
  testing::asserts("SEM-153");
  std::vector<std::string> names(2);
  with_strategies([&](MultiWorkerMirroredStrategy& strategy, ProcessGroup& group) {
    const std::string own = "process " + std::to_string(group.rank());
    names[static_cast<std::size_t>(group.rank())] = strategy.cross_replica().broadcast(own)[3];
  });
  EXPECT_THAT(names, Each("process 0"));
}

// Counts the calls of a group, and their bytes.
class CountedGroup final : public ProcessGroup {
 public:
  explicit CountedGroup(ProcessGroup& group) : group_(group) {}

  int rank() const override { return group_.rank(); }
  int size() const override { return group_.size(); }
  std::vector<std::vector<std::byte>> gather(std::span<const std::byte> bytes) override {
    ++calls;
    most_bytes = std::max(most_bytes, bytes.size());
    return group_.gather(bytes);
  }
  std::vector<std::byte> broadcast(std::span<const std::byte> bytes, int from) override {
    ++calls;
    return group_.broadcast(bytes, from);
  }

  int calls = 0;
  std::size_t most_bytes = 0;

 private:
  ProcessGroup& group_;
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

TEST(Processes, ReduceBetweenRuns) {
  with_strategies([](MultiWorkerMirroredStrategy& strategy, ProcessGroup&) {
    const auto ids = strategy.run([](ReplicaContext& replica) { return replica.replica_id(); });
    EXPECT_EQ(strategy.cross_replica().reduce(ReduceOp::kSum, ids).value(), 6);
    const auto made = strategy.distribute_values([](int id) { return 10 * id; });
    EXPECT_EQ(strategy.cross_replica().reduce(ReduceOp::kSum, made).value(), 60);
    // A value of the same replicas goes into the next run.
    const auto sums = strategy.run(
        [](ReplicaContext& replica, int id) { return replica.all_reduce(ReduceOp::kSum, 2 * id); },
        ids);
    EXPECT_EQ(*sums.begin(), 12);
  });
}

TEST(Processes, TellEveryProcessThatOneSkipsAMerge) {
  testing::asserts("SEM-152");
  const auto texts = texts_of_run<MergeMismatchError>([](ReplicaContext& replica) {
    if (replica.replica_id() < 2) replica.all_reduce(ReduceOp::kSum, 1, kLeft);
  });
  EXPECT_THAT(texts,
              Each(AllOf(HasSubstr("BF-010"),
                         HasSubstr("process 0, replicas 0,1  train.cc:11  waits in all_reduce #1"),
                         HasSubstr("process 1, replicas 2,3  returned before its first merge"))));
}

TEST(Processes, TellEveryProcessThatMergesDiffer) {
  testing::asserts("SEM-152");
  const auto kinds = texts_of_run<MergeMismatchError>([](ReplicaContext& replica) {
    if (replica.replica_id() == 3) {
      replica.merge_call_at(kRight, [](CrossReplicaContext&) {});
    } else {
      replica.all_reduce(ReduceOp::kSum, 1, kLeft);
    }
  });
  EXPECT_THAT(kinds,
              Each(AllOf(HasSubstr("BF-012"), HasSubstr("process 0, replicas 0,1  train.cc:11"),
                         HasSubstr("process 1, replica 2  train.cc:11"),
                         HasSubstr("process 1, replica 3  train.cc:22"))));
  const auto places = texts_of_run<MergeMismatchError>([](ReplicaContext& replica) {
    replica.all_reduce(ReduceOp::kSum, 1, replica.replica_id() < 2 ? kLeft : kRight);
  });
  EXPECT_THAT(places, Each(AllOf(HasSubstr("BF-011"), HasSubstr("train.cc:22"))));
  const auto names = texts_of_run<MergeMismatchError>([](ReplicaContext& replica) {
    const MergeTag tag{replica.replica_id() < 2 ? "loss" : "accuracy", kLeft};
    replica.all_reduce(tag, ReduceOp::kSum, 1);
  });
  EXPECT_THAT(names,
              Each(AllOf(HasSubstr("BF-011"), HasSubstr("\"loss\""), HasSubstr("\"accuracy\""))));
  const auto types = texts_of_run<MergeMismatchError>([](ReplicaContext& replica) {
    if (replica.replica_id() < 2) {
      replica.all_reduce(ReduceOp::kSum, 1, kLeft);
    } else {
      replica.all_reduce(ReduceOp::kSum, 1.0, kLeft);
    }
  });
  EXPECT_THAT(types, Each(HasSubstr("BF-013")));
}

TEST(Processes, MeetAtTagsOnDifferentLines) {
  testing::asserts("SEM-151");
  const auto texts = texts_of_run<MergeMismatchError>([](ReplicaContext& replica) {
    const MergeTag tag{"loss", replica.replica_id() < 2 ? kLeft : kRight};
    EXPECT_EQ(replica.all_reduce(tag, ReduceOp::kSum, replica.replica_id()), 6);
  });
  EXPECT_THAT(texts, Each("nothing was thrown"));
}

TEST(Processes, TellEveryProcessThatStructuresDiffer) {
  testing::asserts("SEM-152");
  const auto lengths = texts_of_run<StructureMismatchError>([](ReplicaContext& replica) {
    const std::size_t length = replica.replica_id() < 3 ? 2 : 5;
    replica.all_reduce(ReduceOp::kSum, std::vector<float>(length), kLeft);
  });
  EXPECT_THAT(lengths, Each(AllOf(HasSubstr("BF-020"), HasSubstr("brings float32[2]"),
                                  HasSubstr("process 1, replica 3  train.cc:11"),
                                  HasSubstr("brings float32[5]"))));
  const auto operators = texts_of_run<StructureMismatchError>([](ReplicaContext& replica) {
    replica.all_reduce(replica.replica_id() < 2 ? ReduceOp::kSum : ReduceOp::kMean, 1.0);
  });
  EXPECT_THAT(operators, Each(AllOf(HasSubstr("BF-020"), HasSubstr("reduces by"))));
  const auto axes = texts_of_run<StructureMismatchError>([](ReplicaContext& replica) {
    replica.all_gather(std::vector<int>{1}, Axis(replica.replica_id() < 2 ? 0 : -1));
  });
  EXPECT_THAT(axes, Each(HasSubstr("gathers along -1")));
}

TEST(Processes, TellEveryProcessThatVerbsOfMergeFunctionsDiffer) {
  testing::asserts("SEM-152");
  const auto texts =
      texts_of<MergeMismatchError>([](MultiWorkerMirroredStrategy& strategy, ProcessGroup& group) {
        const int rank = group.rank();
        strategy.run([rank](ReplicaContext& replica) {
          replica.merge_call_at(
              kLeft,
              [rank](CrossReplicaContext& cross, const PerReplica<int>& all) {
                if (rank == 0) cross.reduce(ReduceOp::kSum, all, kRight);
              },
              1);
        });
      });
  EXPECT_THAT(texts,
              Each(AllOf(HasSubstr("BF-012"), HasSubstr("process 0  train.cc:22  calls reduce"),
                         HasSubstr("process 1, replicas 2,3  train.cc:11  returned after "
                                   "merge #1"))));
}

TEST(Processes, EndTheRunOfAllIfAReplicaThrows) {
  testing::asserts("SEM-154");
  std::vector<std::string> own(2);
  const auto peers =
      texts_of<PeerFailedError>([&](MultiWorkerMirroredStrategy& strategy, ProcessGroup& group) {
        try {
          strategy.run([](ReplicaContext& replica) {
            replica.all_reduce(ReduceOp::kSum, 1, kLeft);
            if (replica.replica_id() == 2) throw std::out_of_range("row 9");
            replica.all_reduce(ReduceOp::kSum, 1, kRight);
          });
        } catch (const std::out_of_range& error) {
          own[static_cast<std::size_t>(group.rank())] = error.what();
        }
      });
  EXPECT_THAT(own, ElementsAre("", "row 9"));
  EXPECT_THAT(peers, ElementsAre(AllOf(HasSubstr("BF-071 process 1 failed"), HasSubstr("row 9"),
                                       HasSubstr("process 1, replica 2  train.cc:11")),
                                 "nothing was thrown"));
}

TEST(Processes, EndTheRunOfAllIfAMergeFunctionThrows) {
  testing::asserts("SEM-154");
  std::vector<std::string> own(2);
  const auto peers =
      texts_of<PeerFailedError>([&](MultiWorkerMirroredStrategy& strategy, ProcessGroup& group) {
        try {
          strategy.run([](ReplicaContext& replica) {
            replica.merge_call_at(
                kLeft,
                [](CrossReplicaContext& cross, const PerReplica<int>& ids) {
                  if (*ids.begin() == 2) throw std::out_of_range("row 9");
                  return cross.reduce(ReduceOp::kSum, ids, kRight);
                },
                replica.replica_id());
          });
        } catch (const std::out_of_range& error) {
          own[static_cast<std::size_t>(group.rank())] = error.what();
        }
      });
  EXPECT_THAT(own, ElementsAre("", "row 9"));
  EXPECT_THAT(peers[0], AllOf(HasSubstr("BF-071 process 1 failed"), HasSubstr("row 9"),
                              HasSubstr("process 1  train.cc:11")));
}

TEST(Processes, EndTheRunThoughAMergeFunctionSwallowsItsError) {
  testing::asserts("SEM-154");
  const auto texts =
      texts_of<PeerFailedError>([](MultiWorkerMirroredStrategy& strategy, ProcessGroup& group) {
        const int rank = group.rank();
        try {
          strategy.run([rank](ReplicaContext& replica) {
            replica.merge_call(
                [rank](CrossReplicaContext& cross, const PerReplica<int>& all) {
                  if (rank == 1) throw std::out_of_range("row 9");
                  for (int attempt = 0; attempt < 3; ++attempt) {
                    try {
                      cross.reduce(ReduceOp::kSum, all);
                    } catch (const PeerFailedError&) {
                    }
                  }
                },
                1);
          });
        } catch (const std::out_of_range&) {
        }
      });
  EXPECT_THAT(texts[0], HasSubstr("row 9"));
}

TEST(Processes, AreToldOfAProcessThatHasLeft) {
  testing::asserts("SEM-155");
  std::string text;
  run_processes(2, [&](ProcessGroup& group) {
    sim::Backend backend{{.devices = 1}};
    MultiWorkerMirroredStrategy strategy{backend, group};
    if (group.rank() == 1) return;
    try {
      strategy.run([](ReplicaContext& replica) { replica.all_reduce(ReduceOp::kSum, 1); });
    } catch (const ProcessLostError& error) {
      text = error.what();
    }
  });
  EXPECT_THAT(text, HasSubstr("BF-070 process 1 has left the group"));
}

TEST(Processes, MakeTheSameStrategy) {
  testing::asserts("SEM-150");
  std::vector<std::string> texts(2);
  run_processes(2, [&](ProcessGroup& group) {
    sim::Backend backend{{.devices = 1}};
    const auto rank = static_cast<std::size_t>(group.rank());
    try {
      MultiWorkerMirroredStrategy{backend, group, {.require_names = rank == 1}};
    } catch (const InvalidArgumentError& error) {
      texts[rank] = error.what();
    }
    // The group is level again.
    EXPECT_EQ(MultiWorkerMirroredStrategy(backend, group).num_replicas(), 2);
  });
  EXPECT_THAT(texts, Each(AllOf(HasSubstr("names required"), HasSubstr("names free"))));
}

TEST(Processes, TellStrategiesOfOneGroupApart) {
  std::vector<std::string> texts(2);
  run_processes(2, [&](ProcessGroup& group) {
    sim::Backend backend{{.devices = 1}};
    MultiWorkerMirroredStrategy first{backend, group};
    MultiWorkerMirroredStrategy second{backend, group};
    MultiWorkerMirroredStrategy& used = group.rank() == 0 ? first : second;
    try {
      used.run([](ReplicaContext& replica) { replica.all_reduce(ReduceOp::kSum, 1); });
    } catch (const MergeMismatchError& error) {
      texts[static_cast<std::size_t>(group.rank())] = error.what();
    }
  });
  EXPECT_THAT(texts, Each(HasSubstr("processes use different strategies")));
}

using Uses = std::vector<std::function<void(MultiWorkerMirroredStrategy&)>>;

void expect_refused(const Uses& uses) {
  for (std::size_t use = 0; use < uses.size(); ++use) {
    const auto texts = texts_of<UnsupportedError>(
        [&](MultiWorkerMirroredStrategy& strategy, ProcessGroup&) { uses[use](strategy); });
    EXPECT_THAT(
        texts, Each(AllOf(HasSubstr("BF-080"), HasSubstr("several processes"), HasSubstr("hint:"))))
        << "use " << use;
  }
}

TEST(Processes, RefuseWorkOfOneProcess) {
  testing::asserts("SEM-156");
  expect_refused({
      [](auto& strategy) { strategy.mirrored_variable(std::make_shared<int>(1)); },
      [](auto& strategy) {
        strategy.run([](ReplicaContext& replica) {
          replica.merge_call([](CrossReplicaContext& cross) { cross.run([](ReplicaContext&) {}); });
        });
      },
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
