// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Datasets of strategies over several processes.
#include "belfry/belfry.h"
#include "belfry/sim/backend.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/each_place.h"
#include "belfry/testing/thread_group.h"
#include "processes/two_processes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <numeric>
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
using ::testing::IsEmpty;

using Batch = std::vector<int>;
/// The shares of each replica of all processes, step after step.
using Shares = std::vector<std::vector<Batch>>;

template <class Steps>
void append(Shares& shares, const Steps& steps) {
  for (const PerReplica<Batch>& step : steps) {
    for (int replica = 0; replica < step.size(); ++replica) {
      if (step.has(replica)) shares[static_cast<std::size_t>(replica)].push_back(step[replica]);
    }
  }
}

// The numbers from `first` to `last` - 1.
Dataset<int> between(int first, int last) {
  return Dataset<int>::range(last - first).map([first](int i) { return first + i; });
}

Dataset<Batch> numbers(int size, int batch, bool knows_size) {
  const auto batches = Dataset<int>::range(size).batch(batch);
  if (knows_size) return batches;
  return batches.map([](const Batch& same) { return same; });
}

RC_GTEST_PROP(ProcessDatasets, ShareOutAsOneStrategyWithAllReplicas, ()) {
  testing::asserts("SEM-185");
  std::vector<int> devices(static_cast<std::size_t>(*rc::gen::inRange(1, 5)));
  for (int& count : devices) count = *rc::gen::inRange(1, 4);
  const int replicas = std::accumulate(devices.begin(), devices.end(), 0);
  const int size = *rc::gen::inRange(0, 60);
  const int batch = *rc::gen::inRange(replicas, 3 * replicas + 1);
  const bool knows_size = *rc::gen::arbitrary<bool>();
  const DistributeOptions options{
      .end_of_data = *rc::gen::element(EndOfData::kDropPartialStep, EndOfData::kPadWithEmpties,
                                       EndOfData::kMaskReplicas),
      .prefetch = *rc::gen::inRange(0, 3),
      .split = *rc::gen::element(BatchSplit::kEvenSizes, BatchSplit::kEachBatch)};

  const auto shares_of = [&](Strategy& strategy, Shares& shares) {
    append(shares, strategy.distribute_dataset(numbers(size, batch, knows_size), options));
  };
  Shares expected(static_cast<std::size_t>(replicas));
  std::string refusal;
  try {
    sim::Backend backend{{.devices = replicas}};
    MirroredStrategy alone{backend};
    shares_of(alone, expected);
  } catch (const Error& error) {
    refusal = to_string(error.code());
  }
  Shares found(static_cast<std::size_t>(replicas));
  std::vector<std::string> refusals(devices.size());
  run_processes(static_cast<int>(devices.size()), [&](ProcessGroup& group) {
    const auto rank = static_cast<std::size_t>(group.rank());
    sim::Backend backend{{.devices = devices[rank]}};
    MultiWorkerMirroredStrategy strategy{backend, group};
    try {
      shares_of(strategy, found);
    } catch (const Error& error) {
      refusals[rank] = to_string(error.code());
    }
  });
  // A batch that cannot be shared out is an error of each process, or of another process.
  RC_ASSERT(refusals.front() == refusal);
  for (const std::string& other : refusals) RC_ASSERT(other.empty() == refusal.empty());
  RC_ASSERT(found == expected);
}

TEST(ProcessDatasets, LetEachReplicaTakeTheNextElement) {
  testing::asserts("SEM-185");
  Shares shares(4);
  with_strategies([&](MultiWorkerMirroredStrategy& strategy, ProcessGroup&) {
    append(shares, strategy.distribute_dataset(numbers(18, 2, true),
                                               {.end_of_data = EndOfData::kDropPartialStep,
                                                .elements = ElementUse::kPerReplica}));
  });
  // Two steps of four batches; the ninth batch is dropped.
  EXPECT_THAT(shares[1], ElementsAre(Batch{2, 3}, Batch{10, 11}));
  EXPECT_THAT(shares[2], ElementsAre(Batch{4, 5}, Batch{12, 13}));
}

TEST(ProcessDatasets, OfFunctionsAreMadeForEachProcess) {
  testing::asserts("SEM-185");
  at_each_place(2, [](int odd) {
    std::vector<std::string> contexts(2);
    Shares shares(4);
    with_strategies([&](MultiWorkerMirroredStrategy& strategy, ProcessGroup& group) {
      const auto make = [&](const InputContext& context) {
        contexts[static_cast<std::size_t>(group.rank())] = to_string(context);
        // The odd process has 5 batches, the other has 3.
        return group.rank() == odd ? between(100, 105).batch(1) : between(0, 3).batch(1);
      };
      append(shares, strategy.distribute_datasets_from_function(
                         make, {.end_of_data = EndOfData::kPadWithEmpties}));
    });
    EXPECT_THAT(contexts, ElementsAre("input pipeline 0 of 2, 4 replicas in sync",
                                      "input pipeline 1 of 2, 4 replicas in sync"));
    // The odd process has a third step: the other takes the step with empty batches.
    const auto of_odd = shares.begin() + 2 * odd, of_other = shares.begin() + 2 * (1 - odd);
    EXPECT_THAT(of_other[0], ElementsAre(Batch{0}, Batch{2}, Batch{}));
    EXPECT_THAT(of_other[1], ElementsAre(Batch{1}, Batch{}, Batch{}));
    EXPECT_THAT(of_odd[0], ElementsAre(Batch{100}, Batch{102}, Batch{104}));
    EXPECT_THAT(of_odd[1], ElementsAre(Batch{101}, Batch{103}, Batch{}));
  });
}

TEST(ProcessDatasets, DropTheStepThatIsPartialInAnyProcess) {
  testing::asserts("SEM-185");
  at_each_place(2, [](int odd) {
    Shares shares(4);
    with_strategies([&](MultiWorkerMirroredStrategy& strategy, ProcessGroup& group) {
      const auto make = [&](const InputContext&) {
        return Dataset<int>::range(group.rank() == odd ? 3 : 5).batch(1);
      };
      append(shares, strategy.distribute_datasets_from_function(
                         make, {.end_of_data = EndOfData::kDropPartialStep}));
    });
    EXPECT_THAT(shares, Each(::testing::SizeIs(1)));
  });
}

TEST(ProcessDatasets, NameAProcessWithoutAnyBatch) {
  testing::asserts("SEM-185");
  at_each_place(2, [](int odd) {
    const auto texts = texts_of<InvalidArgumentError>([&](auto& strategy, ProcessGroup& group) {
      const auto make = [&](const InputContext&) {
        return Dataset<int>::range(group.rank() == odd ? 0 : 3).batch(1);
      };
      for (const auto& step : strategy.distribute_datasets_from_function(
               make, {.end_of_data = EndOfData::kPadWithEmpties})) {
        ADD_FAILURE() << step;
      }
    });
    EXPECT_THAT(texts, Each(HasSubstr("process " + std::to_string(odd) + " has no batch")));
  });
}

TEST(ProcessDatasets, ReadPartsOfTheirOwnOnRequest) {
  testing::asserts("SEM-185");
  Shares shares(4);
  with_strategies([&](MultiWorkerMirroredStrategy& strategy, ProcessGroup& group) {
    // Each process has half of the numbers; a global batch has 4 elements, 2 of each process.
    const auto half = between(4 * group.rank(), 4 * group.rank() + 4).batch(4);
    append(shares, strategy.distribute_dataset(half, {.end_of_data = EndOfData::kDropPartialStep,
                                                      .num_workers = group.size(),
                                                      .worker = group.rank()}));
  });
  EXPECT_THAT(shares,
              ElementsAre(ElementsAre(Batch{0}, Batch{2}), ElementsAre(Batch{1}, Batch{3}),
                          ElementsAre(Batch{4}, Batch{6}), ElementsAre(Batch{5}, Batch{7})));
}

TEST(ProcessDatasets, RefuseOtherWorkersThanTheProcesses) {
  testing::asserts("SEM-185");
  const auto texts = texts_of<InvalidArgumentError>([](auto& strategy, ProcessGroup&) {
    strategy.distribute_dataset(
        numbers(8, 4, true),
        {.end_of_data = EndOfData::kDropPartialStep, .num_workers = 3, .worker = 2});
  });
  EXPECT_THAT(texts, Each(AllOf(HasSubstr("worker 2 of 3"), HasSubstr("group.rank()"))));
}

TEST(ProcessDatasets, AreTheSameInEveryProcess) {
  testing::asserts("SEM-185");
  at_each_place(2, [](int odd) {
    const auto texts = texts_of<InvalidArgumentError>([&](auto& strategy, ProcessGroup& group) {
      const auto data = strategy.distribute_dataset(numbers(40, group.rank() == odd ? 8 : 4, true),
                                                    {.end_of_data = EndOfData::kDropPartialStep});
      for (const auto& step : data) ADD_FAILURE() << step;
    });
    EXPECT_THAT(texts, Each(AllOf(HasSubstr("batches of 4 in process " + std::to_string(1 - odd)),
                                  HasSubstr("batches of 8 in process " + std::to_string(odd)))));
  });
}

TEST(ProcessDatasets, EndTheStepOfAllIfReadingFails) {
  testing::asserts("SEM-185");
  for (const auto& [prefetch, odd] : {std::pair(0, 0), {0, 1}, {2, 0}, {2, 1}}) {
    std::vector<int> steps(2);
    std::vector<std::string> texts(2);
    with_strategies([&](MultiWorkerMirroredStrategy& strategy, ProcessGroup& group) {
      const auto rank = static_cast<std::size_t>(group.rank());
      const auto data = Dataset<int>::range(12).map([&](int element) {
        if (element == 6 && group.rank() == odd) throw std::runtime_error("a broken file");
        return element;
      });
      try {
        for (const auto& step : strategy.distribute_dataset(
                 data.batch(4),
                 {.end_of_data = EndOfData::kDropPartialStep, .prefetch = prefetch})) {
          ++steps[rank];
          EXPECT_EQ(*strategy
                         .run(
                             [](ReplicaContext& replica, const Batch& batch) {
                               return replica.all_reduce(ReduceOp::kSum, batch.front());
                             },
                             step)
                         .begin(),
                    6);  // 0 + 1 + 2 + 3.
        }
      } catch (const PeerFailedError& error) {
        texts[rank] = error.what();
      } catch (const std::runtime_error& error) {
        texts[rank] = error.what();
      }
      EXPECT_EQ(strategy.read(strategy.mirrored_variable(3)), 3);  // The group is level.
    });
    EXPECT_THAT(steps, Each(1));
    EXPECT_THAT(texts[static_cast<std::size_t>(1 - odd)],
                AllOf(HasSubstr("process " + std::to_string(odd)), HasSubstr("a broken file")));
    EXPECT_EQ(texts[static_cast<std::size_t>(odd)], "a broken file");
  }
}

}  // namespace
}  // namespace belfry::testing
