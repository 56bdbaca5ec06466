// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Variables and checkpoints of strategies over several processes.
#include "belfry/belfry.h"
#include "belfry/sim/backend.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/each_place.h"
#include "belfry/testing/thread_group.h"
#include "processes/hosts.h"
#include "processes/two_processes.h"
#include "words/temporary_folder_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace belfry::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

template <class T>
std::vector<T> elements(const PerReplica<T>& value) {
  return {value.begin(), value.end()};
}

TEST(ProcessVariables, AreMadeByReplicas) {
  testing::asserts("SEM-159");
  std::atomic<int> calls = 0;
  with_strategies([&](MultiWorkerMirroredStrategy& strategy, ProcessGroup& group) {
    for (int run = 0; run < 2; ++run) {
      const auto sums = strategy.run([&](ReplicaContext& replica) {
        const auto first = strategy.mirrored_variable(
            [&] {
              ++calls;
              return 10.0 + group.rank();
            },
            {.aggregation = Aggregation::kSum});
        replica.all_reduce(ReduceOp::kSum, 1);
        const auto second = strategy.replica_local_variable(ReduceOp::kSum, 7);
        replica.assign_add(first, 1.0);
        replica.assign_add(second, replica.replica_id());
        return first.on(replica) + second.on(replica);
      });
      const double own = 2.0 * group.rank();  // Replicas 0 and 1, and 2 and 3.
      EXPECT_THAT(elements(sums), ElementsAre(14 + 7 + own, 14 + 8 + own));
    }
  });
  EXPECT_EQ(calls, 2);  // Once a run, in process 0.
}

TEST(ProcessVariables, OfReplicasAreMadeInEveryProcess) {
  testing::asserts("SEM-159");
  at_each_place(3, [](int odd) {
    const auto texts = texts_on_hosts<MergeMismatchError>([&](auto& strategy, sim::Host& host) {
      strategy.run([&](ReplicaContext& replica) {
        if (host.group().rank() == odd) strategy.mirrored_variable(1.0);
        replica.all_reduce(ReduceOp::kSum, 1);
      });
    });
    EXPECT_THAT(texts, Each(AllOf(HasSubstr("processes make different calls"),
                                  HasSubstr("process " + std::to_string(odd) + "  "),
                                  HasSubstr("a variable"))));
  });
}

TEST(ProcessVariables, HaveOneFirstValue) {
  testing::asserts("SEM-159");
  at_each_place(9, [](int place) {
    const int odd = place / 3;
    const auto texts = texts_on_hosts<VariableMismatchError>([&](auto& strategy, sim::Host& host) {
      // The odd process has another number at one place of three.
      std::vector<double> first(3, 1.0);
      if (host.group().rank() == odd) first[static_cast<std::size_t>(place % 3)] = 2.0;
      strategy.mirrored_variable(first);
    });
    EXPECT_THAT(texts, Each(AllOf(HasSubstr("different first values"), HasSubstr("process 0"),
                                  HasSubstr("process 1"), HasSubstr("process 2"),
                                  HasSubstr("process_variables_test.cpp"))));
  });
}

TEST(ProcessVariables, AreTheSameInEveryProcess) {
  testing::asserts("SEM-159");
  const std::vector<double> one(1);
  const VariableOptions usual{.name = "w"};
  const std::vector<std::pair<std::vector<double>, VariableOptions>> strangers{
      {one, {.name = "b"}},
      {one, {.name = "w", .aggregation = Aggregation::kSum}},
      {std::vector<double>(2), usual}};
  at_each_place(3, [&](int odd) {
    for (const auto& [value, options] : strangers) {
      const auto texts = texts_on_hosts<VariableMismatchError>([&](auto& strategy, auto& host) {
        const bool is_odd = host.group().rank() == odd;
        strategy.mirrored_variable(is_odd ? value : one, is_odd ? options : usual);
      });
      EXPECT_THAT(
          texts, Each(AllOf(HasSubstr("processes made different variables"), HasSubstr("process 0"),
                            HasSubstr("process 1"), HasSubstr("process 2"))));
    }
  });
}

// The structure of a value, the type of a function's; no text of the compiler.
TEST(ProcessVariables, AreDescribedAsInOneProcess) {
  testing::asserts("SEM-159");
  const auto values = texts_of<VariableMismatchError>([](auto& strategy, ProcessGroup& group) {
    strategy.mirrored_variable(std::vector<double>(static_cast<std::size_t>(group.rank() + 1)));
  });
  EXPECT_THAT(values,
              Each(AllOf(HasSubstr("aggregation none, float64[1]\n"),
                         HasSubstr("aggregation none, float64[2]\n"), Not(HasSubstr("spelling")))));
  const auto functions = texts_of<VariableMismatchError>([](auto& strategy, ProcessGroup& group) {
    const CallSite site{"train.cpp", 9};
    if (group.rank() == 0)
      strategy.mirrored_variable([] { return 1.0; }, {}, site);
    else
      strategy.mirrored_variable([] { return 1; }, {}, site);
  });
  EXPECT_THAT(functions, Each(AllOf(HasSubstr("aggregation none, of double\n"),
                                    HasSubstr("aggregation none, of int\n"))));
}

TEST(ProcessVariables, TellEveryProcessThatAnInitialiserFailed) {
  testing::asserts("SEM-159");
  const auto make = [](Strategy& strategy) {
    strategy.mirrored_variable([]() -> double { throw std::runtime_error("no file"); });
  };
  for (const bool in_replicas : {false, true}) {
    const auto texts = texts_of<std::exception>([&](auto& strategy, ProcessGroup&) {
      if (!in_replicas) make(strategy);
      strategy.run([&](ReplicaContext& replica) { make(replica.strategy()); });
    });
    EXPECT_EQ(texts[0], "no file");
    EXPECT_THAT(texts[1], AllOf(HasSubstr("BF-071"), HasSubstr("process 0"), HasSubstr("no file")));
  }
}

TEST(ProcessVariables, DifferIfAMergeUsesTheValuesOfOneProcess) {
  testing::asserts("SEM-159");
  at_each_place(3, [](int odd) {
    const auto texts = texts_on_hosts<VariableMismatchError>([&](auto& strategy, auto& host) {
      const auto weight = strategy.mirrored_variable(1.0, {.name = "weight"});
      strategy.run([&](ReplicaContext& replica) {
        replica.merge_call([&](CrossReplicaContext& cross) {
          const double own = host.group().rank() == odd ? 5 : 1;
          cross.update(weight, [own](double& w) { w += own; });
        });
      });
    });
    EXPECT_THAT(
        texts, Each(AllOf(HasSubstr("weight"), HasSubstr("differ between processes"),
                          HasSubstr("process 0"), HasSubstr("process 1"), HasSubstr("process 2"))));
  });
}

TEST(ProcessVariables, ReadTheFirstReplicaAlone) {
  testing::asserts("SEM-159");
  with_strategies([&](MultiWorkerMirroredStrategy& strategy, ProcessGroup&) {
    const auto first = strategy.replica_local_variable(Aggregation::kOnlyFirst, 0);
    const auto mirrored = strategy.mirrored_variable(0, {.aggregation = Aggregation::kOnlyFirst});
    strategy.run([&](ReplicaContext& replica) {
      replica.assign(first, 10 + replica.replica_id());
      replica.assign(mirrored, 20 + replica.replica_id());
    });
    EXPECT_EQ(strategy.read(first), 10);
    EXPECT_EQ(strategy.cross_replica().fetch(first, [](int value) { return value + 1; }), 11);
    EXPECT_EQ(strategy.read(mirrored), 20);
  });
}

TEST(ProcessVariables, AreFetchedFromTheDevicesOfTheProcess) {
  with_strategies([&](MultiWorkerMirroredStrategy& strategy, ProcessGroup&) {
    const auto mean =
        strategy.replica_local_variable(ReduceOp::kMean, [] { return Tensor<double>::zeros({2}); });
    strategy.run([&](ReplicaContext& replica) {
      replica.assign(mean, Tensor<double>::full({2}, replica.replica_id()));
    });
    const auto doubled = [](const Tensor<double>& value) { return value * 2.0; };
    for (const DeviceSpec& device : strategy.worker_devices()) {
      const Tensor<double> fetched = strategy.cross_replica().fetch(mean, device, doubled);
      EXPECT_THAT(fetched.to_host(), ElementsAre(3, 3));  // 2 * (0 + 1 + 2 + 3) / 4.
      EXPECT_EQ(strategy.backend().device_spec(fetched.placement().device), device);
    }
  });
}

// A sum, a mirrored tensor and a mean, after a run on `strategy`.
struct Trained {
  explicit Trained(Strategy& strategy)
      : table(strategy.mirrored_variable([] { return Tensor<float>::zeros({3}); },
                                         {.name = "table", .aggregation = Aggregation::kSum})),
        seen(strategy.replica_local_variable(ReduceOp::kSum, 0, {.name = "seen"})),
        files(strategy) {
    files.add(table).add(seen);
  }

  void train(Strategy& strategy) {
    strategy.run([&](ReplicaContext& replica) {
      replica.assign_add(table, Tensor<float>::full({3}, 1));
      replica.assign_add(seen, 1 + replica.replica_id());
    });
  }

  MirroredVariable<Tensor<float>> table;
  ReplicaLocalVariable<int> seen;
  Checkpoint files;
};

TEST(ProcessCheckpoints, AreOneFileForAnyNumberOfProcesses) {
  testing::asserts("SEM-159");
  const TemporaryFolder folder;
  const auto path = folder / "weights.safetensors";
  with_strategies([&](MultiWorkerMirroredStrategy& strategy, ProcessGroup&) {
    Trained trained(strategy);
    trained.train(strategy);
    trained.files.save(path);
  });
  for (int processes = 1; processes <= 3; ++processes) {
    run_processes(processes, [&](ProcessGroup& group) {
      sim::Backend backend{{.devices = 1 + group.rank()}};
      MultiWorkerMirroredStrategy strategy{backend, group};
      Trained trained(strategy);
      trained.files.restore(path);
      EXPECT_THAT(strategy.read(trained.table).to_host(), ElementsAre(4, 4, 4));
      EXPECT_EQ(strategy.read(trained.seen), 10);  // 1 + 2 + 3 + 4.
    });
  }
}

// Joins the parts of the replicas. A restore gives replica i of n every n-th element from i on.
struct DealtParts {
  static constexpr bool kLengthsMayDiffer = true;
  using Row = std::vector<int>;
  Row combine(Row folded, const Row& next) const {
    folded.insert(folded.end(), next.begin(), next.end());
    return folded;
  }
  Row finalize(Row folded, int) const { return folded; }
  Row on_restore(const Row& value, int component, int components) const {
    Row own;
    for (auto i = static_cast<std::size_t>(component); i < value.size();
         i += static_cast<std::size_t>(components)) {
      own.push_back(value[i]);
    }
    return own;
  }
};

TEST(ProcessCheckpoints, HavePartsOfOtherLengthsInEachProcess) {
  testing::asserts("SEM-38", "SEM-56");
  const TemporaryFolder folder;
  const auto path = folder / "parts";
  with_strategies([&](MultiWorkerMirroredStrategy& strategy, ProcessGroup&) {
    const auto parts =
        strategy.replica_local_variable(DealtParts{}, DealtParts::Row{}, {.name = "parts"});
    strategy.run([&](ReplicaContext& replica) {  // Nothing, 1, 2 2 and 3 3 3.
      const int id = replica.replica_id();
      parts.on(replica) = DealtParts::Row(static_cast<std::size_t>(id), id);
    });
    Checkpoint(strategy).add(parts).save(path);
  });
  for (int processes = 1; processes <= 3; ++processes) {
    run_processes(processes, [&](ProcessGroup& group) {
      sim::Backend backend{{.devices = 1 + group.rank()}};
      MultiWorkerMirroredStrategy strategy{backend, group};
      const auto parts =
          strategy.replica_local_variable(DealtParts{}, DealtParts::Row(9, 9), {.name = "parts"});
      Checkpoint(strategy).add(parts).restore(path);
      const DealtParts::Row whole{1, 2, 2, 3, 3, 3};
      DealtParts::Row dealt;
      for (int i = 0; i < strategy.num_replicas(); ++i) {
        const DealtParts::Row own = DealtParts().on_restore(whole, i, strategy.num_replicas());
        dealt.insert(dealt.end(), own.begin(), own.end());
        const auto local = strategy.local_values(parts);
        if (local.has(i)) {
          EXPECT_EQ(local[i], own);
        }
      }
      EXPECT_EQ(strategy.read(parts), dealt);
    });
  }
}

TEST(ProcessCheckpoints, NameTheDifferentPaths) {
  testing::asserts("SEM-159");
  const TemporaryFolder folder;
  at_each_place(3, [&](int odd) {
    const auto texts = texts_on_hosts<InvalidArgumentError>([&](auto& strategy, auto& host) {
      Trained(strategy).files.save(folder / (host.group().rank() == odd ? "odd" : "usual"));
    });
    const int other = odd == 0 ? 1 : 0;
    EXPECT_THAT(texts, Each(AllOf(HasSubstr("odd in process " + std::to_string(odd)),
                                  HasSubstr("usual in process " + std::to_string(other)))));
    EXPECT_THAT(folder.names(), ::testing::IsEmpty());
  });
}

TEST(ProcessCheckpoints, TellEveryProcessThatTheFileFailed) {
  testing::asserts("SEM-159");
  const TemporaryFolder folder;
  const auto path = folder / "missing" / "weights";
  std::vector<std::string> saved(2);
  std::vector<std::string> restored(2);
  with_strategies([&](MultiWorkerMirroredStrategy& strategy, ProcessGroup& group) {
    const auto rank = static_cast<std::size_t>(group.rank());
    Trained trained(strategy);
    const auto text_of = [](const auto& use) -> std::string {
      try {
        use();
      } catch (const Error& error) {
        return std::string(to_string(error.code())) + error.what();
      }
      return "nothing was thrown";
    };
    saved[rank] = text_of([&] { trained.files.save(path); });
    restored[rank] = text_of([&] { trained.files.restore(path); });
    EXPECT_EQ(strategy.read(trained.seen), 0);
  });
  EXPECT_THAT(saved, Each(HasSubstr("missing")));
  EXPECT_THAT(saved[0], HasSubstr("BF-040"));
  EXPECT_THAT(saved[1], HasSubstr("BF-071"));
  EXPECT_THAT(restored, Each(HasSubstr("missing")));
  EXPECT_THAT(restored[1], HasSubstr("BF-071"));
}

}  // namespace
}  // namespace belfry::testing
