// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Data that differ between processes (SEM-185).
#include "belfry/belfry.h"
#include "belfry/testing/asserts.h"
#include "processes/hosts.h"
#include "suites/text_of_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace belfry::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

using Numbers = Dataset<int>;

constexpr DistributeOptions kDrop{.end_of_data = EndOfData::kDropPartialStep};

DistributeOptions parts(const ProcessGroup& group) {
  DistributeOptions options = kDrop;
  options.num_workers = group.size();
  options.worker = group.rank();
  return options;
}

Numbers with_elements(int third) {
  std::vector<int> elements(40, 1);
  elements.front() = third;
  return Numbers::from(elements);
}

Dataset<std::string> with_files(const std::string& folder, const std::string& name) {
  return Dataset<std::string>::from({folder + "/a.csv", folder + "/" + name, folder + "/z.csv"});
}

Numbers lengths(const Dataset<std::string>& files) {
  return files.zip(Numbers::range(40)).map([](const auto& pair) { return pair.second; });
}

// Two recipes, and words of each.
struct Difference {
  Numbers data;
  Numbers other;
  std::string words;
  std::string other_words;
};

std::vector<Difference> differences() {
  const Numbers all = Numbers::range(40);
  return {{all.shuffle(7), all.shuffle(8), "range(40).shuffle(7)", "range(40).shuffle(8)"},
          {all, Numbers::range(41), "range(40)", "range(41)"},
          {all.shard(1, 0), all.shard(3, 1), ".shard(1, 0)", ".shard(3, 1)"},
          {all, all.skip(1), "range(40).batch", ".skip(1)"},
          {all.take(30), all.take(31), ".take(30)", ".take(31)"},
          {all.repeat(2), all.repeat(3), ".repeat(2)", ".repeat(3)"},
          {all.shuffle(1), all.shuffle(1).epoch(1), ".shuffle(1).batch", ".epoch(1)"},
          {with_elements(5), with_elements(6), "from(40 elements, sample ", "; from(40 elements"},
          {lengths(with_files("/x", "b")), lengths(with_files("/x", "c")), "from(3 elements",
           "; from(3 elements"},
          {all.map([](int i) { return i; }), all.filter([](int) { return true; }), ".map(unseen)",
           ".filter(unseen)"},
          {all.named("rows of a.bin"), all.named("rows of b.bin"), "\"rows of a.bin\"",
           "\"rows of b.bin\""}};
}

TEST(DataOfProcesses, AreFoundToDifferAtTheFirstStep) {
  testing::asserts("SEM-185");
  for (const Difference& one : differences()) {
    for (int odd = 0; odd < 3; ++odd) {
      SCOPED_TRACE(one.other_words + " in process " + std::to_string(odd));
      const auto texts = texts_on_hosts<InvalidArgumentError>([&](auto& strategy, auto& host) {
        const Numbers& own = host.group().rank() == odd ? one.other : one.data;
        for (const auto& step : strategy.distribute_dataset(own.batch(12), kDrop)) {
          ADD_FAILURE() << step;
        }
      });
      EXPECT_THAT(texts, Each(AllOf(HasSubstr("BF-030"), HasSubstr(one.words),
                                    HasSubstr(one.other_words), HasSubstr("data_differ_test"),
                                    HasSubstr(" in process " + std::to_string(odd)))));
    }
  }
}

TEST(DataOfProcesses, SayHowToShuffleAndToShard) {
  testing::asserts("SEM-185");
  const auto text = [](const std::function<Numbers(int)>& data) {
    return texts_on_hosts<InvalidArgumentError>([&](auto& strategy, auto& host) {
             for (const auto& step :
                  strategy.distribute_dataset(data(host.group().rank()).batch(12), kDrop)) {
               ADD_FAILURE() << step;
             }
           })
        .front();
  };
  EXPECT_THAT(text([](int rank) { return Numbers::range(40).shuffle(7 + rank); }),
              HasSubstr("one seed in every process"));
  EXPECT_THAT(text([](int rank) { return Numbers::range(40).shard(3, rank); }),
              HasSubstr("hand over the whole dataset"));
}

// Functions of the program are unseen, and folders of files may differ.
TEST(DataOfProcesses, MayDifferInFunctionsAndFolders) {
  testing::asserts("SEM-185");
  on_hosts([&](MultiWorkerMirroredStrategy& strategy, sim::Host& host) {
    const int rank = host.group().rank();
    const auto own = Numbers::range(12).map([rank](int i) { return i + rank; });
    const auto files = lengths(with_files("/data" + std::to_string(rank), "b.csv"));
    int steps = 0;
    for (const auto& data : {own, files}) {
      for (const auto& step : strategy.distribute_dataset(data.batch(6).take(2), kDrop)) {
        EXPECT_EQ(*strategy
                       .run([](ReplicaContext& replica,
                               const auto&) { return replica.all_reduce(ReduceOp::kSum, 1); },
                            step)
                       .begin(),
                  6);
        ++steps;
      }
    }
    EXPECT_EQ(steps, 2);  // Of 12 numbers; 3 files are fewer than a step.
  });
}

// Three processes with a device each.
std::vector<std::string> texts_of_three(
    const std::function<void(MultiWorkerMirroredStrategy&, ProcessGroup&)>& body) {
  std::vector<std::string> texts(3);
  sim::Cluster cluster{{.hosts = 3}};
  cluster.run([&](sim::Host& host) {
    MultiWorkerMirroredStrategy strategy{host.backend(), host.group()};
    std::string& text = texts[static_cast<std::size_t>(host.group().rank())];
    text = text_of_error<InvalidArgumentError>([&] { body(strategy, host.group()); });
    EXPECT_EQ(sum_of_ones(strategy), 3);
  });
  return texts;
}

TEST(DataOfProcesses, AreOtherPartsInEachProcess) {
  testing::asserts("SEM-185");
  // The process with number `odd` takes the part of the next process.
  for (int odd = 0; odd < 3; ++odd) {
    const auto texts = texts_of_three([&](auto& strategy, ProcessGroup& group) {
      const int part = (group.rank() + (group.rank() == odd ? 1 : 0)) % 3;
      for (const auto& step :
           strategy.distribute_dataset(Numbers::range(12).shard(3, part).batch(3), parts(group))) {
        ADD_FAILURE() << step;
      }
    });
    const int next = (odd + 1) % 3;
    const std::string both = "processes " + std::to_string(std::min(odd, next)) + " and " +
                             std::to_string(std::max(odd, next));
    EXPECT_THAT(texts, Each(AllOf(HasSubstr(both), HasSubstr("shard(3, " + std::to_string(next)))));
  }
}

// A file for each pipeline but `odd`: without an error, a loop without steps.
TEST(DataOfProcesses, AreMissedWhereThePolicyDropsEveryStep) {
  testing::asserts("SEM-185");
  for (int odd = 0; odd < 3; ++odd) {
    const auto texts = texts_of_three([&](auto& strategy, ProcessGroup&) {
      const auto read = [&](const InputContext& context) {
        return Numbers::range(context.input_pipeline_id == odd ? 0 : 8).batch(2);
      };
      for (const auto& step : strategy.distribute_datasets_from_function(read, kDrop)) {
        ADD_FAILURE() << step;
      }
    });
    EXPECT_THAT(texts, Each(AllOf(HasSubstr("process " + std::to_string(odd) + " has no data"),
                                  HasSubstr("as many files as processes"))));
  }
}

TEST(DataOfProcesses, MayEndBeforeTheFirstStepOfALoopThatGoesOn) {
  testing::asserts("SEM-185");
  std::vector<int> steps(3);
  const auto texts = texts_of_three([&](auto& strategy, ProcessGroup& group) {
    const auto read = [&](const InputContext& context) {
      return Numbers::range(4 + 2 * context.input_pipeline_id).batch(2).skip(2);
    };
    for (const auto& step : strategy.distribute_datasets_from_function(read, kDrop)) {
      static_cast<void>(step);
      steps[static_cast<std::size_t>(group.rank())] += 1;
    }
  });
  EXPECT_THAT(texts, Each("nothing was thrown"));
  EXPECT_THAT(steps, Each(0));
}

TEST(DataOfProcesses, AreReadInStep) {
  testing::asserts("SEM-185");
  for (int odd = 0; odd < 3; ++odd) {
    const auto texts = texts_of_three([&](auto& strategy, ProcessGroup& group) {
      const auto data = strategy.distribute_dataset(Numbers::range(12).batch(3), kDrop);
      for (int loop = 0; loop < 2; ++loop) {
        int steps = 0;
        for (const auto& step : data) {
          static_cast<void>(step);
          // The odd process begins the second loop.
          if (++steps == 2 && group.rank() == odd) break;
        }
      }
    });
    EXPECT_THAT(texts, Each(AllOf(HasSubstr("different steps"), HasSubstr("step 0 in process"),
                                  HasSubstr("step 2 in process"))));
  }
}

TEST(DataOfProcesses, AreReadAheadByAnyNumberOfSteps) {
  testing::asserts("SEM-97");
  using Shares = std::vector<std::vector<std::vector<int>>>;  // By replica and step.
  for (const EndOfData end :
       {EndOfData::kDropPartialStep, EndOfData::kPadWithEmpties, EndOfData::kMaskReplicas}) {
    const auto shares_of = [&](const std::vector<int>& prefetch) {
      Shares shares(6);
      on_hosts([&](MultiWorkerMirroredStrategy& strategy, sim::Host& host) {
        DistributeOptions options{.end_of_data = end};
        options.prefetch = prefetch[static_cast<std::size_t>(host.group().rank())];
        // 4 steps of 6, and 2 numbers in the last.
        const auto data = Numbers::range(26).map([](int i) { return Tensor<int>::full({}, i); });
        for (const auto& step : strategy.distribute_dataset(data.batch(6), options)) {
          const int sum = sum_of_ones(strategy);  // A call between the steps.
          for (int id = 0; id < step.size(); ++id) {
            if (!step.has(id)) continue;
            EXPECT_EQ(step[id].placement().device, id - (id < 2 ? 0 : id < 3 ? 2 : 3));
            shares[static_cast<std::size_t>(id)].push_back(step[id].to_host());
          }
          EXPECT_EQ(sum, 6);
        }
      });
      return shares;
    };
    const Shares usual = shares_of({0, 0, 0});
    const std::size_t steps = end == EndOfData::kDropPartialStep ? 4 : 5;
    EXPECT_THAT(usual[0], ::testing::SizeIs(steps));
    EXPECT_THAT(usual[1].back(), ::testing::ElementsAre(steps == 4 ? 19 : 25));
    for (int odd = 0; odd < 3; ++odd) {
      std::vector<int> prefetch(3, 1);
      prefetch[static_cast<std::size_t>(odd)] = odd == 1 ? 0 : 7;
      EXPECT_EQ(shares_of(prefetch), usual);
    }
  }
}

}  // namespace
}  // namespace belfry::testing
