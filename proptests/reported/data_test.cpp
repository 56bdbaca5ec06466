// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Reports about data, and about metrics over uneven shares.
#include "belfry/checkpoint.h"
#include "belfry/dataset.h"
#include "belfry/distributed_dataset.h"
#include "belfry/files/csv.h"
#include "belfry/tensor_file.h"
#include "belfry/tensor_ops.h"
#include "reported.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace belfry::reported_test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Ints = std::vector<int>;

Ints zero_to(int end) {
  Ints all(static_cast<std::size_t>(end));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

double sum_of(const auto& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

// All elements of all steps, by step and replica.
template <class Steps>
Ints elements_of(const Steps& steps) {
  Ints all;
  for (const auto& step : steps) {
    for (const Ints& share : step) all.insert(all.end(), share.begin(), share.end());
  }
  return all;
}

// 10 examples in batches of 4, answers to 3 of which are wrong. No example is counted twice, and
// their order stays.
TEST_P(Reported, ExamplesOfUnevenSharesAreCountedOnce) {
  for (const EndOfData policy : {EndOfData::kPadWithEmpties, EndOfData::kMaskReplicas}) {
    for (const BatchSplit split : {BatchSplit::kEvenSizes, BatchSplit::kEachBatch}) {
      const auto right = strategy_.replica_local_variable(ReduceOp::kSum, 0);
      const auto seen = strategy_.replica_local_variable(ReduceOp::kSum, 0);
      Ints order;
      for (const auto& step : strategy_.distribute_dataset(
               Dataset<int>::range(10).batch(4), {.end_of_data = policy, .split = split})) {
        const auto shares = strategy_.run(
            [&](ReplicaContext& replica, const Ints& share) {
              for (const int i : share) {
                seen.on(replica) += 1;
                if (i != 0 && i != 5 && i != 9) right.on(replica) += 1;
              }
              return share;
            },
            step);
        const Ints all = strategy_.cross_replica().gather(shares);
        order.insert(order.end(), all.begin(), all.end());
      }
      EXPECT_EQ(order, zero_to(10));
      EXPECT_EQ(strategy_.read(right), 7);
      EXPECT_EQ(strategy_.read(seen), 10);
    }
  }
}

// Sums of 6, 12 and 18 with the weights 3, 4 and 5: 36 / 12. No mean of whole numbers is taken in
// silence: the mean of the weights.
TEST_P(Reported, MetricsWithIntegerWeightsAreSums) {
  const auto own = [](const ReplicaContext& replica) {
    return std::pair(6.0 * (1 + replica.replica_id()), 3 + replica.replica_id());
  };
  EXPECT_THAT(
      error_of([&](ReplicaContext& replica) { replica.all_reduce(ReduceOp::kMean, own(replica)); }),
      HasSubstr("BF-035"));
  const auto metric = strategy_.run([&](ReplicaContext& replica) {
    const auto [sum, weight] = replica.all_reduce(ReduceOp::kSum, own(replica));
    return sum / weight;
  });
  EXPECT_THAT(metric, Each(3));
}

// The last step of 1, 2, 3, 4 and 10 has an example for replica 0 alone. The mean over examples is
// 4. The mean of the means of replicas is NaN, and no number that looks right.
TEST_P(Reported, AMeanOverExamplesIsNoMeanOfMeans) {
  sim::Backend backend{on(2)};
  MirroredStrategy strategy{backend};
  double sum = 0, count = 0, of_means = 0;
  for (const auto& step :
       strategy.distribute_dataset(Dataset<double>::from({1, 2, 3, 4, 10}).batch(4),
                                   {.end_of_data = EndOfData::kPadWithEmpties})) {
    const auto got = strategy.run(
        [](ReplicaContext& replica, const std::vector<double>& share) {
          const std::pair own(sum_of(share), static_cast<double>(share.size()));
          const auto [all, examples] = replica.all_reduce(ReduceOp::kSum, own);
          return std::vector{all, examples,
                             replica.all_reduce(ReduceOp::kMean, own.first / own.second)};
        },
        step);
    sum += got[0][0];
    count += got[0][1];
    of_means += got[0][2];
  }
  EXPECT_EQ(sum / count, 4);
  EXPECT_TRUE(std::isnan(of_means));
}

// A stream is read by one reader, not anew by each replica.
TEST_P(Reported, AStreamIsReadOnceForAllReplicas) {
  int started = 0;
  const auto stream = Dataset<int>::from_generator([&] {
    ++started;
    return [i = 0]() mutable { return i < 10 ? std::optional(i++) : std::nullopt; };
  });
  const DistributeOptions options{.end_of_data = EndOfData::kMaskReplicas};
  EXPECT_EQ(elements_of(strategy_.distribute_dataset(stream.batch(4), options)), zero_to(10));
  EXPECT_EQ(started, 1);
  const auto of_function = strategy_.distribute_datasets_from_function(
      [&](const InputContext& context) {
        return stream.shard(context.num_input_pipelines, context.input_pipeline_id)
            .batch(context.get_per_replica_batch_size(6));
      },
      options);
  EXPECT_EQ(elements_of(of_function), zero_to(10));
  EXPECT_EQ(started, 2);
}

// A loop over epochs gets another order by epoch(k), the same for all readers of epoch k.
TEST_P(Reported, EpochsHaveOrdersOfTheirOwn) {
  const auto shuffled = Dataset<int>::range(22).shuffle(5);
  const auto order = [&](const Dataset<int>& data) {
    return elements_of(
        strategy_.distribute_dataset(data.batch(5), {.end_of_data = EndOfData::kPadWithEmpties}));
  };
  Ints first = order(shuffled.epoch(0)), second = order(shuffled.epoch(1));
  EXPECT_NE(first, second);
  EXPECT_EQ(second, order(shuffled.epoch(1)));
  EXPECT_EQ(order(shuffled), order(shuffled));
  std::ranges::sort(second);
  EXPECT_EQ(second, zero_to(22));
  Ints shards;
  for (const int worker : {0, 1, 2}) {
    for (const int i : shuffled.shard(3, worker)) shards.push_back(i);
  }
  std::ranges::sort(shards);
  EXPECT_EQ(shards, zero_to(22));
}

TEST_P(Reported, ABatchThatDoesNotDivideIsSharedOutOrRefused) {
  std::vector<std::size_t> sizes;
  for (const auto& step : strategy_.distribute_dataset(
           Dataset<int>::range(32).batch(32), {.end_of_data = EndOfData::kDropPartialStep})) {
    for (const Ints& share : step) sizes.push_back(share.size());
  }
  EXPECT_THAT(sizes, ElementsAre(11, 11, 10));
  const auto divided = [](const InputContext& context) {
    return Dataset<int>::range(8).batch(context.get_per_replica_batch_size(7));
  };
  EXPECT_THAT(belfry::testing::text_of_error<Error>([&] {
                strategy_.distribute_datasets_from_function(
                    divided, {.end_of_data = EndOfData::kDropPartialStep});
              }),
              AllOf(HasSubstr("BF-030"), HasSubstr("7"), HasSubstr("3 replicas")));
}

// Element 7 cannot be read. The steps 0 1 2 and 3 4 5 come first, also if the dataset reads ahead;
// a later loop reads all.
TEST_P(Reported, AnErrorWhileReadingAheadComesAtItsStep) {
  for (const int prefetch : {0, 1, 3}) {
    bool is_broken = true;
    const auto steps = strategy_.distribute_dataset(
        Dataset<int>::range(10)
            .map([&](int i) {
              return is_broken && i == 7 ? throw std::runtime_error("record 7") : i;
            })
            .batch(3),
        {.end_of_data = EndOfData::kMaskReplicas, .prefetch = prefetch});
    double sum = 0;
    const auto train = [&] {
      for (const auto& step : steps) {
        sum += strategy_
                   .run(
                       [](ReplicaContext& replica, const Ints& share) {
                         return replica.all_reduce(ReduceOp::kSum, sum_of(share));
                       },
                       step)
                   .begin()[0];
      }
    };
    EXPECT_THROW(train(), std::runtime_error);
    EXPECT_EQ(sum, 15);
    is_broken = false;
    sum = 0;
    train();
    EXPECT_EQ(sum, 45);
  }
}

// Seven rows below a header, shared by three workers with two replicas each.
TEST_P(Reported, RowsOfATableGoToOneWorkerEach) {
  std::istringstream file("x,y\n1,10\n2,20\n3,30\n4,40\n5,50\n6,60\n7,70\n");
  const CsvTable table = parse_csv(file, "table.csv", {.has_header = true});
  const auto rows = table.numbers_of<double>("y").elements<double>();
  std::vector<double> seen;
  for (const int worker : {0, 1, 2}) {
    sim::Backend backend{on(2)};
    MirroredStrategy strategy{backend};
    for (const auto& step : strategy.distribute_dataset(
             rows.shard(3, worker).batch(6),
             {.end_of_data = EndOfData::kMaskReplicas, .num_workers = 3, .worker = worker})) {
      for (const auto& share : step) seen.insert(seen.end(), share.begin(), share.end());
    }
  }
  std::ranges::sort(seen);
  EXPECT_THAT(seen, ElementsAre(10, 20, 30, 40, 50, 60, 70));
}

// The job stops after 3 steps of epoch 2. The next job skips them and gets the shares that were
// left.
TEST_P(Reported, DataGoOnAfterABreakInAnEpoch) {
  const auto data =
      Dataset<int>::range(40).filter([](int i) { return i % 7 != 0; }).shuffle(9).epoch(2);
  for (const std::int64_t batch : {6, 7}) {
    const auto shares = [&](const Dataset<Ints>& batches) {
      std::vector<Ints> all;
      for (const auto& step : strategy_.distribute_dataset(
               batches, {.end_of_data = EndOfData::kPadWithEmpties, .prefetch = 2})) {
        all.insert(all.end(), step.begin(), step.end());
      }
      return all;
    };
    std::vector<Ints> whole = shares(data.batch(batch));
    // 34 examples: 6 steps of 6, or 5 of 7.
    ASSERT_EQ(whole.size(), batch == 6 ? 18U : 15U);
    whole.erase(whole.begin(), whole.begin() + 9);
    EXPECT_EQ(shares(data.batch(batch).skip(3)), whole);
  }
}

// Replica 0 takes 4 rows of a step, replica 1 takes 2: 0 to 3 and 4 5, 6 to 9 and 10 11, 12 13.
TEST_P(Reported, DevicesMayTakeOtherSharesOfAStep) {
  sim::Backend backend{on(2)};
  MirroredStrategy strategy{backend};
  std::vector<double> means;
  for (const auto& step : strategy.distribute_dataset(
           Dataset<int>::range(14).batch(6).rebatch({4, 2}),
           {.end_of_data = EndOfData::kMaskReplicas, .elements = ElementUse::kPerReplica})) {
    const auto got = strategy.run(
        [](ReplicaContext& replica, const Ints& share) {
          const std::pair own(sum_of(share), static_cast<double>(share.size()));
          const auto [sum, count] = replica.all_reduce(ReduceOp::kSum, own);
          return std::pair(sum / count, share.size());
        },
        step);
    means.push_back(got[0].first);
    EXPECT_EQ(got[0].second, means.size() == 3 ? 2U : 4U);
  }
  EXPECT_THAT(means, ElementsAre(2.5, 8.5, 12.5));
}

// Three bytes come before two floats: no alignment of the file fits them.
TEST_P(Reported, ArraysOfAFileNeedNoAlignment) {
  std::string header = R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},)"
                       R"("w":{"dtype":"F32","shape":[2],"data_offsets":[3,11]}})";
  const std::string data{1, 2, 3, 0, 0, 0, '\x3F', 0, 0, 0, '\xC0'};  // 0.5 and -2.
  const auto weight =
      strategy_.mirrored_variable([] { return Tensor<float>::zeros({2}); }, {.name = "w"});
  Checkpoint checkpoint{strategy_};
  checkpoint.add(weight);
  for (int blanks = 0; blanks < 8; ++blanks, header += ' ') {
    std::string length(8, '\0');
    length[0] = static_cast<char>(header.size());
    checkpoint.restore(TensorFile::parse(length + header + data, "odd.safetensors"));
    EXPECT_EQ(strategy_.read(weight).to_host(), (std::vector<float>{0.5F, -2}));
    strategy_.cross_replica().update(weight, [](Tensor<float>& old) { old = old * 0.0F; });
  }
}

}  // namespace
}  // namespace belfry::reported_test
