// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Changes of all components, files and maps in runs to which a process listens, over three hosts
// with the replicas 0 and 1, 2, and 3 to 5. Outcomes are worked out by hand, for each process that
// listens.
#include "belfry/belfry.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/each_place.h"
#include "processes/hosts.h"
#include "processes/listeners.h"
#include "words/temporary_folder_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace belfry::testing::listening_changes {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The component of replica r is 10 + r on every host.
ReplicaLocalVariable<double> numbered(Strategy& strategy, ReduceOp op = ReduceOp::kSum) {
  auto local = strategy.replica_local_variable(op, 0.0);
  strategy.run(
      [&](ReplicaContext& replica) { replica.assign(local, 10.0 + replica.replica_id()); });
  return local;
}

template <class V>
auto components(Strategy& strategy, const V& variable) {
  return elements_of(strategy.local_values(variable));
}

TEST(ListeningChanges, AssignTotalSharesOutOverAllReplicas) {
  testing::asserts("SEM-234");
  for (const int listener : {0, 1, 2}) {
    on_hosts([&](MultiWorkerMirroredStrategy& strategy, sim::Host& host) {
      const auto first = numbered(strategy);
      const auto divided = strategy.replica_local_variable(ReduceOp::kSum, 0);
      merge_without(listener, strategy, [&](CrossReplicaContext& cross) {
        cross.assign_total(first, 9);
        cross.assign_total(divided, 20, SumSplit::kDivide);
      });
      const int rank = host.group().rank();
      EXPECT_EQ(components(strategy, first), part_of(rank, std::vector<double>{9, 0, 0, 0, 0, 0}));
      // 20 is 6 * 3 + 2: the first two components get one more.
      EXPECT_EQ(components(strategy, divided), part_of(rank, std::vector<int>{4, 4, 3, 3, 3, 3}));
      EXPECT_EQ(strategy.read(divided), 20);
    });
  }
}

TEST(ListeningChanges, UpdateChangesEveryComponentOfAReplicaLocalVariable) {
  testing::asserts("SEM-234");
  for (const int listener : {0, 1, 2}) {
    std::atomic<int> calls{0};
    on_hosts([&](MultiWorkerMirroredStrategy& strategy, sim::Host& host) {
      const auto number = numbered(strategy);
      const auto rows = strategy.replica_local_variable(
          ReduceOp::kSum, [] { return Tensor<double>::full({1}, 3); });
      const auto factor = strategy.mirrored_variable(4.0);
      merge_without(listener, strategy, [&](CrossReplicaContext& cross) {
        const auto returned = cross.update(
            number,
            [&](double& own, double by, double mirrored) {
              ++calls;
              own = own * by + mirrored;
              return by;
            },
            cross.broadcast(2.0), factor);
        EXPECT_EQ(returned.value(), 2);
        const std::vector<double> each = cross.update_each(rows, [](Tensor<double>& own) {
          own = own * 5;
          return own.item();
        });
        EXPECT_THAT(each, Each(15));
        EXPECT_EQ(static_cast<int>(each.size()), strategy.backend().device_count());
      });
      // 2 * (10 + r) + 4.
      EXPECT_EQ(components(strategy, number),
                part_of(host.group().rank(), std::vector<double>{24, 26, 28, 30, 32, 34}));
      for (const Tensor<double>& own : strategy.local_values(rows)) EXPECT_EQ(own.item(), 15);
    });
    EXPECT_EQ(calls, 6);  // Once for each component, also for those of the listening process.
  }
}

TEST(ListeningChanges, AnUpdateThatThrowsForAComponentOfAListenerChangesNothing) {
  testing::asserts("SEM-234");
  // The lowest process of the run has the components of the listening process of replica `odd`.
  at_each_place(6, [](int odd) {
    const int listener = process_of(odd);
    const int speaker = listener == 0 ? 1 : 0;
    std::vector<std::string> texts(3);
    on_hosts([&](MultiWorkerMirroredStrategy& strategy, sim::Host& host) {
      const auto number = numbered(strategy);
      std::string& text = texts[static_cast<std::size_t>(host.group().rank())];
      try {
        merge_without(listener, strategy, [&](CrossReplicaContext& cross) {
          cross.update(number, [&](double& own) {
            if (own == 10 + odd) throw std::runtime_error("not this");
            own = 0;
          });
        });
      } catch (const std::exception& error) {
        text = error.what();
      }
      EXPECT_EQ(components(strategy, number),
                part_of(host.group().rank(), std::vector<double>{10, 11, 12, 13, 14, 15}));
    });
    const std::string failed = "process " + std::to_string(speaker) + " failed: ";
    for (int rank = 0; rank < 3; ++rank) {
      const std::string& text = texts[static_cast<std::size_t>(rank)];
      EXPECT_THAT(text, HasSubstr(rank == speaker ? "not this" : "BF-071"));
      EXPECT_THAT(text, HasSubstr(rank == speaker ? "" : failed + "std::runtime_error \"not this"));
    }
  });
}

struct Scaled {
  double combine(double folded, double next) const { return folded + next; }
  double finalize(double folded, int) const { return folded; }
  double on_restore(double saved, int component, int components) const {
    return saved * 100 + 10 * component + components;
  }
};

TEST(ListeningChanges, CheckpointsAreSavedAndRestoredInMerges) {
  testing::asserts("SEM-234");
  const TemporaryFolder folder;
  for (const int listener : {0, 1, 2}) {
    const auto path = folder / ("from" + std::to_string(listener));
    on_hosts([&](MultiWorkerMirroredStrategy& strategy, sim::Host& host) {
      const auto weight = strategy.mirrored_variable([] { return Tensor<float>::full({2}, 4); },
                                                     {.name = "weight"});
      const auto step = strategy.mirrored_variable(3, {.name = "step"});
      const auto count = strategy.replica_local_variable(ReduceOp::kSum, 2, {.name = "count"});
      const auto mean = strategy.replica_local_variable(ReduceOp::kMean, 5.0, {.name = "mean"});
      const auto own = strategy.replica_local_variable(Scaled(), 1.0, {.name = "own"});
      Checkpoint checkpoint(strategy);
      checkpoint.add(weight).add(step).add(count).add(mean).add(own);
      merge_without(listener, strategy, [&](CrossReplicaContext& cross) {
        checkpoint.save(path);
        EXPECT_TRUE(std::filesystem::exists(path));
        cross.update(weight, [](Tensor<float>& one) { one = one + 1; });
        cross.update(step, [](int& one) { one = 9; });
        cross.assign_each(count, 7);
        cross.assign_each(mean, 8);
        cross.assign_each(own, 9);
        checkpoint.restore(path, {.sums = SumSplit::kDivide});
      });
      const int rank = host.group().rank();
      EXPECT_THAT(strategy.read(weight).to_host(), ElementsAre(4, 4));
      for (const auto& one : strategy.local_values(weight)) EXPECT_THAT(one.to_host(), Each(4));
      EXPECT_EQ(components(strategy, step), part_of(rank, std::vector<int>(6, 3)));
      EXPECT_EQ(components(strategy, count), part_of(rank, std::vector<int>(6, 2)));  // 12 in all.
      EXPECT_EQ(components(strategy, mean), part_of(rank, std::vector<double>(6, 5)));
      // The sum of the components was 6.
      EXPECT_EQ(components(strategy, own),
                part_of(rank, std::vector<double>{606, 616, 626, 636, 646, 656}));
    });
    const TensorFile file = TensorFile::read(path);
    EXPECT_EQ(to_string(file),
              "count int32[], mean float64[], own float64[], step int32[], weight float32[2]");
  }
}

TEST(ListeningChanges, ContentsAreRestoredInMerges) {
  testing::asserts("SEM-234");
  for (const int listener : {0, 1, 2}) {
    on_hosts([&](MultiWorkerMirroredStrategy& strategy, sim::Host&) {
      const auto weight = strategy.mirrored_variable(4.0, {.name = "weight"});
      const auto count = strategy.replica_local_variable(ReduceOp::kSum, 2, {.name = "count"});
      Checkpoint checkpoint(strategy);
      checkpoint.add(weight).add(count);
      merge_without(listener, strategy, [&](CrossReplicaContext& cross) {
        const TensorFile kept = checkpoint.contents();
        cross.update(weight, [](double& one) { one = 0; });
        cross.assign_total(count, 0);
        checkpoint.restore(kept);
      });
      EXPECT_EQ(strategy.read(weight), 4);
      EXPECT_EQ(strategy.read(count), 12);
    });
  }
}

TEST(ListeningChanges, DifferentPathsTouchNoFile) {
  testing::asserts("SEM-234");
  const TemporaryFolder folder;
  // Process `odd` takes part, and has a different path.
  at_each_place(6, [&](int place) {
    const int listener = place / 2;
    const int odd = (listener + 1 + place % 2) % 3;
    on_hosts([&](MultiWorkerMirroredStrategy& strategy, sim::Host& host) {
      Checkpoint checkpoint(strategy);
      const auto path = folder / (host.group().rank() == odd ? "odd" : "usual");
      merge_without(listener, strategy, [&](CrossReplicaContext&) {
        EXPECT_THROW(checkpoint.save(path), InvalidArgumentError);
        EXPECT_THROW(checkpoint.restore(path), InvalidArgumentError);
      });
    });
  });
  EXPECT_TRUE(std::filesystem::is_empty(folder / "."));
}

TEST(ListeningChanges, AFailedFileFailsTheRunInEveryProcess) {
  testing::asserts("SEM-234");
  const TemporaryFolder folder;
  for (const int listener : {0, 1, 2}) {
    on_hosts([&](MultiWorkerMirroredStrategy& strategy, sim::Host& host) {
      const auto weight = strategy.mirrored_variable(4.0, {.name = "weight"});
      Checkpoint checkpoint(strategy);
      checkpoint.add(weight);
      const auto merge = [&](CrossReplicaContext&) {
        checkpoint.save(folder / "none" / "weights");
      };
      if (host.group().rank() == 0) {
        EXPECT_THROW(merge_without(listener, strategy, merge), InvalidArgumentError);
      } else {
        EXPECT_THROW(merge_without(listener, strategy, merge), PeerFailedError);
      }
    });
  }
}

TEST(ListeningChanges, MapDealsTheElementsToTheOtherProcesses) {
  testing::asserts("SEM-235");
  for (const int listener : {0, 1, 2}) {
    std::vector<std::vector<int>> lists(6);
    on_hosts([&](MultiWorkerMirroredStrategy& strategy, sim::Host&) {
      const auto mapped = strategy.run(
          [](ReplicaContext& replica, double) {
            return replica.merge_call([](CrossReplicaContext& cross) {
              return cross.map(std::vector<int>{0, 1, 2, 3, 4, 5, 6}, [](int k) { return 10 * k; });
            });
          },
          values_without(listener));
      for (int id = 0; id < 6; ++id) {
        if (mapped.has(id)) lists[static_cast<std::size_t>(id)] = mapped[id];
      }
    });
    using Lists = std::vector<std::vector<int>>;
    const Lists without[] = {{{}, {}, {0, 40}, {10, 50}, {20, 60}, {30}},
                             {{0, 50}, {10, 60}, {}, {20}, {30}, {40}},
                             {{0, 30, 60}, {10, 40}, {20, 50}, {}, {}, {}}};
    EXPECT_EQ(lists, without[listener]);
  }
}

TEST(ListeningChanges, MapDealsToReplicasThatTakeNoPart) {
  testing::asserts("SEM-235");
  std::vector<int> counts(3);
  on_hosts([&](MultiWorkerMirroredStrategy& strategy, sim::Host& host) {
    // Process 1 listens; of process 2 replica 3 alone takes part.
    const auto values =
        PerReplica<double>::from({1.0, 2.0, std::nullopt, 4.0, std::nullopt, std::nullopt});
    strategy.run(
        [&](ReplicaContext& replica, double) {
          replica.merge_call([&](CrossReplicaContext& cross) {
            cross.map(std::vector<int>(10, 1), [&](int one) {
              counts[static_cast<std::size_t>(host.group().rank())] += one;
              return one;
            });
          });
        },
        values);
  });
  EXPECT_THAT(counts, ElementsAre(4, 0, 6));  // Two elements for each of the five replicas.
}

}  // namespace
}  // namespace belfry::testing::listening_changes
